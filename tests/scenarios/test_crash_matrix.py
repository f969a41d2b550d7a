"""The process is killed before and after every write, and loses the reply to it, in every way of
moving a pod: in the end each migration is Completed or Failed, the number of pods is right, and
nothing of ours is left over.

All of them run on the embedded cluster. For a real one they are many: CI runs a few, drawn anew
each time, and `make crash-matrix` all.
"""

import signal
from functools import partial
from typing import Literal, get_args

import pytest

from testbed.audit import Audit, is_ready
from testbed.faultproxy import drop_reply, kill, nth_write
from tests.scenarios.drawing import drawn
from tests.scenarios.every_way import SETTINGS, WAYS, Way, set_stage_for
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left
from tests.scenarios.looping import cleanup
from tests.scenarios.world import World

When = Literal["before", "after", "reply lost"]

CASES = [
    pytest.param(name, number, when, id=f"{name}-{number}-{when.replace(' ', '-')}")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for when in get_args(When)
]


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="CRASH", share=1 / 4))
async def test_it_takes_these_writes(world: World, name: str) -> None:
    """The matrix disturbs each of them, so the list must be true."""
    way = WAYS[name]
    await set_stage_for(world, way)
    run, audit = await world.audited_run(**SETTINGS)
    assert run.code == way.code, run
    made = [write.permission for write in audit.writes()]
    print(f"{name}: {len(made)} writes for {len(way.apps)} migrations: {made}")  # noqa: T201
    least, most = way.writes
    assert least <= len(made) <= most, made
    await assert_it_ended_well(world, way, audit)


@pytest.mark.parametrize(("name", "number", "when"), drawn(CASES, matrix="CRASH", share=1 / 60))
async def test_disturbed_at_a_write_it_ends_all_the_same(
    world: World, name: str, number: int, when: When
) -> None:
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**SETTINGS)
            fault = drop_reply() if when == "reply lost" else kill(process, when=when)
            rule = proxy.on(nth_write(number), fault, times=1)
            first = await process.finish()
        second = await world.run(**SETTINGS)
        audit = await world.audit(auditor)
    # Some writes are not always needed; then there are fewer to be disturbed at.
    assert rule.fired or number > way.writes[0], first
    assert first.code == (-signal.SIGKILL if rule.fired and when != "reply lost" else way.code)
    assert second.code in (0, way.code), second
    await assert_it_ended_well(world, way, audit)


CANCELLED_CASES = [
    pytest.param(name, number, when, how, id=f"{name}-{number}-{when}-{how}")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for when in ("before", "after")
    for how in ("run", "cleanup")
]


@pytest.mark.parametrize(
    ("name", "number", "when", "how"), drawn(CANCELLED_CASES, matrix="CRASH", share=1 / 120)
)
async def test_killed_at_a_write_and_cancelled_nothing_is_left(
    world: World, name: str, number: int, when: Literal["before", "after"], how: str
) -> None:
    """Nobody knows of the migration any more but by what it has made and marked."""
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**SETTINGS)
            rule = proxy.on(nth_write(number), kill(process, when=when), times=1)
            await process.finish()
        for record in await world.records():
            await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
        ended = await (cleanup if how == "cleanup" else World.run)(world, **SETTINGS)
        await _wait_until_complete(world, way)
        audit = await world.audit(auditor)
    assert rule.fired or number > way.writes[0]
    assert ended.code == 0, ended
    await _assert_the_number_is_right(world, way, audit)


# ---------------------------------------------------------------------- before and after


async def assert_it_ended_well(world: World, way: Way, audit: Audit) -> None:
    await _wait_until_complete(world, way)
    moved = 1 if way.ends == "Completed" else 0
    for app in way.apps:
        assert (await world.nodes_of(app)).count(world.nodes[1]) == moved
    phases = [record["status"]["phase"] for record in await world.records()]
    assert phases == [way.ends] * len(way.apps)
    await _assert_the_number_is_right(world, way, audit)


async def _wait_until_complete(world: World, way: Way) -> None:
    for app in way.apps:
        await world.wait(f"{app} is complete", partial(is_complete, world, app))


async def _assert_the_number_is_right(world: World, way: Way, audit: Audit) -> None:
    for app in way.apps:
        before = [pod for pod in audit.pods_before() if pod.startswith(app)]
        assert len(await world.nodes_of(app)) == len(before)
    if not way.is_noticed:
        assert_nobody_noticed(audit)
    temporary = "-rescheduler-pdb"
    assert [each for each in audit.changed_objects() if temporary not in each] == []
    await assert_nothing_of_ours_is_left(world)


async def is_complete(world: World, app: str) -> bool:
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        if await world.api.find(kind, world.name, app):
            return await world.is_complete(app, kind)
    pods = await world.pods(app)
    return len(pods) == 1 and is_ready(pods[0])
