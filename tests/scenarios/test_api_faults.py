"""The API server refuses, loses or delays what a migration asks of it, at every kind of request:
each migration ends Completed, or Failed with nothing left over, and nobody is asked without end.

What an answer means stands in `migrate/worker/api_failures.py`. All cases are many: CI
runs a part of them, drawn anew each time; with FAULT_MATRIX=all in the environment, all are run.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from testbed.faultproxy import (
    Fault,
    Match,
    arrive_late,
    budget_refusal,
    conflict,
    drop_reply,
    drop_request,
    fail,
    half_open,
    internal_error,
    throttled,
    unavailable,
)
from tests.scenarios.drawing import drawn
from tests.scenarios.one_migration import (
    EVICTION,
    LASTING,
    MANY,
    PATIENT,
    SETTINGS,
    WAYS,
    assert_it_ended,
    migration,
    story,
)
from tests.scenarios.world import World

TROUBLE = "request to the API server failed"
SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def several_budgets() -> Fault:
    return fail(500, {"kind": "Status", "status": "Failure", "code": 500, "message": SEVERAL})


PASSING: Mapping[str, Callable[[], Fault]] = {
    "409": conflict,
    "429": throttled,
    "500": internal_error,
    "503": unavailable,
    "504": lambda: fail(504),
    "reply-lost": drop_reply,
    "request-lost": drop_request,
    "arrives-late": lambda: arrive_late(1.0),
}
SILENT: Mapping[str, Callable[[], Fault]] = {
    "silent": half_open,
    "silent-applied": lambda: half_open(forwarded=True),
}

# ---------------------------------------------------------------------- at each kind of request


def _cases(
    faults: Mapping[str, Callable[[], Fault]], *, without: tuple[str, ...] = ()
) -> list[Any]:
    return [
        pytest.param(name, request, fault, id=f"{name}-{request}-{fault}")
        for name, way in WAYS.items()
        for request in way.requests
        for fault in faults
        if request not in without
    ]


@pytest.mark.parametrize(
    ("name", "request_", "fault"), drawn(_cases(PASSING), matrix="FAULT", share=0.03)
)
async def test_what_fails_once_is_made_good(
    world: World, name: str, request_: str, fault: str
) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        struck = proxy.on(way.requests[request_], PASSING[fault](), times=1)
        run = await world.run(**PATIENT)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    assert struck.fired, story(run)


@pytest.mark.parametrize(
    ("name", "request_", "fault"), drawn(_cases(SILENT), matrix="FAULT", share=0.03)
)
async def test_a_request_that_nobody_answers_is_asked_again(
    world: World, name: str, request_: str, fault: str
) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        struck = proxy.on(way.requests[request_], SILENT[fault](), times=1)
        process = await world.start(**PATIENT)
        run = await process.finish(within=150)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    assert struck.fired, story(run)


@pytest.mark.parametrize(
    ("name", "request_", "fault"), drawn(_cases(LASTING), matrix="FAULT", share=0.03)
)
async def test_what_fails_for_a_while_ends_all_the_same(
    world: World, name: str, request_: str, fault: str
) -> None:
    """What was left in the middle, as it was refused for good, a later run ends."""
    way, times = WAYS[name], 4
    async with migration(world, way) as scene, world.faults() as proxy:
        struck = proxy.on(way.requests[request_], LASTING[fault](), times=times)
        run = await world.run(**SETTINGS)
        assert struck.fired, story(run)
        # Each of them is refused at least once; one more meets no trouble.
        for _ in range(times):
            if "NotFinished" in run.summary:
                run = await world.run(**SETTINGS)
        await assert_it_ended(scene, run, proxy)


@pytest.mark.parametrize(
    ("name", "request_", "fault"),
    drawn(_cases(LASTING, without=("status", "label", "unguard")), matrix="FAULT", share=0.03),
)
async def test_what_always_fails_is_given_up(
    world: World, name: str, request_: str, fault: str
) -> None:
    """What cannot be taken back now is left to the next run, which meets no trouble."""
    way = WAYS[name]
    async with migration(world, way) as scene:
        async with world.faults() as proxy:
            struck = proxy.on(way.requests[request_], LASTING[fault]())
            process = await world.start(**SETTINGS)
            run = await process.finish(within=150)
            assert struck.fired < MANY, story(run)
        await world.run(**SETTINGS)
        await assert_it_ended(scene, run, proxy)
    assert struck.fired, story(run)


async def test_where_somebody_changes_all_that_we_do_it_is_left_to_the_next_run(
    world: World,
) -> None:
    """Not even giving up gets through: so that is no loop without end either."""
    async with migration(world, WAYS["surge"]) as scene:
        async with world.faults() as proxy:
            struck = proxy.on(Match(verb="patch"), conflict())
            process = await world.start(**SETTINGS)
            run = await process.finish(within=150)
        assert "NotFinished" in run.summary, story(run)
        assert 0 < struck.fired < MANY
        ended = await world.run(**SETTINGS)
        await assert_it_ended(scene, ended, proxy)


# ---------------------------------------------------------------------- what an answer means


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="FAULT", share=1 / 2))
async def test_a_budget_that_refuses_is_asked_again_and_is_no_trouble(
    world: World, name: str
) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        refused = proxy.on(EVICTION, budget_refusal("web"), times=3)
        run = await world.run(**PATIENT)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    assert refused.fired == 3
    assert run.said("PodDisruptionBudget refuses the eviction for now")
    assert run.said(TROUBLE) == []


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="FAULT", share=1 / 2))
async def test_a_budget_that_refuses_for_ever_is_obeyed(world: World, name: str) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        refused = proxy.on(EVICTION, budget_refusal("web"))
        run = await world.run(**SETTINGS)
        status = await assert_it_ended(scene, run, proxy, phases=("Failed",))
    assert status["reason"] == "BudgetRefused", story(run)
    assert 1 < refused.fired < MANY
    assert run.said(TROUBLE) == []


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="FAULT", share=1 / 2))
async def test_who_asks_us_to_slow_down_is_obeyed(world: World, name: str) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        proxy.on(EVICTION, throttled(retry_after=2), times=1)
        run = await world.run(**PATIENT)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    first, second, *_ = [each for each in proxy.requests if EVICTION.accepts(each)]
    assert second.time - first.time >= 2
    assert run.said("PodDisruptionBudget refuses the eviction for now") == []
    assert len(run.said(TROUBLE)) == 1


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="FAULT", share=1 / 2))
async def test_several_budgets_are_no_passing_fault(world: World, name: str) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        refused = proxy.on(EVICTION, several_budgets(), times=1)
        run = await world.run(**SETTINGS)
        status = await assert_it_ended(scene, run, proxy, phases=("Failed",))
    assert status["reason"] == "SeveralBudgets", story(run)
    assert refused.fired == 1
    assert run.said(TROUBLE) == []
