"""Whose the pods are that are to move: of some workloads only one may go at a time."""

import asyncio
from collections.abc import Container, Iterable

from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.queue.admission import Workload
from rescheduler.model import controllers, objects, podmigration
from rescheduler.model.objects import Object
from rescheduler.wire import PODS


class Workloads:
    def __init__(self, kube: KubeApi, at_once: int) -> None:
        self._kube = kube
        self._few_at_once = asyncio.Semaphore(at_once)
        self.by_pod: dict[str, Workload | None] = {}
        """By UID of the pod; None: of none, or the pod is gone."""

    async def learn(self, waiting: Iterable[Object]) -> None:
        await asyncio.gather(*(self._learn(each) for each in waiting))

    def forget_all_but(self, uids: Container[str]) -> None:
        self.by_pod = {uid: each for uid, each in self.by_pod.items() if uid in uids}

    async def _learn(self, record: Object) -> None:
        uid, namespace = podmigration.pod_uid(record), record["metadata"]["namespace"]
        if uid in self.by_pod:
            return
        try:
            async with self._few_at_once:
                pod = await self._kube.get(PODS, namespace, podmigration.pod_name(record))
        except errors.NotFound:
            self.by_pod[uid] = None  # the migration itself will say so
            return
        except errors.KubeError:
            return  # asked again with the next news
        owner = objects.controller(pod)
        if owner is None or pod["metadata"]["uid"] != uid:
            self.by_pod[uid] = None
            return
        kind = controllers.known_as(owner["kind"], owner["apiVersion"])
        self.by_pod[uid] = Workload(uid=owner["uid"], is_recreated=kind != "ReplicaSet")
