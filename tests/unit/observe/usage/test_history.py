"""From samples to figures: windows, percentiles, staleness, debounce, and what cannot be true."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.config import UsageSettings
from rescheduler.model.usage import Usage
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.samples import Sample
from tests.unit.observe.usage.scenes import (
    MOMENTS,
    START,
    STEP,
    Cluster,
    Pod,
    measured,
    placement,
)

ONE_NODE = placement(["a"], [])


def told(settings: UsageSettings, *figures: float, node: str = "a") -> Usage:
    """What is known of a node after one such figure every 30 seconds, the last one just now."""
    history = History(settings, "metrics-server")
    now = START
    for number, figure in enumerate(figures):
        now = START + number * STEP
        history.add(Sample(nodes=measured({node: figure}, now)), now)
    return history.usage(ONE_NODE, now)


def is_known(usage: Usage) -> npt.NDArray[np.bool_]:
    """By node."""
    return ~np.isnan(usage.node_cpu)


# ---------------------------------------------------------------------- windows


@pytest.mark.parametrize(
    ("percentile", "figures", "known"),
    [
        (100, [100, 300, 200], 300),
        (90, [100, 300, 200], 200),
        (50, [100, 300, 200], 200),
        (1, [100, 300, 200], 100),
        (90, [100] * 10 + [900], 100),
        (90, [100] * 8 + [900] * 3, 900),
        (100, [100] * 10 + [900], 900),
        (90, [900] + [100] * 11, 100),
    ],
)
def test_the_percentile_over_the_window(
    percentile: float, figures: list[float], known: float
) -> None:
    usage = told(UsageSettings(percentile=percentile), *figures)
    assert usage.node_cpu.tolist() == [known]
    assert usage.node_memory.tolist() == [known * 1e6]
    assert (usage.unknown_nodes, usage.outage) == ({}, "")


def test_what_is_older_than_the_window_does_not_count() -> None:
    settings = UsageSettings(percentile=100)
    assert told(settings, 900, *[100] * 10).node_cpu[0] == 100
    assert told(settings, 900, *[100] * 9).node_cpu[0] == 900


def test_a_square_wave_is_its_upper_level_and_a_single_spike_is_nothing() -> None:
    history = History(UsageSettings(), "metrics-server")
    seen = []
    for number in range(40):
        now = START + number * STEP
        figure = 900 if number % 4 < 2 else 100
        history.add(Sample(nodes=measured({"a": figure}, now)), now)
        seen.append(float(history.usage(ONE_NODE, now).node_cpu[0]))
    # Once the window is full, it does not swing with the wave.
    assert set(seen[10:]) == {900}
    # One spike in the midst of calm.
    calm = [100.0] * 9
    assert told(UsageSettings(), *calm, 900).node_cpu[0] == 100


# ---------------------------------------------------------------------- what is believed


@pytest.mark.parametrize("debounce", [1, 2, 3, 5])
def test_a_node_is_unknown_until_enough_samples_are_there(debounce: int) -> None:
    settings = UsageSettings(debounce=debounce)
    for count in range(1, 7):
        usage = told(settings, *[100] * count)
        assert math.isnan(usage.node_cpu[0]) is (count < debounce)
        if count < debounce:
            assert usage.unknown_nodes[0] == f"only {count} of {debounce} samples are there"


@pytest.mark.parametrize(
    ("debounce", "span", "since"),
    [(1, 0.0, 90 - 10), (3, 0.0, 30 - 10), (3, 15.0, 15 - 10), (4, 0.0, 0 - 10), (5, 0.0, None)],
)
def test_since_when_a_node_is_known_by_samples_alone_that_are_newer(
    debounce: int, span: float, since: float | None
) -> None:
    """Four samples, 30 seconds apart. Clocks may differ by ten."""
    history = History(UsageSettings(debounce=debounce), "metrics-server")
    for number in range(4):
        now = START + number * STEP
        history.add(Sample(nodes=measured({"a": 100}, now, span=span)), now)
    (found,) = history.usage(ONE_NODE, now).node_since.tolist()
    assert math.isnan(found) if since is None else found == START + since


def test_what_was_told_before_does_not_count_again() -> None:
    history = History(UsageSettings(), "metrics-server")
    for number in range(5):
        history.add(Sample(nodes=measured({"a": 100}, START)), START + number)
    usage = history.usage(ONE_NODE, START + 5)
    assert usage.unknown_nodes == {0: "only 1 of 3 samples are there"}


def test_figures_that_stand_still_get_stale() -> None:
    history = History(UsageSettings(), "metrics-server")
    for number in range(3):
        now = START + number * STEP
        history.add(Sample(nodes=measured({"a": 100, "b": 100}, now)), now)
    frozen = START + 2 * STEP
    for number in range(3, 9):
        now = START + number * STEP
        both = measured({"a": 100, "b": 100}, now)
        both.at[0] = frozen
        history.add(Sample(nodes=both), now)
        usage = history.usage(placement(["a", "b"], []), now)
        assert math.isnan(usage.node_cpu[0]) is (now - frozen > 180)
        assert usage.node_cpu[1] == 100
    assert history.usage(placement(["a", "b"], []), frozen + 190).unknown_nodes == {
        0: "its newest figure is 3m10s old"
    }


def test_a_node_that_the_source_has_lost_is_unknown_and_no_other() -> None:
    history = History(UsageSettings(), "metrics-server")
    for number in range(12):
        now = START + number * STEP
        nodes = {"a": 100.0} if number > 3 else {"a": 100.0, "b": 300.0}
        history.add(Sample(nodes=measured(nodes, now)), now)
    usage = history.usage(placement(["b", "never", "a"], []), now)
    assert is_known(usage).tolist() == [False, False, True]
    assert usage.unknown_nodes == {
        0: "its newest figure is 4m old",
        1: "metrics-server has given no figure of it",
    }
    assert usage.outage == ""


@pytest.mark.parametrize("figure", [0.0, -5.0, math.nan, math.inf, -math.inf, 1e308, 1e12])
def test_what_cannot_be_true_is_unknown_and_not_zero(figure: float) -> None:
    usage = told(MOMENTS, figure, figure, figure)
    assert np.isnan(usage.node_cpu[0])
    assert np.isnan(usage.node_memory[0])
    assert "cannot be true" in usage.unknown_nodes[0]
    assert f"cpu {figure:g}m" in usage.unknown_nodes[0]
    # Between good ones it is only a gap.
    assert told(UsageSettings(), 100, 100, figure, 100).node_cpu[0] == 100


@pytest.mark.parametrize("bad", ["cpu", "memory", "at"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_half_a_figure_is_none(bad: str, value: float) -> None:
    figures = measured({"a": 100}, START)
    getattr(figures, bad)[0] = value
    history = History(MOMENTS, "prometheus")
    history.add(Sample(nodes=figures), START)
    assert not is_known(history.usage(ONE_NODE, START))[0]


def test_far_more_than_a_node_has_cannot_be_true() -> None:
    has = np.array([4000, 4000, 0])
    place = replace(placement(["a", "b", "new"], []), node_cpu=has, node_memory=has * 10**6)
    history = History(MOMENTS, "metrics-server")
    # In thousandths of what it should be: 48 cores are 10 times what there is, and 8 more.
    history.add(Sample(nodes=measured({"a": 47999, "b": 48001, "new": 99999}, START)), START)
    usage = history.usage(place, START)
    assert usage.unknown_nodes == {
        1: "metrics-server gives figures that are far more than the node has"
    }
    # One such figure among others is only left out.
    history.add(Sample(nodes=measured({"b": 300}, START + 1)), START + 1)
    assert history.usage(place, START + 1).node_cpu.tolist() == [47999, 300, 99999]


@pytest.mark.parametrize(("has", "machine"), [(940, 2000), (500, 2000), (100, 8000)])
def test_a_small_node_under_full_load_is_known_and_the_hottest(has: int, machine: int) -> None:
    """Usage is of the whole machine, `allocatable` what is left of it for pods."""
    room = np.array([has])
    place = replace(ONE_NODE, node_cpu=room, node_memory=room * 10**6)
    history = History(MOMENTS, "metrics-server")
    history.add(Sample(nodes=measured({"a": machine}, START)), START)
    assert history.usage(place, START).node_cpu.tolist() == [machine]


@pytest.mark.parametrize("kind", ["nodes", "pods"])
@pytest.mark.parametrize("source", ["requests", "metrics-server"])
def test_what_is_not_seen_is_unknown(kind: str, source: str) -> None:
    place = replace(placement(["a", "b"], [Pod(name="web", node="a")]), unseen=kind)
    usage = History(MOMENTS, source).usage(place, START)
    why = f"{kind} are not seen"
    assert (usage.outage, usage.unknown_nodes) == (why, {0: why, 1: why})
    assert np.isnan(usage.node_cpu).all()
    assert np.isnan(usage.pod_memory).all()
    assert (usage.pod_measured.tolist(), len(usage.node_memory)) == ([False], 2)


@pytest.mark.parametrize("kind", ["nodes", "pods"])
def test_nothing_is_forgotten_when_something_is_not_seen_for_once(kind: str) -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300)])
    history = History(UsageSettings(), "metrics-server")
    for number in range(3):
        history.add(cluster.sample(START + number), START + number)
    before = history.usage(cluster.placement(), START + 2)
    nothing = replace(placement([], []), unseen=kind)
    history.follow(nothing, START + 2)
    history.usage(nothing, START + 2)
    after = history.usage(cluster.placement(), START + 2)
    assert after.node_cpu.tolist() == before.node_cpu.tolist() == [500]
    assert after.pod_measured.tolist() == [True]


def test_nodes_that_come_and_go_leave_the_samples_of_the_others_alone() -> None:
    nodes = [f"n{number}" for number in range(12)]
    history = History(UsageSettings(), "metrics-server")
    for number in range(30):
        now = START + number * STEP
        told = {name: 100.0 + int(name[1:]) for name in nodes}
        history.add(Sample(nodes=measured(told, now)), now)
        if number >= 3:
            usage = history.usage(placement(nodes, []), now)
            known = dict(zip(nodes, usage.node_cpu.tolist(), strict=True))
            assert {name: known[name] for name in nodes[:-3]} == {
                name: told[name] for name in nodes[:-3]
            }
            nodes = [*nodes[1:], f"n{number + 12}"]


def test_a_node_that_comes_back_under_its_name_begins_anew() -> None:
    history = History(UsageSettings(), "metrics-server")
    for number in range(3):
        history.add(Sample(nodes=measured({"a": 900}, START + number)), START + number)
    assert is_known(history.usage(ONE_NODE, START + 2))[0]
    history.usage(placement(["other"], []), START + 3)
    assert history.usage(ONE_NODE, START + 4).unknown_nodes == {
        0: "metrics-server has given no figure of it"
    }


# ---------------------------------------------------------------------- clocks


def test_a_time_in_the_future_counts_as_now_and_is_told() -> None:
    history = History(MOMENTS, "metrics-server")
    ahead = 600.0
    findings = history.add(Sample(nodes=measured({"a": 100}, START + ahead)), START)
    assert "by up to 10m" in findings["clocks differ"]
    assert history.usage(ONE_NODE, START).node_cpu[0] == 100
    # It gets old like any other, also when it is told again and again.
    history.add(Sample(nodes=measured({"a": 100}, START + ahead)), START + 150)
    assert "old" in history.usage(ONE_NODE, START + 200).unknown_nodes[0]
    # And a clock that is set right does not make the node unknown.
    history.add(Sample(nodes=measured({"a": 300}, START + 200)), START + 200)
    assert history.usage(ONE_NODE, START + 200).node_cpu[0] == 300


def test_a_clock_that_is_a_little_ahead_is_nothing_to_tell() -> None:
    history = History(MOMENTS, "metrics-server")
    assert history.add(Sample(nodes=measured({"a": 100}, START + 5)), START) == {}


# ---------------------------------------------------------------------- outages


def test_an_outage_makes_everything_unknown_once_the_samples_are_old() -> None:
    cluster = Cluster(nodes=["a", "b"], pods=[Pod(name="web", node="a")])
    history = History(MOMENTS, "prometheus")
    history.add(cluster.sample(START), START)
    now = START
    for now in (START + 30, START + 60, START + 170):
        history.fail("connection refused", now)
        usage = history.usage(cluster.placement(), now)
        assert usage.outage == ""
        assert is_known(usage).all()
    usage = history.usage(cluster.placement(), START + 190)
    assert usage.outage == "prometheus has not answered for 2m40s: connection refused"
    assert np.isnan(usage.node_cpu).all()
    assert np.isnan(usage.pod_cpu).all()
    assert not usage.pod_measured.any()
    history.add(cluster.sample(START + 200), START + 200)
    usage = history.usage(cluster.placement(), START + 200)
    assert usage.outage == ""
    assert usage.node_cpu.tolist() == [300, 200]
    assert usage.as_of == START + 200


def test_why_everything_is_unknown_at_first() -> None:
    history = History(UsageSettings(), "metrics-server")
    usage = history.usage(ONE_NODE, START)
    assert usage.outage == "metrics-server has not been asked yet"
    assert math.isnan(usage.as_of)
    history.add(Sample(nodes=measured({"a": 100}, START)), START)
    usage = history.usage(ONE_NODE, START)
    assert usage.outage == "no node is known: only 1 of 3 samples are there"


def test_a_cluster_without_nodes_is_no_outage() -> None:
    usage = History(UsageSettings(), "metrics-server").usage(placement([], []), START)
    assert (usage.outage, len(usage.node_cpu)) == ("", 0)


# ---------------------------------------------------------------------- requests


def test_requests_are_always_known() -> None:
    pods = [Pod(name="x", node="b", asks=70), Pod(name="y", node="b"), Pod(name="z", node="")]
    pods += [Pod(name="leaving", node="a", leaving=True)]
    history = History(UsageSettings(), "requests")
    usage = history.usage(placement(["a", "b"], pods), START)
    assert usage.node_cpu.tolist() == [0, 120]
    assert usage.node_memory.tolist() == [0, 120e6]
    assert usage.pod_cpu.tolist() == [70, 50, 50, 50]
    assert (usage.source, usage.as_of, usage.outage) == ("requests", START, "")
    assert is_known(usage).all()
    assert usage.pod_measured.all()


@pytest.mark.parametrize("source", ["requests", "metrics-server"])
def test_what_is_handed_out_cannot_be_changed(source: str) -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a")])
    usage = History(UsageSettings(), source).usage(cluster.placement(), START)
    for figures in (usage.node_cpu, usage.node_memory, usage.pod_cpu, usage.pod_memory):
        with pytest.raises(ValueError, match="read-only"):
            figures[0] = 1


# ---------------------------------------------------------------------- whatever is told

figures = st.sampled_from([100.0, 200.0, 300.0, 0.0, -1.0, math.nan, math.inf, 1e308])
answers = st.lists(
    st.tuples(
        figures,
        st.sampled_from([0.0, 5.0, 30.0, 400.0]),  # seconds since the answer before
        st.sampled_from([0.0, 0.0, -20.0, -1e4, 1e4, math.nan]),  # by which its time is wrong
    ),
    min_size=1,
    max_size=20,
)


@given(answers, st.integers(1, 4), st.sampled_from([50.0, 90.0, 100.0]))
def test_whatever_is_told_only_fresh_figures_that_can_be_true_are_handed_on(
    told: list[tuple[float, float, float]], debounce: int, percentile: float
) -> None:
    settings = UsageSettings(debounce=debounce, percentile=percentile)
    history = History(settings, "prometheus")
    now, good = START, []
    for figure, pause, wrong in told:
        now += pause
        history.add(Sample(nodes=measured({"a": figure}, now + wrong)), now)
        if 0 < figure < 1e6 and not math.isnan(wrong):
            good.append((min(now, now + wrong), figure))
        usage = history.usage(ONE_NODE, now)
        recent = [each for at, each in good if at > now - 300]
        fresh = any(at >= now - 180 for at, _ in good)
        if is_known(usage)[0]:
            assert usage.node_cpu[0] in recent
            assert len(recent) >= debounce
            assert fresh
            assert (usage.unknown_nodes, usage.outage) == ({}, "")
        else:
            assert math.isnan(usage.node_memory[0])
            assert usage.unknown_nodes[0]
            assert usage.outage
