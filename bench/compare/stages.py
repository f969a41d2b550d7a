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
_NODE_CPU = 16.0
_SIZE = {"cpu": "16", "memory": "64Gi"}
_ALIKE = (350,)
"""Millicores by workload: 42 such pods fill a node to 92 %."""
_MIXED = (250, 500, 750)
"""112 such pods fill four nodes to 86 %."""
_SOME_REPLICAS = (1, 1, 2, 3)
_FEW_REPLICAS = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    world: World
    wanted: dict[str, int]
    """Replicas by workload."""
    source: str
    """The node that is to be emptied; empty where it is about balance."""
    nodes: tuple[str, ...]
    """Over which the spread is taken: those that are to bear the load."""

    def is_done(self, pods: Pods) -> bool:
        left = pods.on(self.source) if self.source else set()
        return not left and pods.are_complete(self.wanted)

    def spread(self, pods: Pods) -> float:
        """The fullest node less the emptiest, in per cent of their CPU that is requested."""
        loads = [100 * pods.cpu_on(node) / _NODE_CPU for node in self.nodes]
        return max(loads) - min(loads)


async def one_node_to_empty(world: World, workloads: int) -> Stage:
    """As a node before its upgrade: everything on one, eight more stand empty."""
    return await _on_one_node(world, _workloads(_SOME_REPLICAS, workloads), budgets=False)


async def one_node_to_empty_under_budgets(world: World, workloads: int) -> Stage:
    """The same, and each workload has a budget that lets nobody evict a pod of it."""
    return await _on_one_node(world, _workloads(_FEW_REPLICAS, workloads), budgets=True)


async def half_of_the_nodes_full(world: World, workloads: int) -> Stage:
    """As after a scale-up of the cluster: four nodes full, four empty."""
    full = await world.add_nodes(4, **_SIZE)
    empty = await world.add_nodes(4, **_SIZE)
    wanted = _workloads((4,), workloads)
    await _deploy(world, wanted, _MIXED, kept_empty=empty)
    return Stage(world=world, wanted=wanted, source="", nodes=(*full, *empty))


async def _on_one_node(world: World, wanted: dict[str, int], *, budgets: bool) -> Stage:
    [source] = await world.add_nodes(1, **_SIZE)
    empty = await world.add_nodes(8, **_SIZE)
    if budgets:
        await world.create(*(builders.budget(name, maxUnavailable=0) for name in wanted))
    await _deploy(world, wanted, _ALIKE, kept_empty=empty)
    return Stage(world=world, wanted=wanted, source=source, nodes=tuple(empty))


async def _deploy(
    world: World, wanted: dict[str, int], millicores: Sequence[int], *, kept_empty: Sequence[str]
) -> None:
    sizes = itertools.cycle(millicores)
    made = [_deployment(*each, next(sizes)) for each in wanted.items()]
    await asyncio.gather(*map(world.cordon, kept_empty))
    await world.create(*made)
    await world.wait("the workloads are complete", lambda: _are_complete(world, wanted))
    await asyncio.gather(*map(world.uncordon, kept_empty))


def _deployment(name: str, replicas: int, millicores: int) -> Object:
    spec = builders.pod_spec(cpu=f"{millicores}m", memory="1Gi")
    slow = builders.behaviour(ready_after=START_UP)
    return builders.deployment(name, replicas=replicas, spec=spec, annotations=slow)


async def _are_complete(world: World, wanted: dict[str, int]) -> bool:
    return all(await asyncio.gather(*map(world.is_complete, wanted)))


def _workloads(replicas: Sequence[int], count: int) -> dict[str, int]:
    repeating = itertools.islice(itertools.cycle(replicas), count)
    return {f"app-{number}": wanted for number, wanted in enumerate(repeating)}
