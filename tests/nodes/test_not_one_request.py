"""Nodes are emptied while clients ask without a pause: not one request fails."""

import pytest

from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import PRE_STOP, REPLICAS, are_all_elsewhere, deploy, server
from testbed.realnodes.settings import NEXT_IMAGE
from testbed.realnodes.traffic import traffic
from testbed.world import World
from tests.nodes.serving import drain, report, start_draining
from tests.scenarios.judging import assert_nobody_noticed

SERVERS = {
    "finishes what it has": server(**PRE_STOP),
    "exits at SIGTERM": server("-sigterm=exit", **PRE_STOP),
    "slow start": server("-start-after=3s", "-ready-after=2s", **PRE_STOP),
}


@pytest.mark.parametrize("kind", SERVERS)
async def test_draining_a_node_loses_none(kind: str, world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    names = await deploy(world, SERVERS[kind], full)
    async with (
        world.auditor() as auditor,
        traffic(world.instance, nodes, world.name, *names) as seen,
    ):
        run = await drain(world, full)
        assert run.code == 0, run
        assert run.lines[-1] == f"node/{full} drained: {sum(REPLICAS)} pods moved"
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
        audit = await world.audit(auditor)
    report(f"rescheduler drain, preStop, {kind}", seen)
    assert seen.failures == []
    assert_nobody_noticed(audit)


async def test_killed_in_the_middle_the_next_drain_ends_it(world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    names = await deploy(world, SERVERS["exits at SIGTERM"], full)
    async with traffic(world.instance, nodes, world.name, *names) as seen:
        first = await start_draining(world, full)
        await world.wait_for_copy(names[0])
        first.kill()
        await first.finish()
        run = await drain(world, full)
        assert run.code == 0, run
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
    report("rescheduler drain, killed in the middle and started again", seen)
    assert seen.failures == []


async def test_a_rollout_in_the_middle_loses_none(world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    names = await deploy(world, SERVERS["exits at SIGTERM"], full)
    async with traffic(world.instance, nodes, world.name, *names) as seen:
        draining = await start_draining(world, full)
        await world.wait_for_copy(names[0])
        await world.roll_out(names[0], NEXT_IMAGE)
        run = await draining.finish()
        assert run.code == 0, run
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
    report("rescheduler drain, a rollout in the middle", seen)
    assert seen.failures == []
    [*pods] = await world.pods(names[0])
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {NEXT_IMAGE}
