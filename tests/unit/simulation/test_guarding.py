"""Drains by somebody else, with and without the product being asked about evictions."""

import asyncio
from dataclasses import replace

import pytest

from rescheduler.cli.contenders import named, with_and_without_guard
from rescheduler.cli.wrong_flags import Problems
from rescheduler.config import Configuration, Guard
from rescheduler.embedded.cluster import OWN_USER
from rescheduler.embedded.virtual_time import START
from rescheduler.kube import errors
from rescheduler.simulation.contending import Contender, Day, simulate
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import foreseen
from rescheduler.simulation.rude_drains import USER
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import HOUR, Outage, Scenario
from rescheduler.wire import POD_MIGRATIONS, PODS
from tests.unit.simulation.guarded import GUARDING, filled, on_one_node


async def test_an_outsiders_drain_moves_all_and_nobody_dips() -> None:
    async with on_one_node("a", "b") as it:
        assert await it.drain("full")
        assert not {"full"} & {*it.nodes_of("web"), *it.nodes_of("db")}
        await asyncio.sleep(60)
        for each in it.dips.all:
            assert (each.workload[0], each.cause) == ("StatefulSet", Cause.RECREATE)
            assert each.short == 1, "never two of a StatefulSet are away"
        records = list(it.cluster.store.all(POD_MIGRATIONS))
        assert len(records) == 6, "however often each was evicted, and whatever has its name now"
        for record in records:
            assert record["status"]["phase"] == "Completed"
            assert record["spec"]["reason"] == f"{USER} evicts it from full"


async def test_without_it_all_of_them_do() -> None:
    silent = replace(GUARDING, guard=Guard())
    async with on_one_node("a", "b", configuration=silent) as it:
        assert it.controller.guard is None
        assert await it.drain("full")
        assert {each.workload[2] for each in it.dips.all} == {"web", "db"}
        assert {each.cause for each in it.dips.all} == {Cause.EVICTION}
        assert {each.short for each in it.dips.all} == {3}


async def test_nodes_are_drained_one_after_the_other() -> None:
    async with on_one_node("a", "b", "c") as it:
        assert await it.drain("full")
        # At once, by the same person: what has just come there is meant now.
        assert await it.drain("a")
        assert not {"full", "a"} & {*it.nodes_of("web"), *it.nodes_of("db")}
        assert not [each for each in it.dips.all if each.cause is not Cause.RECREATE]


async def test_without_room_a_drain_ends_all_the_same() -> None:
    patient = replace(GUARDING, guard=Guard(enabled=True, patience_seconds=60.0))
    async with on_one_node(configuration=patient) as it:
        begun = asyncio.get_running_loop().time()
        assert await it.drain("full")
        assert asyncio.get_running_loop().time() - begun < 300


async def test_who_is_held_and_who_is_not() -> None:
    async with on_one_node("a") as it:
        [pod, *_] = it.cluster.store.all(PODS)
        metadata = pod["metadata"]
        api = it.cluster.api
        with pytest.raises(errors.Throttled, match=r'"guard.rescheduler.io" denied the request: '):
            api.evict("default", metadata["name"], user=USER)
        api.evict("default", metadata["name"], user=USER, dry_run=True)
        api.evict("default", metadata["name"], user=OWN_USER)
        with pytest.raises(errors.NotFound):
            api.evict("default", "nobody", user=USER)


async def test_as_long_as_nothing_is_known_evictions_pass() -> None:
    async with filled() as cluster, running(cluster, GUARDING) as controller:
        cluster.review_evictions(controller.guard)
        [pod, *_] = cluster.store.all(PODS)
        cluster.api.evict("default", pod["metadata"]["name"], user=USER)


def test_over_hours_with_drains_dips_are_only_without_it() -> None:
    described = generate(nodes=8, pods=100, seed=5)
    drains = tuple(
        Outage(at_seconds=at * HOUR, for_seconds=HOUR / 4, node=f"node-00{node}")
        for at, node in ((0.2, 1), (0.2, 2), (0.5, 3))
    )
    scenario = Scenario(name="drained", drains=drains)
    happenings = foreseen(scenario, described, seed=5, start=START, hours=0.8)
    day = Day(described=described, scenario=scenario, happenings=happenings, seed=5, hours=0.8)
    contenders = with_and_without_guard(named("none", None, Problems(), has_own=False))
    without, with_it = (simulate(each, day) for each in contenders)
    assert [each.name for each in contenders] == ["none", "none+guard"]
    assert without.figures.dips_by(Cause.EVICTION)
    assert not with_it.figures.dips_by(Cause.EVICTION, Cause.MOVE, Cause.OTHER)
    assert with_it.figures.moved > 10
    assert len(with_it.drains) == len(without.drains) == 3
    assert all(each.seconds is not None for each in with_it.drains)


def test_which_configurations_have_it() -> None:
    on = replace(Configuration(), guard=Guard(enabled=True, patience_seconds=7.0))
    given = [
        Contender(name="none", configuration=None),
        Contender(name="LoadBalancing", configuration=Configuration()),
        Contender(name="config", configuration=on),
    ]
    found = with_and_without_guard(given)
    assert [each.name for each in found] == [
        *("none", "none+guard", "LoadBalancing", "LoadBalancing+guard", "config", "config+guard")
    ]
    guards = [each.configuration.guard for each in found[1:] if each.configuration]
    assert [each.enabled for each in guards] == [True, False, True, False, True]
    assert found[0].configuration is None
    assert guards[-1].patience_seconds == 7.0
