"""The workloads whose requests count in scene (e): servers on real nodes, as people write them."""

import asyncio
import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from testbed.api import ApiError, Object, path_of
from testbed.audit import is_ready
from testbed.builders import deployment, pod, service
from testbed.realnodes.serving import PRE_STOP, server
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

    def pod(self) -> Object:
        return pod(self.name, spec=copy.deepcopy(self.spec))  # a world adds to it

    def deployment(self) -> Object:
        return deployment(self.name, replicas=self.replicas, spec=copy.deepcopy(self.spec))

    async def is_complete(self, world: World) -> bool:
        """All are Ready, and none, also none that is ending, is left over."""
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
    Workload(name="bare", title="bare pod", is_bare=True),
)


async def deploy(world: World, workloads: Sequence[Workload], on: str) -> None:
    """All of them on one node, each with its Service."""
    await world.create(*(service(each.name) for each in workloads))
    owned = [each.deployment() for each in workloads if not each.is_bare]
    await world.deploy(*owned, on=on)
    for each in workloads:
        if each.is_bare:
            await world.place(each.pod, on=on)


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
