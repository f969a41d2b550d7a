"""The API server is slow, silent or refuses: every run ends by itself, and nothing is lost."""

import asyncio

from testbed.builders import budget
from testbed.faultproxy import Match, Request, delay, fail, internal_error
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import (
    assert_as_if_nothing_happened,
    assert_exactly_one_moved,
    assert_nobody_noticed,
)
from tests.scenarios.world import World

HALF_OPEN_SECONDS = 4.0
FEW = 20
"""Requests in a few seconds: more of them would be a loop without pauses."""


async def test_completes_while_every_answer_takes_a_second(world: World) -> None:
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor, world.faults() as proxy:
        proxy.on(Match(), delay(1.0))
        run = await world.run()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_ends_after_the_network_was_dead_in_the_middle(world: World) -> None:
    """Connections stay open and nothing comes through; then all of it arrives late."""
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    await world.afflict_copies(ready_after="1s")
    async with world.auditor() as auditor, world.faults() as proxy:
        process = await world.start()
        await proxy.wait_until(lambda: any(write.status for write in proxy.writes), within=30)
        proxy.freeze()
        await asyncio.sleep(HALF_OPEN_SECONDS)
        proxy.thaw()
        run = await process.finish()
        audit = await world.audit(auditor)
    if run.code == 0:
        await assert_exactly_one_moved(world, audit, app="web", to=empty)
    else:
        await assert_as_if_nothing_happened(world, audit, app="web")


async def test_gives_up_when_the_copy_can_never_be_created(world: World) -> None:
    await deploy_web(world, 2)
    async with world.auditor() as auditor, world.faults() as proxy:
        refused = proxy.on(Match(verb="create", resource="pods", write=True), internal_error())
        run = await world.run(migration={"readyTimeout": "3s", "budgetTimeout": "2s"})
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert 1 < refused.fired < FEW
    assert audit.pods_made() == []
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_gives_up_when_evictions_can_never_be_asked_for(world: World) -> None:
    await deploy_web(world, 2)
    dry_run = Match(verb="create", resource="pods", subresource="eviction", predicate=_is_dry_run)
    async with world.auditor() as auditor, world.faults() as proxy:
        refused = proxy.on(dry_run, internal_error())
        run = await world.run(migration={"readyTimeout": "5s", "budgetTimeout": "2s"})
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert 1 < refused.fired < FEW
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_what_cannot_be_taken_back_now_is_taken_back_by_the_next_run(world: World) -> None:
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    brief = {"readyTimeout": "2s", "budgetTimeout": "1s", "evictionGracePeriod": "1s"}
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            refused = proxy.on(Match(verb="delete", resource="pods"), internal_error())
            first = await world.run(migration=brief)
        [copy] = [pod for pod in await world.pods("web") if "migration-id" in str(pod)]
        second = await world.run(migration=brief, enabledStrategies=[])
        audit = await world.audit(auditor)
    assert first.code == 1, first
    assert 1 < refused.fired < FEW
    assert "deletionTimestamp" not in copy["metadata"]
    assert "unfinished" in second.summary
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_restores_a_deletion_cost_that_the_user_had_set(world: World) -> None:
    """The budget is asked, the mark is set, and then the API server says no to the adoption."""
    await deploy_web(world, 2)
    cost = "controller.kubernetes.io/pod-deletion-cost"
    for pod in await world.pods("web"):
        await world.annotate_pod(pod["metadata"]["name"], {cost: "7"})
    async with world.auditor() as auditor, world.faults() as proxy:
        # The second patch is the one that lets the ReplicaSet adopt the copy.
        proxy.on(Match(verb="patch", resource="pods"), fail(403), after=1, times=1)
        run = await world.run()
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert "Refused" in run.summary
    assert_nobody_noticed(audit)
    pods = await world.pods("web")
    assert len(pods) == 2
    assert [pod["metadata"]["annotations"][cost] for pod in pods] == ["7", "7"]
    for pod in pods:
        assert not [key for key in pod["metadata"]["annotations"] if "previous" in key]


def _is_dry_run(request: Request) -> bool:
    return request.dry_run
