"""Whose the pods are that are to move, and how large that is: so that few of one go at once."""

import asyncio
from collections.abc import Container, Iterable
from typing import Final

from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.admission import Workload
from rescheduler.model import objects
from rescheduler.model.objects import Object
from rescheduler.wire import PODS, REPLICA_SETS, STATEFUL_SETS, Resource

_SIZED: Final = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS}


class Owning:
    def __init__(self, kube: KubeApi, at_once: int) -> None:
        self._kube = kube
        self._few_at_once = asyncio.Semaphore(at_once)
        self.workloads: dict[str, Workload | None] = {}
        """By UID of the pod; None: of none, or the pod is gone."""

    async def learn(self, waiting: Iterable[Object]) -> None:
        await asyncio.gather(*(self._learn(each) for each in waiting))

    def forget_all_but(self, uids: Container[str]) -> None:
        self.workloads = {uid: each for uid, each in self.workloads.items() if uid in uids}

    async def _learn(self, record: Object) -> None:
        uid, namespace = record["spec"]["pod"]["uid"], record["metadata"]["namespace"]
        if uid in self.workloads:
            return
        try:
            async with self._few_at_once:
                pod = await self._kube.get(PODS, namespace, record["spec"]["pod"]["name"])
                owner = objects.controller(pod)
                size = 1
                if owner and (resource := _SIZED.get(owner["kind"])):
                    size = await self._size(resource, namespace, owner["name"])
        except errors.NotFound:
            self.workloads[uid] = None  # the migration itself will say so
            return
        except errors.KubeError:
            return  # asked again with the next news
        if owner is None or pod["metadata"]["uid"] != uid:
            self.workloads[uid] = None
            return
        self.workloads[uid] = Workload(
            uid=owner["uid"], size=size, is_restarted=owner["kind"] != "ReplicaSet"
        )

    async def _size(self, resource: Resource, namespace: str, name: str) -> int:
        try:
            found = await self._kube.get(resource, namespace, name)
        except errors.NotFound:
            return 1
        return int((found.get("spec") or {}).get("replicas", 1))
