"""The process dies at a write, or the answer is lost: the next look, or the next run, ends it."""

import signal
from collections import Counter
from collections.abc import Callable
from typing import Literal

import pytest

from testbed.audit import is_ready
from testbed.builders import MOVED, budget
from testbed.faultproxy import (
    Fault,
    Faults,
    Match,
    Request,
    arrive_late,
    drop_reply,
    drop_request,
    fail,
    internal_error,
    kill,
    throttled,
    unavailable,
)
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import (
    assert_as_if_nothing_happened,
    assert_exactly_one_moved,
    assert_no_trace,
    assert_nobody_noticed,
)
from tests.scenarios.world import World

ORIGINAL = "scheduler.alpha.kubernetes.io/original-pod-name"

# The patches of pods that a surge makes, in order: what comes before each.
BEFORE_ADOPTION = 2  # marks the original as being moved, and as first to go
BEFORE_STANDING_IN = 1  # the original has left, so it is not first to go any more
BEFORE_UNMARKING = 3

PATCH = Match(verb="patch", resource="pods", write=True)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(drop_reply, id="reply-lost"),
        pytest.param(drop_request, id="request-lost"),
        pytest.param(unavailable, id="503"),
        pytest.param(internal_error, id="500"),
        pytest.param(throttled, id="throttled"),
        pytest.param(lambda: arrive_late(1.0), id="arrives-late"),
    ],
)
async def test_every_write_fails_once_and_is_made_good(
    world: World, fault: Callable[[], Fault]
) -> None:
    """Each write of the move meets the fault the first time, and the move completes."""
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor, world.faults() as proxy:
        _spoil_the_first_of_each_two(proxy, fault())
        run = await world.run()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_while_taking_back_the_next_run_takes_back(
    world: World, when: Literal["before", "after"]
) -> None:
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    brief = {"readyTimeout": "2s"}
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(migration=brief)
            deletion = Match(verb="delete", resource="pods")
            proxy.on(deletion, kill(process, when=when), times=1)
            first = await process.finish()
        second = await world.run(migration=brief)
        third = await world.run(migration=brief, enabledStrategies=[])
        audit = await world.audit(auditor)
    assert first.code == -signal.SIGKILL
    assert second.code == 1
    assert third.code == 0
    assert "nothing moved" in third.summary
    await assert_as_if_nothing_happened(world, audit, app="web")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_while_a_serving_copy_goes_the_next_run_takes_it_back(
    world: World, when: Literal["before", "after"]
) -> None:
    """A sibling turns unready for good: the copy is Ready by then, and goes by eviction."""
    await deploy_web(world, 3)
    await world.afflict_copies(ready_after="1s")
    brief = {"readyTimeout": "3s"}
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(migration=brief)
            eviction = Match(verb="create", resource="pods", subresource="eviction", write=True)
            proxy.on(eviction, kill(process, when=when), times=1)
            copy = await world.wait_for_copy("web")
            skip = {copy["metadata"]["name"], copy["metadata"]["annotations"][ORIGINAL]}
            names = [pod["metadata"]["name"] for pod in await world.pods("web")]
            await world.set_ready(next(name for name in names if name not in skip), ready=False)
            first = await process.finish()
        await world.run(migration=brief, enabledStrategies=[])
        audit = await world.audit(auditor)
    assert first.code == -signal.SIGKILL
    await assert_no_trace(world, audit, app="web")
    # One is missing by the test's doing, and no other at any time.
    assert all(each.had == 2 for each in audit.replicas_missing())


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_while_the_copy_stands_in_the_next_run_ends_it(
    world: World, when: Literal["before", "after"]
) -> None:
    """A user deletes the original while the copy settles: the copy is adopted in its place."""
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(migration={"settle": "30s"})
            proxy.on(PATCH, kill(process, when=when), after=BEFORE_STANDING_IN, times=1)
            copy = await world.wait_for_copy("web")
            name = copy["metadata"]["name"]
            await world.wait("the copy is Ready", lambda: _is_ready(world, name))
            await world.delete_pod(copy["metadata"]["annotations"][ORIGINAL])
            first = await process.finish()
        second = await world.run(enabledStrategies=[])
        await world.wait("web is complete", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)
    assert first.code == -signal.SIGKILL
    assert second.code == 0, second
    assert empty in await world.nodes_of("web")
    assert audit.replicas_missing() == []
    assert audit.budgets_violated() == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_while_the_mark_comes_off_the_next_run_ends_it(
    world: World, when: Literal["before", "after"]
) -> None:
    """The adoption is refused, so all is taken back, and the next run goes on with that."""
    await deploy_web(world, 2, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start()
            proxy.on(PATCH, fail(403), after=BEFORE_ADOPTION, times=1)
            proxy.on(PATCH, kill(process, when=when), after=BEFORE_UNMARKING, times=1)
            first = await process.finish()
        second = await world.run(enabledStrategies=[])
        audit = await world.audit(auditor)
    assert first.code == -signal.SIGKILL
    assert second.code == 1, second
    assert "Refused" in second.summary
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_mark_without_its_copy_is_taken_off(world: World) -> None:
    """Killed between mark and adoption, and then a user deletes the copy by hand."""
    await deploy_web(world, 2)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start()
            proxy.on(PATCH, kill(process, when="before"), after=BEFORE_ADOPTION, times=1)
            await process.finish()
            [copy] = [
                write.name
                for write in proxy.writes
                if write.verb == "create" and write.resource == "pods" and not write.subresource
            ]
        # It was out of its Services by then; what its kubelet says of it, that says again.
        await world.wait("the original is Ready", lambda: _are_all_ready(world))
        await world.delete_pod(copy)
        await world.wait("the copy is gone", lambda: _is_gone(world, copy))
        run = await world.run(enabledStrategies=[])
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert "CopyLost" in run.summary
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_killed_between_mark_and_adoption_and_then_the_user_rolls_out(world: World) -> None:
    """What is left is a copy and a mark; the user wins, and both are gone after the next run."""
    await deploy_web(world, 2)
    async with world.faults() as proxy:
        process = await world.start()
        proxy.on(PATCH, kill(process, when="before"), after=BEFORE_ADOPTION, times=1)
        await process.finish()
    await world.roll_out("web", "app:2")
    run = await world.run()
    await world.wait("the rollout is complete", lambda: world.is_complete("web"))
    assert run.code in (0, 1), run
    pods = await world.pods("web")
    assert [pod["spec"]["containers"][0]["image"] for pod in pods] == ["app:2", "app:2"]


@pytest.mark.parametrize("answers", [0, 1, 2])
async def test_killed_between_the_dry_runs_and_the_copy(world: World, answers: int) -> None:
    """Nobody has noticed anything by then; the next run asks anew."""
    _, empty = await deploy_web(world, 2)
    async with world.auditor() as auditor, world.faults() as proxy:
        process = await world.start()
        asked = Match(verb="create", resource="pods", predicate=lambda each: each.dry_run)
        proxy.on(asked, kill(process, when="after"), after=answers, times=1)
        await process.finish()
        assert not [each for each in await world.pods("web") if MOVED in each["metadata"]["labels"]]
        run = await world.run()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_the_api_server_goes_away_and_comes_back(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    await world.afflict_copies(ready_after="2s")
    async with world.auditor() as auditor, world.faults() as proxy:
        process = await world.start()
        created = proxy.on(Match(verb="create", resource="pods", write=True), drop_reply(), times=1)
        await created.wait_fired(within=30)
        away = proxy.on(Match(), unavailable())
        await away.wait_fired(within=30, times=5)
        proxy.cut_all()
        proxy.clear()
        run = await process.finish()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    assert_nobody_noticed(audit)


async def _is_ready(world: World, pod: str) -> bool:
    found = await world.find_pod(pod)
    return found is not None and is_ready(found)


async def _are_all_ready(world: World) -> bool:
    return all(is_ready(pod) for pod in await world.pods("web"))


async def _is_gone(world: World, pod: str) -> bool:
    return await world.find_pod(pod) is None


def _spoil_the_first_of_each_two(proxy: Faults, fault: Fault) -> None:
    """Of each kind of write, every other request meets the fault; its repetition gets through."""
    seen: Counter[tuple[str, str]] = Counter()

    def is_first(request: Request) -> bool:
        seen[request.verb, request.subresource] += 1
        return seen[request.verb, request.subresource] % 2 == 1

    proxy.on(Match(write=True, predicate=is_first), fault)
