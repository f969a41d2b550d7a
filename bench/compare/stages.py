"""The clusters that contenders are let loose on."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from bench.compare.timeline import Pods
from testbed import builders
from testbed.api import Object
from testbed.world import World

START_UP = "3s"
OVERLOADED = 80.0
_SIZE = {"cpu": "16", "memory": "64Gi"}
_ALIKE = (350,)
"""Millicores by workload: 42 such pods fill a node to 92 %."""
_MIXED = (250, 500, 750)
"""112 such pods fill four nodes to 86 %."""
_SMALL = (50, 100, 100, 200, 400, 1000)
"""As services are in a large cluster."""
_CORES = (16, 32, 64, 96)
_LARGE_NODES = 120
_FILLED = 0.88
"""Of the nodes that had to bear it all."""
_SOME_REPLICAS = (1, 1, 2, 3)
_FEW_REPLICAS = (1, 2)
_SET_UP_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    world: World
    wanted: dict[str, int]
    """Replicas by workload."""
    sources: tuple[str, ...]
    """The nodes that are to be emptied; none where it is about balance."""
    cores: dict[str, float]
    """By node, of those that are to bear the load: the spread is taken over these."""

    @property
    def source(self) -> str:
        """Where there is one."""
        [only] = self.sources
        return only

    def is_done(self, pods: Pods) -> bool:
        is_left = any(pods.on(node) for node in self.sources)
        return not is_left and pods.are_complete(self.wanted)

    def spread(self, pods: Pods) -> float:
        """The fullest node less the emptiest, in per cent of their CPU that is requested."""
        loads = self._loads(pods)
        return max(loads) - min(loads)

    def overloaded(self, pods: Pods) -> int:
        """Nodes above the default of cpuThreshold."""
        return sum(load > OVERLOADED for load in self._loads(pods))

    def _loads(self, pods: Pods) -> list[float]:
        return [100 * pods.cpu_on(node) / cores for node, cores in self.cores.items()]


async def one_node_to_empty(world: World, workloads: int) -> Stage:
    """As a node before its upgrade: everything on one, eight more stand empty."""
    return await _on_full_nodes(world, _workloads(_SOME_REPLICAS, workloads), budgets=False)


async def one_node_to_empty_under_budgets(world: World, workloads: int) -> Stage:
    """The same, and each workload has a budget that lets nobody evict a pod of it."""
    return await _on_full_nodes(world, _workloads(_FEW_REPLICAS, workloads), budgets=True)


async def two_nodes_to_empty(world: World, workloads: int) -> Stage:
    """The pods of one node, on two, so that of many workloads some are on either."""
    return await _on_full_nodes(
        world, _workloads(_SOME_REPLICAS, workloads), budgets=False, nodes=2
    )


async def half_of_the_nodes_full(world: World, workloads: int) -> Stage:
    """As after a scale-up of the cluster: four nodes full, four empty."""
    full = await world.add_nodes(4, **_SIZE)
    empty = await world.add_nodes(4, **_SIZE)
    wanted = _workloads((4,), workloads)
    await _deploy(world, wanted, _MIXED, kept_empty=empty)
    return Stage(world=world, wanted=wanted, sources=(), cores=dict.fromkeys((*full, *empty), 16.0))


async def large_nodes_and_small_pods(world: World, workloads: int) -> Stage:
    """As production clusters are: nodes of many sizes, 30 small pods to a Deployment, each with an
    emptyDir, as service meshes and read-only roots bring them. Half of the nodes were added lately.
    """
    made: list[tuple[str, float]] = []
    count = min(_LARGE_NODES, 4 * workloads)
    for cores in _CORES:
        size = {"cpu": str(cores), "memory": f"{4 * cores}Gi", "pods": "500"}
        made += [(name, float(cores)) for name in await world.add_nodes(count // 4, **size)]
    full, empty = dict(made[::2]), dict(made[1::2])
    wanted = _workloads((30,), workloads)
    share = _FILLED * sum(full.values()) * 1000 / (30 * workloads) / (sum(_SMALL) / len(_SMALL))
    sizes = [round(each * share) for each in _SMALL]
    await _deploy(world, wanted, sizes, kept_empty=list(empty), scratch=True)
    return Stage(world=world, wanted=wanted, sources=(), cores=full | empty)


async def _on_full_nodes(
    world: World, wanted: dict[str, int], *, budgets: bool, nodes: int = 1
) -> Stage:
    sources = await world.add_nodes(nodes, **_SIZE)
    empty = await world.add_nodes(8, **_SIZE)
    if budgets:
        await world.create(*(builders.budget(name, maxUnavailable=0) for name in wanted))
    await _deploy(world, wanted, _ALIKE, kept_empty=empty)
    return Stage(
        world=world, wanted=wanted, sources=tuple(sources), cores=dict.fromkeys(empty, 16.0)
    )


async def _deploy(
    world: World,
    wanted: dict[str, int],
    millicores: Sequence[int],
    *,
    kept_empty: Sequence[str],
    scratch: bool = False,
) -> None:
    sizes = itertools.cycle(millicores)
    made = [_deployment(*each, next(sizes), scratch=scratch) for each in wanted.items()]
    await asyncio.gather(*map(world.cordon, kept_empty))
    await world.create(*made)
    await world.wait(
        "the workloads are complete", lambda: _are_complete(world, wanted), seconds=_SET_UP_SECONDS
    )
    await asyncio.gather(*map(world.uncordon, kept_empty))


def _deployment(name: str, replicas: int, millicores: int, *, scratch: bool) -> Object:
    spec = builders.pod_spec(cpu=f"{millicores}m", memory="128Mi" if scratch else "1Gi")
    if scratch:
        spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    slow = builders.behaviour(ready_after=START_UP)
    return builders.deployment(name, replicas=replicas, spec=spec, annotations=slow)


async def _are_complete(world: World, wanted: dict[str, int]) -> bool:
    for name in wanted:
        if not await world.is_complete(name):
            return False
    return True


def _workloads(replicas: Sequence[int], count: int) -> dict[str, int]:
    repeating = itertools.islice(itertools.cycle(replicas), count)
    return {f"app-{number}": wanted for number, wanted in enumerate(repeating)}
