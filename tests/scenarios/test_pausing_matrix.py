"""Paused at every write of every way of moving a pod, and killed there as well; then resumed.

Paused, whatever has begun comes to its end and nothing new begins; resumed, it ends as if nobody
had paused it, whether everything rests by then or is in the middle of a write. As many as in the
crash matrix: all run on the embedded cluster, some on a real one, and `make crash-matrix` all.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

import pytest

from testbed.faultproxy import Faults, Rule, hold, kill, nth_write
from testbed.processes import Running
from tests.scenarios.drawing import drawn
from tests.scenarios.every_way import SETTINGS, WAYS, Way, set_stage_for
from tests.scenarios.looping import controller
from tests.scenarios.pausing import (
    SAYS_PAUSED,
    has_begun,
    is_at_rest,
    is_over,
    pause_by_hand,
    resume_by_hand,
)
from tests.scenarios.test_crash_matrix import assert_it_ended_well
from tests.scenarios.world import World

How = Literal["paused", "killed before", "killed after"]
BRIEF = {**SETTINGS, "reschedulingInterval": "1s"}
MARK = "scheduler.alpha.kubernetes.io/migration-"

CASES = [
    pytest.param(name, number, how, id=f"{name}-{number}-{how.replace(' ', '-')}")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for how in get_args(How)
]


@pytest.mark.parametrize(("name", "number", "how"), drawn(CASES, matrix="CRASH", share=1 / 80))
async def test_paused_at_a_write_it_rests_and_resumed_it_ends_as_always(
    world: World, name: str, number: int, how: How
) -> None:
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        async with world.faults() as proxy, controller(world, **BRIEF) as running:
            if how == "paused":
                with _holding(proxy, number) as held:
                    await _pause_while(held, world, running)
                await _rest_and_go_on(world, way, running)
                audit = await world.audit(auditor)
            else:
                when: Literal["before", "after"] = "before" if how == "killed before" else "after"
                rule = proxy.on(nth_write(number), kill(running, when=when), times=1)
                await world.wait("killed, or all is over", lambda: _is_over_or(world, running))
                running.kill()
                await running.finish()
                await pause_by_hand(world)
                assert rule.fired or number > way.writes[0]
        if how != "paused":
            async with controller(world, **BRIEF) as second:
                await second.says(SAYS_PAUSED)
                await _rest_and_go_on(world, way, second)
                audit = await world.audit(auditor)
    await assert_it_ended_well(world, way, audit)


RESUMED_CASES = [
    pytest.param(name, number, later, id=f"{name}-{number}-{later}-later")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for later in (0, 1)
]


@pytest.mark.parametrize(
    ("name", "number", "later"), drawn(RESUMED_CASES, matrix="CRASH", share=1 / 80)
)
async def test_resumed_at_a_write_it_ends_as_always(
    world: World, name: str, number: int, later: int
) -> None:
    """Paused at a write and resumed at the same one, or at the next: while what has begun is being
    brought to its end.
    """
    way = WAYS[name]
    await set_stage_for(world, way)
    async with (
        world.auditor() as auditor,
        world.faults() as proxy,
        controller(world, **BRIEF) as running,
    ):
        with _holding(proxy, number) as held, _holding(proxy, number + 1) as following:
            await _pause_while(held, world, running)
            if later:
                held.let_go()
                await world.wait("the next is held, or all rests", lambda: _rests(world, following))
            await resume_by_hand(world)
            await running.says("moves resumed")
        await world.wait("all are over", lambda: _are_all_over(world))
        audit = await world.audit(auditor)
    assert held.rule.fired or number > way.writes[0]
    await assert_it_ended_well(world, way, audit)


@dataclass(frozen=True, slots=True)
class Held:
    """A write on its way."""

    rule: Rule
    let_go: Callable[[], None]


@contextmanager
def _holding(proxy: Faults, number: int) -> Iterator[Held]:
    goes = asyncio.Event()
    try:
        yield Held(proxy.on(nth_write(number), hold(goes), times=1), goes.set)
    finally:
        goes.set()


async def _pause_while(held: Held, world: World, running: Running) -> None:
    """Until the controller knows of the pause."""
    await world.wait("a write is held, or all is over", lambda: _is_held_or_over(world, held.rule))
    await pause_by_hand(world)
    await running.says(SAYS_PAUSED)


async def _rests(world: World, following: Held) -> bool:
    return bool(following.rule.fired) or await is_at_rest(world)


async def _is_held_or_over(world: World, rule: Rule) -> bool:
    return bool(rule.fired) or await _are_all_over(world)


async def _is_over_or(world: World, running: Running) -> bool:
    return running.has_ended or await _are_all_over(world)


async def _are_all_over(world: World) -> bool:
    found = await world.records()
    return bool(found) and all(map(is_over, found))


async def _rest_and_go_on(world: World, way: Way, running: Running) -> None:
    # What was sent before it knew of the pause has arrived by then, and may have begun something.
    await running.says("pass ended", times=2 + len(running.said("pass ended")))
    await world.wait("what has begun has ended", lambda: is_at_rest(world))
    for _ in range(2):
        # Rounds in which something could begin that must not.
        await running.says("pass ended", times=1 + len(running.said("pass ended")))
        assert await is_at_rest(world)
    held = {
        each["spec"]["pod"]["name"]
        for each in await world.records()
        if not is_over(each) and not has_begun(each)
    }
    for app in way.apps:
        for pod in await world.pods(app):
            if pod["metadata"]["name"] in held:
                assert not [key for key in pod["metadata"]["labels"] if key.startswith(MARK)]
    await resume_by_hand(world)
    await world.wait("all are over", lambda: _are_all_over(world))
