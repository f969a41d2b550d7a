"""Reads that fail and watches that tell nothing, in the middle of a migration: what is not known
decides nothing, and it ends all the same.

All cases are many: CI runs a part of them, drawn anew each time; with FAULT_MATRIX=all in the
environment, all are run.
"""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from testbed.faultproxy import (
    Fault,
    Match,
    conflict,
    cut_after,
    delay,
    expired_event,
    fail,
    gone,
    half_open,
    hold_events,
    inject_event,
    stall_after,
    unavailable,
)
from tests.scenarios.drawing import drawn
from tests.scenarios.one_migration import (
    LASTING,
    PATIENT,
    SETTINGS,
    WAYS,
    assert_it_ended,
    migration,
)
from tests.scenarios.world import World

READS = {
    "pods": Match(verb="list", resource="pods"),
    "replicasets": Match(verb="list", resource="replicasets"),
    "budgets": Match(verb="list", resource="poddisruptionbudgets"),
    "node": Match(verb="get", resource="nodes"),
    "any": Match(write=False),
}


@pytest.mark.parametrize(
    ("name", "read", "fault"),
    drawn(
        [
            pytest.param(name, read, fault, id=f"{name}-{read}-{fault}")
            for name in WAYS
            for read in READS
            for fault in LASTING
        ],
        matrix="FAULT",
        share=0.03,
    ),
)
async def test_reads_that_fail_in_the_middle_decide_nothing(
    world: World, name: str, read: str, fault: str
) -> None:
    """What was left in the middle, as it took too long, the next run ends, which may look."""
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        process = await world.start(**SETTINGS)
        await proxy.wait_until(lambda: len(proxy.writes) > 1, within=60)
        proxy.on(READS[read], LASTING[fault](), times=8)
        run = await process.finish()
        if "NotFinished" in run.summary:
            proxy.clear()
            run = await world.run(**SETTINGS)
        await assert_it_ended(scene, run, proxy)


@pytest.mark.parametrize(
    ("name", "read"),
    drawn(
        [
            pytest.param(name, read, id=f"{which}-{name}")
            for which, read in (
                ("node", READS["node"]),
                ("record", Match(verb="get", resource="podmigrations")),
            )
            for name in WAYS
        ],
        matrix="FAULT",
        share=1 / 2,
    ),
)
async def test_who_may_not_look_for_a_moment_gives_nothing_up(
    world: World, name: str, read: Match
) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        # The record is read when somebody else seems to have written it.
        proxy.on(way.requests["status"], conflict(), times=1)
        refused = proxy.on(read, fail(403), times=1)
        run = await world.run(**PATIENT)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    assert refused.fired


WATCHES: Mapping[str, Callable[[], Fault]] = {
    "410": gone,
    "expired": lambda: inject_event(expired_event()),
    "cut": lambda: cut_after(1),
    "cut-at-once": lambda: cut_after(0),
    "stalled": lambda: stall_after(0),
    "stalled-later": lambda: stall_after(2),
    "503": unavailable,
    "silent": half_open,
    "never": lambda: hold_events(asyncio.Event()),
}


@pytest.mark.parametrize(
    ("name", "resource", "fault"),
    drawn(
        [
            pytest.param(name, resource, fault, id=f"{name}-{resource}-{fault}")
            for name in WAYS
            for resource in ("pods", "endpointslices", "podmigrations")
            for fault in WATCHES
        ],
        matrix="FAULT",
        share=0.03,
    ),
)
async def test_watches_that_tell_nothing_make_it_slow_and_no_more(
    world: World, name: str, resource: str, fault: str
) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        # Those of the migrations: records are followed in all namespaces, the rest in this one.
        namespace = "" if resource == "podmigrations" else world.name
        match = Match(verb="watch", resource=resource, namespace=namespace)
        proxy.on(match, WATCHES[fault]())
        process = await world.start(**PATIENT)
        # Records are observed by a watch, too, and one that says nothing counts as dead after about
        # 55 s: then they are listed in pages.
        run = await process.finish(within=240)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
    assert [each for each in proxy.requests if match.accepts(each)]


async def test_all_watches_of_the_namespace_are_silent(world: World) -> None:
    """What was read or written is known; what nobody told is read before it is acted on."""
    way = WAYS["surge"]
    async with migration(world, way) as scene, world.faults() as proxy:
        proxy.on(Match(verb="watch", namespace=world.name), hold_events(asyncio.Event()))
        run = await world.run(**PATIENT)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))


@pytest.mark.parametrize("name", drawn(list(WAYS), matrix="FAULT", share=1 / 2))
async def test_every_answer_takes_a_while(world: World, name: str) -> None:
    way = WAYS[name]
    async with migration(world, way) as scene, world.faults() as proxy:
        proxy.on(Match(), delay(1.0))
        process = await world.start(**PATIENT)
        run = await process.finish(within=240)
        await assert_it_ended(scene, run, proxy, phases=("Completed",))
