"""A few simulated hours, product and all."""

import multiprocessing
import signal
import threading
from collections import Counter
from dataclasses import replace
from multiprocessing.context import SpawnProcess

import pytest

from rescheduler.config import Configuration
from rescheduler.embedded.virtual_time import START
from rescheduler.model.snapshot import Gap
from rescheduler.simulation.comparing import compare
from rescheduler.simulation.contending import Contender, Day, simulate
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.faulty import Fault, parse
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import Happening, What, foreseen
from rescheduler.simulation.scenarios import BUILT_IN, HOUR, Outage, Scenario
from rescheduler.simulation.summaries import summarised
from rescheduler.wire import PODS

NOBODY = Contender(name="none", configuration=None)
BALANCING = Contender(
    name="LoadBalancing",
    configuration=replace(
        Configuration(),
        enabled_strategies=("LoadBalancing",),
        rescheduling_interval_seconds=120.0,
    ),
)


def a_day(scenario: Scenario = BUILT_IN["steady"], hours: float = 1.0, **others: object) -> Day:
    described = generate(nodes=8, pods=120, seed=5)
    happenings = foreseen(scenario, described, seed=5, start=START, hours=hours)
    day = Day(described=described, scenario=scenario, happenings=happenings, seed=5, hours=hours)
    return replace(day, **others)  # type: ignore[arg-type]


def test_balancing_lowers_the_deviation_and_nobody_notices() -> None:
    day = a_day(replace(BUILT_IN["steady"], rollouts=0, scalings=0))
    without, with_it = summarised(simulate(NOBODY, day)), summarised(simulate(BALANCING, day))
    assert without.moved == 0
    assert with_it.moved > 3
    assert with_it.dips == dict.fromkeys(Cause, 0)
    assert with_it.deviation[0].after < 0.7 * without.deviation[0].after
    assert with_it.deviation[0].before == without.deviation[0].before
    assert len(with_it.deviation[0].points) == 31


def test_contenders_in_processes_of_their_own_come_out_the_same_again() -> None:
    day = a_day(hours=0.5, faults=(Fault("never-ready", 0.1), Fault("conflict", 0.05)))
    told: list[str] = []
    once = compare([NOBODY, BALANCING], day, lambda name, _: told.append(name))
    again = compare([NOBODY, BALANCING], day, at_once=1)
    assert once == again
    assert {*told} == {"none", "LoadBalancing"}


def test_the_end_of_a_contender_is_told_and_ends_the_others() -> None:
    bad = Contender(name="bad", configuration=Gap(source="a", reason="b"))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="bad"):
        compare([bad, NOBODY], a_day(hours=0.2), lambda _, __: None)


def test_an_interrupt_waits_until_a_process_is_started(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """However it comes: by a thread that lets it through, as those of numpy do."""
    ended, told = threading.Event(), list[str]()
    other = threading.Thread(target=ended.wait)
    other.start()
    start = SpawnProcess.start

    def starting(process: SpawnProcess) -> None:
        assert other.ident
        signal.pthread_kill(other.ident, signal.SIGINT)
        start(process)
        told.append("started")

    monkeypatch.setattr(SpawnProcess, "start", starting)
    try:
        with pytest.raises(KeyboardInterrupt):
            compare([NOBODY], a_day(hours=6))
    finally:
        ended.set()
        other.join()
    assert told == ["started"]
    assert multiprocessing.active_children() == []
    assert capfd.readouterr().err == ""


def test_a_node_that_fails_is_missed_for_as_long_as_it_does() -> None:
    failing = Scenario(
        name="failing", failures=(Outage(at_seconds=600, for_seconds=1800, node="node-001"),)
    )
    figures = simulate(NOBODY, a_day(failing)).figures
    nodes = [each.nodes for each in figures.looks]
    assert min(nodes[8:17]) < nodes[0]
    assert figures.dips_by(Cause.OTHER)
    assert not figures.dips_by(Cause.MOVE, Cause.RECREATE)
    assert figures.missing_seconds(Cause.OTHER) > 100


def test_maintenance_is_announced_then_drained_and_given_back() -> None:
    pods = a_day().described.all(PODS)
    [(fullest, _)] = Counter(each["spec"]["nodeName"] for each in pods).most_common(1)
    scenario = Scenario(
        name="maintained",
        maintenances=(Outage(at_seconds=60, for_seconds=2 * HOUR, node=fullest),),
    )
    figures = simulate(NOBODY, a_day(scenario, hours=1.5)).figures
    assert figures.dips_by(Cause.EVICTION), "kubectl drain takes pods before others are Ready"
    maintaining = Contender(
        name="NodeMaintenance",
        configuration=replace(Configuration(), enabled_strategies=("NodeMaintenance",)),
    )
    moved = simulate(maintaining, a_day(scenario, hours=1.5)).figures
    assert moved.by_strategy["NodeMaintenance"] > 3
    assert not moved.dips_by(Cause.MOVE)
    assert moved.missing_seconds(*Cause) < figures.missing_seconds(*Cause)


def test_a_rude_drain_is_announced_to_nobody_and_takes_pods_before_others_are_ready() -> None:
    pods = a_day().described.all(PODS)
    [(fullest, _)] = Counter(each["spec"]["nodeName"] for each in pods).most_common(1)
    scenario = Scenario(
        name="drained", drains=(Outage(at_seconds=600, for_seconds=HOUR, node=fullest),)
    )
    outcome = simulate(NOBODY, a_day(scenario, hours=0.5))
    [drain] = outcome.drains
    assert drain.node == fullest
    assert drain.seconds is not None
    assert 1 <= drain.seconds < 600
    assert outcome.figures.dips_by(Cause.EVICTION)
    assert not outcome.figures.dips_by(Cause.MOVE, Cause.RECREATE)
    summary = summarised(outcome)
    assert (summary.drain_seconds, summary.unfinished_drains) == ((drain.seconds,), 0)
    assert summary.dips[Cause.EVICTION] > 3


def test_what_is_foreseen_is_in_order_and_within_the_hours() -> None:
    described = generate(nodes=8, pods=120, seed=5)
    day = foreseen(BUILT_IN["day"], described, seed=1, start=START, hours=24)
    assert [each.at for each in day] == sorted(each.at for each in day)
    kinds = {each.what for each in day}
    assert kinds == {*What} - {What.DRAIN}
    assert Happening(
        at=10 * HOUR, what=What.MAINTAIN, name=_name(day, What.MAINTAIN), lasts=3 * HOUR
    ) in (day)
    short = foreseen(BUILT_IN["day"], described, seed=1, start=START, hours=6)
    assert all(each.at < 6 * HOUR for each in short)
    assert What.MAINTAIN not in {each.what for each in short}


def test_every_day_has_its_maintenance_and_its_failure() -> None:
    described = generate(nodes=8, pods=120, seed=5)
    one, three, cut = (
        foreseen(BUILT_IN["day"], described, seed=1, start=START, hours=hours)
        for hours in (24, 72, 36)
    )

    def outages(happenings: tuple[Happening, ...]) -> list[tuple[float, What]]:
        wanted = (What.MAINTAIN, What.FAIL)
        return [(each.at / HOUR, each.what) for each in happenings if each.what in wanted]

    first = [(10.0, What.MAINTAIN), (16.0, What.FAIL)]
    assert outages(one) == first
    later = [(at + 24 * day, what) for day in range(3) for at, what in first]
    assert outages(three) == later
    assert outages(cut) == later[:3]


def _name(happenings: tuple[Happening, ...], what: What) -> str:
    return next(each.name for each in happenings if each.what is what)


@pytest.mark.parametrize(
    ("text", "words"),
    [("never-redy=0.1", "did you mean"), ("crash", "no rate"), ("conflict=2", "no rate")],
)
def test_faults_that_make_no_sense(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text)
    assert str(parse("lost-reply=0.25")) == "lost-reply=0.25"
