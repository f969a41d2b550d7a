"""Servers that exit at SIGTERM, and have no preStop hook, are drained while clients ask: not one
request fails, also no download of ten seconds, for each leaves its Services before it is told to
end, its kubelet is put off, and it finishes what it has.
"""

from testbed.api import Object
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import REPLICAS, are_all_elsewhere, deploy, server
from testbed.realnodes.traffic import LONG, SHORT, traffic
from testbed.world import World
from tests.nodes.serving import drain, moments_of_pods, report, start_draining
from tests.scenarios.judging import assert_nobody_noticed

EXITS = server("-sigterm=exit")
REASON = "LeavingItsServices"
BRIEF = {"migration": {"linger": "8s"}}
"""So that those that nobody moves any more are back sooner."""


async def test_draining_loses_none(world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    names = await deploy(world, EXITS, full)
    async with (
        world.auditor() as auditor,
        moments_of_pods(world) as moments,
        traffic(world.instance, nodes, world.name, *names, kinds=(*SHORT, *LONG)) as seen,
    ):
        run = await drain(world, full)
        assert run.code == 0, run
        assert run.lines[-1] == f"node/{full} drained: {sum(REPLICAS)} pods moved"
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
        audit = await world.audit(auditor)
    report("rescheduler drain, no preStop, exits at SIGTERM", seen, moments)
    assert seen.failures == []
    assert_nobody_noticed(audit)


async def test_killed_while_they_leave_the_next_drain_ends_it(
    world: World, nodes: RealNodes
) -> None:
    full = nodes.names[0]
    names = await deploy(world, EXITS, full)
    async with (
        moments_of_pods(world) as moments,
        traffic(world.instance, nodes, world.name, *names) as seen,
    ):
        first = await start_draining(world, full, **BRIEF)
        await world.wait("some have left", lambda: _have_some_left(world, names))
        first.kill()
        await first.finish()
        # Its kubelet knows better, once it is put off no more.
        await world.wait("they are back", lambda: _are_all_back(world, names))
        run = await drain(world, full, **BRIEF)
        assert run.code == 0, run
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
    report("rescheduler drain, killed while they leave and started again", seen, moments)
    assert seen.failures == []


async def _have_some_left(world: World, names: list[str]) -> bool:
    return any(await _left(world, names))


async def _are_all_back(world: World, names: list[str]) -> bool:
    return not any(await _left(world, names))


async def _left(world: World, names: list[str]) -> list[bool]:
    return [_has_left(pod) for name in names for pod in await world.pods(name)]


def _has_left(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each.get("reason") == REASON for each in conditions)
