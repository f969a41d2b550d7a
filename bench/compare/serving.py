"""The workloads whose requests count in scene (e): servers on real nodes, as people write them."""

import asyncio
import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from testbed.api import ApiError, Object, path_of
from testbed.audit import is_ready
from testbed.builders import deployment, pod, service, workload
from testbed.realnodes.serving import PRE_STOP, server
from testbed.realnodes.volumes import CLAIMS, disk, noting
from testbed.world import World

_GATE = "bench.rescheduler.io/registered"
_STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    name: str
    title: str
    replicas: int = 1
    spec: Object = field(default_factory=server)
    """If not told otherwise, a server that finishes what it has at SIGTERM, without preStop."""
    is_bare: bool = False
    """Nobody would make it anew: kubectl loses it, or refuses, and descheduler leaves it."""

    is_stateful: bool = False
    """A StatefulSet, each of whose pods has a disk of its own: one ends before the next begins."""

    def pod(self) -> Object:
        return pod(self.name, spec=copy.deepcopy(self.spec))  # a world adds to it

    def controller(self) -> Object:
        spec = copy.deepcopy(self.spec)
        if not self.is_stateful:
            return deployment(self.name, replicas=self.replicas, spec=spec)
        return workload(
            "StatefulSet",
            self.name,
            spec=spec,
            replicas=self.replicas,
            serviceName=self.name,
            **copy.deepcopy(CLAIMS),
        )

    async def is_complete(self, world: World) -> bool:
        """All are Ready, and none, also none that is ending, is left over."""
        if self.is_stateful:
            status = (await world.api.get("StatefulSet", world.name, self.name))["status"]
            is_rolled_out = status["currentRevision"] == status["updateRevision"]
            return is_rolled_out and await world.is_complete(self.name, "StatefulSet")
        if not self.is_bare:
            return await world.is_complete(self.name)
        pods = await world.pods(self.name)
        return len(pods) == self.replicas and all(map(is_ready, pods))


WORKLOADS = (
    Workload(name="exits", title="exits at SIGTERM", replicas=2, spec=server("-sigterm=exit")),
    Workload(name="prestop", title="preStop of 3 s", replicas=2, spec=server(**PRE_STOP)),
    Workload(name="one", title="finishes at SIGTERM, 1 replica"),
    Workload(name="two", title="the same, 2 replicas", replicas=2),
    Workload(name="three", title="the same, 3 replicas", replicas=3),
    Workload(name="slow", title="starts in 5 s", spec=server("-start-after=3s", "-ready-after=2s")),
    Workload(
        name="gated",
        title="readiness gate, preStop of 3 s",  # as controllers of load balancers ask for it
        spec={**server(**PRE_STOP), "readinessGates": [{"conditionType": _GATE}]},
    ),
    Workload(
        name="scratch",
        title="emptyDir",
        spec={**server(), "volumes": [{"name": "scratch", "emptyDir": {}}]},
    ),
    Workload(
        # Its pods are told to end at once, so it is the hook that proxies are waited for by.
        name="stateful",
        title="StatefulSet, disks, preStop of 3 s",
        replicas=2,
        spec=noting(**PRE_STOP),
        is_stateful=True,
    ),
    Workload(name="bare", title="bare pod", is_bare=True),
)


async def deploy(world: World, workloads: Sequence[Workload], on: str) -> None:
    """All of them on one node, each with its Service."""
    await world.create(*(service(each.name) for each in workloads))
    owned = [each.controller() for each in workloads if not each.is_bare]
    await world.deploy(*owned, on=on)
    for each in workloads:
        if each.is_bare:
            await world.place(each.pod, on=on)


@asynccontextmanager
async def disks(world: World, workloads: Sequence[Workload], folder: Path) -> AsyncIterator[None]:
    """For those that claim some: the nodes have the files of one machine, as of a file server."""
    async with AsyncExitStack() as stack:
        for each in workloads:
            for number in range(each.replicas if each.is_stateful else 0):
                of = f"{each.name}-{number}"
                path = folder / of
                path.mkdir()
                await stack.enter_async_context(disk(world, of, hostPath={"path": str(path)}))
        yield


async def are_complete(world: World, workloads: Sequence[Workload]) -> bool:
    return all([await each.is_complete(world) for each in workloads])


@asynccontextmanager
async def gatekeeper(world: World) -> AsyncIterator[None]:
    """As the controller of a load balancer does it: whose containers are ready is let in."""
    keeping = asyncio.create_task(_keep_gates(world))
    try:
        yield
        if keeping.done():
            keeping.result()
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _keep_gates(world: World) -> None:
    page = await world.api.list_page("Pod", world.name)
    async for event, found in world.api.watch(
        "Pod", world.name, page["metadata"]["resourceVersion"]
    ):
        if event == "MODIFIED" and _waits_at_the_gate(found):
            conditions = [{"type": _GATE, "status": "True"}]
            path = path_of("Pod", world.name, found["metadata"]["name"]) + "/status"
            body = {"status": {"conditions": conditions}}
            with suppress(ApiError):  # it is gone
                await world.api.request("PATCH", path, body=body, content_type=_STRATEGIC)


def _waits_at_the_gate(found: Object) -> bool:
    gates = found["spec"].get("readinessGates") or ()
    met = {
        each["type"] for each in found["status"].get("conditions") or () if each["status"] == "True"
    }
    return bool(gates) and "ContainersReady" in met and _GATE not in met
