"""A scenario's own embedded cluster, with the same verbs as its piece of a real control plane."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rescheduler.clock import Clock
from rescheduler.embedded.client import Call, EmbeddedClient
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.wire import PODS, Resource
from testbed import builders
from testbed.audit import Write
from testbed.auditor import Auditor, request_of
from tests.scenarios.embedded_api import EmbeddedApi
from tests.scenarios.embedded_faults import EmbeddedFaults, GoOn
from tests.scenarios.embedded_process import EmbeddedProcess
from tests.scenarios.world import World


@dataclass(slots=True, kw_only=True)
class EmbeddedWorld(World):
    cluster: EmbeddedCluster
    processes: list[EmbeddedProcess] = field(default_factory=list)
    requests: list[Write] = field(default_factory=list)
    """Of the processes under test, in the order of the answers."""
    planted: EmbeddedFaults | None = None

    # ------------------------------------------------------------------ act, as fate does

    async def afflict_copies(self, *, image: str = "", **behaviour: str) -> None:
        annotations = builders.behaviour(**behaviour)

        def afflict(resource: Resource, pod: Object) -> Object:
            metadata = pod["metadata"]
            is_copy = builders.MIGRATION in (metadata.get("labels") or {})
            if resource == PODS and is_copy and metadata.get("namespace") == self.name:
                metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
                if image:
                    pod["spec"]["containers"][0]["image"] = image
            return pod

        self.cluster.api.mutators.append(afflict)

    async def size_owned_pods(self, cpu: str) -> None:
        def size(resource: Resource, pod: Object) -> Object:
            metadata = pod["metadata"]
            owners = metadata.get("ownerReferences") or ()
            is_owned = any(each.get("controller") for each in owners)
            if resource == PODS and is_owned and metadata.get("namespace") == self.name:
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
            return pod

        self.cluster.api.mutators.append(size)

    async def heal_copies(self) -> None:
        self.cluster.api.mutators.clear()

    # ------------------------------------------------------------------ run

    @property
    def clock(self) -> Clock:
        return self.cluster.clock

    def connect(self) -> AbstractAsyncContextManager[KubeApi]:
        return contextlib.nullcontext(self._client())

    def connect_as_admin(self) -> AbstractAsyncContextManager[KubeApi]:
        return contextlib.nullcontext(self._admin_client())

    async def start_command(self, *arguments: str) -> EmbeddedProcess:
        return self._start(EmbeddedProcess(arguments, self.clock, self._client))

    async def start_as_admin(self, *arguments: str) -> EmbeddedProcess:
        return self._start(EmbeddedProcess(arguments, self.clock, self._admin_client))

    def _start(self, process: EmbeddedProcess) -> EmbeddedProcess:
        self.processes.append(process)
        return process

    def _client(self) -> EmbeddedClient:
        return self.cluster.client(around=self._watched)

    def _admin_client(self) -> EmbeddedClient:
        return self.cluster.client(name="admin", around=self._through_faults)

    async def _watched(self, call: Call, go_on: GoOn) -> Any:  # noqa: ANN401 - as the call answers
        async def recorded() -> Any:  # noqa: ANN401 - the same
            code = 0
            try:
                answer = await go_on()
                code = 201 if call.verb == "create" else 200
            except errors.KubeError as problem:
                code = problem.status
                raise
            finally:
                # What nobody answered did not come so far.
                if code:
                    self.requests.append(_logged(call, code))
            return answer

        return await self._through_faults(call, recorded)

    async def _through_faults(self, call: Call, go_on: GoOn) -> Any:  # noqa: ANN401 - the same
        if self.planted is None:
            return await go_on()
        return await self.planted.around(call, go_on)

    @asynccontextmanager
    async def faults(self) -> AsyncIterator[EmbeddedFaults]:
        self.planted = planted = EmbeddedFaults()
        try:
            yield planted
        finally:
            self.planted = None
            await planted.end()

    # ------------------------------------------------------------------ audit

    @asynccontextmanager
    async def auditor(self) -> AsyncIterator[Auditor]:
        await self.wait("the endpoints have caught up", self._endpoints_have_caught_up)
        auditor = Auditor(self.api, self._requests, self.name)
        try:
            await auditor.begin()
            yield auditor
        finally:
            await auditor.end()

    async def _requests(self) -> list[Write]:
        return list(self.requests)


def _logged(call: Call, code: int) -> Write:
    """As the audit log of a real API server would have it."""
    entry: Mapping[str, Any] = {
        "verb": call.verb,
        "objectRef": {
            "apiGroup": call.group,
            "resource": call.resource,
            "subresource": call.subresource,
            "namespace": call.namespace,
            "name": call.name,
        },
        "requestObject": call.body,
        "requestURI": "?dryRun=All" if call.dry_run else "",
        "responseStatus": {"code": code},
    }
    return request_of(entry)


@asynccontextmanager
async def make_embedded_world(
    folder: Path, name: str, *, seed: int = 0
) -> AsyncIterator[EmbeddedWorld]:
    async with EmbeddedCluster(seed=seed, prefix=builders.BEHAVIOUR) as cluster:
        api = EmbeddedApi(cluster.api)
        await api.create({"kind": "Namespace", "metadata": {"name": name}})
        world = EmbeddedWorld(cluster=cluster, api=api, folder=folder, name=name)
        try:
            yield world
        finally:
            await asyncio.gather(*(process.end() for process in world.processes))
