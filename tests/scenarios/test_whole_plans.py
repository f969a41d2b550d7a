"""Plans of several moves, carried out: one that fails, or a death in between, holds up no other."""

from testbed.builders import budget
from testbed.faultproxy import Match, fail, kill
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.world import World

MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
SETTINGS = {"enabledStrategies": ["NodeMaintenance"], "maxReschedulePods": 1}
"""The limit of a pass holds nothing that somebody asked for."""


async def begin_maintenance(world: World) -> tuple[str, str]:
    full, empty = await deploy_web(world, 3, budget("web", maxUnavailable=0))
    await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
    return full, empty


async def test_a_node_in_maintenance_is_emptied_and_nobody_notices(world: World) -> None:
    _, empty = await begin_maintenance(world)
    run, audit = await world.audited_run(**SETTINGS)
    assert run.code == 0, run
    assert await world.nodes_of("web") == [empty] * 3
    assert_nobody_noticed(audit)


async def test_one_move_that_fails_holds_up_no_other(world: World) -> None:
    full, empty = await begin_maintenance(world)
    async with world.faults() as proxy:
        copied = Match(verb="create", resource="pods", write=True)
        refused = proxy.on(copied, fail(403), times=1)
        run = await world.run(**SETTINGS)
    assert run.code == 1, run
    assert refused.fired == 1
    assert sorted(await world.nodes_of("web")) == sorted([full, empty, empty])


async def test_killed_between_two_moves_the_next_runs_go_on(world: World) -> None:
    _, empty = await begin_maintenance(world)
    async with world.auditor() as auditor, world.faults() as proxy:
        process = await world.start(**SETTINGS)
        copied = Match(verb="create", resource="pods", write=True)
        proxy.on(copied, kill(process, when="after"), after=1, times=1)
        await process.finish()
        # The first of these ends what the dead one left, and starts nothing new.
        for _ in range(2):
            run = await world.run(**SETTINGS)
            assert run.code == 0, run
        audit = await world.audit(auditor)
    assert await world.nodes_of("web") == [empty] * 3
    assert_nobody_noticed(audit)
