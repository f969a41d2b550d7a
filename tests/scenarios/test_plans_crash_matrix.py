"""The process is killed before and after every write of a plan, and loses the reply to it: in the
end each plan is over, what was to move has moved once, and what nobody approved has not.

All of them run on the embedded cluster; of the real one each run draws some.
"""

import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

import pytest

from rescheduler.model import reschedule_plan
from testbed.audit import Audit
from testbed.faultproxy import Match, drop_reply, kill
from tests.scenarios.deploying import deploy_web
from tests.scenarios.drawing import drawn
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.planning import annotate, command, name_of, phase_of, plans
from tests.scenarios.world import World

When = Literal["before", "after", "reply lost"]
LEAST = 2
"""Of plans: each is begun, and comes to its end."""
WRITES = ("create", "patch", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    set_stage: Callable[[World], Awaitable[None]]
    settings: dict[str, Any]
    moved: tuple[int, ...]
    """Pods that may be on the empty node in the end. Of those that move by themselves, one more in
    each pass that is made.
    """
    phases: tuple[str, ...]
    """In which plans may be in the end."""
    writes: int
    """Of plans, by one run that nobody disturbs, at most."""
    least: int = LEAST
    """The same, at least."""
    is_observed: bool = False
    """In the end what came of them is known."""


async def _nothing(_: World) -> None:
    pass


async def _approved(world: World) -> None:
    assert (await world.run(mode="Approve")).code == 0
    [plan] = await plans(world)
    await annotate(world, name_of(plan), "approved")


async def _undone(world: World) -> None:
    assert (await world.run()).code == 0
    [plan] = await plans(world)
    assert (await command(world, "undo", name_of(plan))).code == 0


async def _ended(world: World) -> None:
    """By one who did not live to see what came of it."""
    assert (await world.run()).code == 0
    [plan] = await plans(world)
    ended = reschedule_plan.ended_at(plan)
    assert ended is not None

    async def is_long_ago() -> bool:
        return world.clock.now() > ended + timedelta(seconds=1)

    await world.wait("another second has begun", is_long_ago)


# Of what somebody has approved: what is planned next is no part of it.
_ONLY_THIS: dict[str, Any] = {"mode": "Approve", "enabledStrategies": []}
CASES = {
    "auto": Case(
        set_stage=_nothing,
        settings={"mode": "Auto"},
        moved=(1, 2),
        phases=("Completed", "Superseded"),
        writes=5,
    ),
    "proposed": Case(
        set_stage=_nothing,
        settings={"mode": "Approve", "plans": {"review": "0s"}},
        moved=(0,),
        phases=("Waiting",),
        writes=3,
    ),
    "approved": Case(
        set_stage=_approved, settings=_ONLY_THIS, moved=(1,), phases=("Completed",), writes=4
    ),
    "undone": Case(
        # What came of the first plan is written by now, too.
        set_stage=_undone,
        settings=_ONLY_THIS,
        moved=(0,),
        phases=("Completed",),
        writes=5,
    ),
    "observed": Case(
        set_stage=_ended,
        settings=_ONLY_THIS,
        moved=(1,),
        phases=("Completed",),
        writes=1,
        least=1,
        is_observed=True,
    ),
}
WRITTEN = Match(
    resource="rescheduleplans", subresource="*", predicate=lambda each: each.verb in WRITES
)
MATRIX = [
    pytest.param(name, number, when, id=f"{name}-{number}-{when.replace(' ', '-')}")
    for name, case in CASES.items()
    for number in range(1, case.writes + 1)
    for when in get_args(When)
]


@pytest.mark.parametrize("name", CASES)
async def test_it_takes_these_writes(world: World, name: str) -> None:
    """The matrix disturbs each of them, so the list must be true."""
    case = CASES[name]
    await deploy_web(world, 2)
    await case.set_stage(world)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            run = await world.run(**case.settings)
            made = [each.verb for each in proxy.requests if WRITTEN.accepts(each)]
        audit = await world.audit(auditor)
    assert run.code == 0, run
    print(f"{name}: {len(made)} writes of plans: {made}")  # noqa: T201
    assert case.least <= len(made) <= case.writes, made
    await assert_it_ended_well(world, case, audit)


@pytest.mark.parametrize(("name", "number", "when"), drawn(MATRIX, matrix="CRASH", share=1 / 12))
async def test_disturbed_at_a_write_it_ends_all_the_same(
    world: World, name: str, number: int, when: When
) -> None:
    case = CASES[name]
    await deploy_web(world, 2)
    await case.set_stage(world)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**case.settings)
            fault = drop_reply() if when == "reply lost" else kill(process, when=when)
            rule = proxy.on(WRITTEN, fault, after=number - 1, times=1)
            first = await process.finish()
        await _run_until_it_rests(world, case)
        audit = await world.audit(auditor)
    # Whether there is a word in between depends on who is faster.
    assert rule.fired or number > case.least, first
    if rule.fired and when != "reply lost":
        assert first.code == -signal.SIGKILL
    else:
        assert first.code == 0, first
    await assert_it_ended_well(world, case, audit)


async def _run_until_it_rests(world: World, case: Case) -> None:
    """As many as it takes until nothing is under way, and not more: the next pass plans anew."""
    for _ in range(4):
        if await _rests(world, case):
            return
        run = await world.run(**case.settings)
        assert run.code == 0, run
    assert await _rests(world, case), [each.get("status") for each in await plans(world)]


async def _rests(world: World, case: Case) -> bool:
    found = await plans(world)
    if case.is_observed and not all(map(reschedule_plan.observed_of, found)):
        return False
    phases = [phase_of(each) for each in found]
    records = [phase_of(each) for each in await world.records()]
    return bool(phases) and set(phases) <= set(case.phases) and set(records) <= {"Completed"}


async def assert_it_ended_well(world: World, case: Case, audit: Audit) -> None:
    _, empty = world.nodes
    nodes = await world.nodes_of("web")
    assert len(nodes) == 2
    assert nodes.count(empty) in case.moved
    found = await plans(world)
    assert {phase_of(each) for each in found} <= set(case.phases)
    if case.is_observed:
        assert [reschedule_plan.verdict_of(each) for each in found] == ["AsPredicted"]
    if case.phases == ("Waiting",):
        assert len(found) == 1
    assert_nobody_noticed(audit)
