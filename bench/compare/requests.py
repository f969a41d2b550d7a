"""Scene (e): real nodes are emptied in turn, while clients ask their pods without a pause."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.compare import contenders
from bench.compare.contenders import Contender
from bench.compare.evictors import guarded
from bench.compare.running import is_chosen
from bench.compare.serving import WORKLOADS, Workload, are_complete, deploy, disks, gatekeeper
from bench.compare.stages import Stage
from testbed import build
from testbed.instance import Instance, OwnedInstance
from testbed.realnodes import requirements, traces
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import world_of_real_nodes
from testbed.realnodes.traffic import LONG, SHORT, Traffic, traffic
from testbed.world import World, install_rights

LETTER = "e"
NOBODY = "nobody"
OURS = "ours (rescheduler drain)"
GUARDED = "kubectl drain (guarded)"
_DESCHEDULER = "descheduler"

_PAUSE_SECONDS = 0.15
"""Of each client: all clients, servers and nodes share two processors, and have to leave them idle
most of the time, or the times would be those of the queue before them.
"""
_QUIET_SECONDS = 30.0
_NODE_SECONDS = 180.0
"""Who has not emptied a node by then counts as it stands."""
_LOOK_AGAIN_SECONDS = 0.5
_FIRST = 10
"""Of 1 to 99, each of which goes before all that are not told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    contender: str
    workloads: Sequence[Workload]
    seen: Traffic
    pods: int
    """On the nodes that were to be emptied."""
    moved: int
    seconds: float


CONTENDERS: dict[str, Contender | None] = {
    NOBODY: None,
    "kubectl drain": contenders.kubectl_drain,
    GUARDED: guarded(contenders.kubectl_drain),
    "kubectl rollout restart": contenders.rollout_restart,
    _DESCHEDULER: contenders.emptying_descheduler,
    OURS: contenders.ours_by_drain,
}


def chosen(only: str) -> list[str]:
    return [name for name in CONTENDERS if is_chosen(only, LETTER, name)]


async def run(only: str, workloads: int, say: Callable[[str], None]) -> list[Outcome]:
    """All workloads and nodes; or so many workloads, and one node."""
    if not (names := chosen(only)):
        return []
    if problem := requirements.what_stands_in_the_way() or requirements.install_missing():
        say(f"({LETTER}) is left out: {problem}")
        return []
    if _DESCHEDULER in names:
        build.programs("descheduler")  # now, and not under traffic
    traced = traces.Run()
    outcomes = []
    with OwnedInstance() as owned, RealNodes(owned.instance) as nodes:
        await install_rights(owned.instance)
        _go_first()
        for name in names:
            outcome = await measure(
                owned.instance,
                nodes,
                name,
                WORKLOADS[: workloads or None],
                rounds=1 if workloads else len(nodes.names),
            )
            # Of ours each one is one too many.
            named = outcome.seen.failures if name in (OURS, GUARDED) else []
            said = f"({LETTER}) {name}, {outcome.seconds:.0f} s: {outcome.seen}"
            say("\n  ".join([said, *named]))
            outcomes.append(outcome)
        traced.note(nodes)
    say(f"({LETTER}) the machine is as before: {traced.changes() or 'yes'}")
    return outcomes


def _go_first() -> None:
    """The clients of a cluster are on machines of their own: here they wait for nobody else.

    By a mere share they did, while nodes start containers, and it showed in all times. What this
    process starts from now on, contenders above all, is not put first, and no server is.
    """
    os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(_FIRST))


async def measure(
    instance: Instance,
    nodes: RealNodes,
    name: str,
    workloads: Sequence[Workload],
    *,
    rounds: int,
) -> Outcome:
    """Starts with all pods on one node, and empties so many."""
    taken = [each for each in workloads if not each.is_bare or name in (NOBODY, OURS)]
    services = [each.name for each in taken]
    asking = partial(traffic, kinds=(*SHORT, *LONG), pause=_PAUSE_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            world_of_real_nodes(instance, nodes, Path(folder), "requests") as world,
            gatekeeper(world),
            disks(world, taken, Path(folder)),
        ):
            await world.wait("those before are gone", lambda: _are_all_gone(world))
            await deploy(world, taken, nodes.names[0])
            async with asking(instance, nodes, world.name, *services) as seen:
                began = time.monotonic()
                pods, moved = await _act(world, name, nodes.names[:rounds], taken)
                seconds = time.monotonic() - began
    return Outcome(
        contender=name, workloads=taken, seen=seen, pods=pods, moved=moved, seconds=seconds
    )


async def _act(
    world: World, name: str, nodes: Sequence[str], workloads: Sequence[Workload]
) -> tuple[int, int]:
    """How many pods were on these nodes in turn, and how many of them left."""
    contender = CONTENDERS[name]
    if contender is None:
        await asyncio.sleep(_QUIET_SECONDS)
        return 0, 0
    pods = moved = 0
    for node in nodes:
        there = await _pods_on(world, node)
        await _empty(world, node, contender, workloads)
        pods += len(there)
        moved += len(there - await _pods_on(world, node))
    return pods, moved


async def _empty(
    world: World, node: str, contender: Contender, workloads: Sequence[Workload]
) -> None:
    """And all that has to be made anew is complete, if not in vain."""
    stage = Stage(world=world, wanted={}, sources=(node,), cores={})
    async with contender(stage, _NODE_SECONDS) as start:
        try:
            async with asyncio.timeout(_NODE_SECONDS):
                await start()
                # Several objects at once, so they are asked, not watched.
                while not await are_complete(world, workloads):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        except TimeoutError:
            late = f"  {node} is not empty, or what left it not complete"
            print(f"{late}, after {_NODE_SECONDS:.0f} s", file=sys.stderr, flush=True)
    await world.uncordon(node)


async def _pods_on(world: World, node: str) -> set[str]:
    pods = await world.api.list("Pod", world.name)
    return {each["metadata"]["uid"] for each in pods if each["spec"].get("nodeName") == node}


async def _are_all_gone(world: World) -> bool:
    return not await world.api.list("Pod")
