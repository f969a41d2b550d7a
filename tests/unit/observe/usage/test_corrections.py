"""Samples corrected to the present placement: nothing moves twice on old numbers (D06, D09)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.config import UsageSettings
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


def test_a_pod_that_left_is_taken_out_at_once() -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300)])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    assert history.usage(cluster.placement(), START).node_cpu[0] == 500
    cluster.pods = [None]
    usage = history.usage(cluster.placement(), START + 1)
    assert usage.node_cpu[0] == 200
    assert usage.node_memory[0] == 200e6
    # Also in a sample from before, which is told later.
    history.add(Sample(nodes=measured({"a": 500}, START + 0.5)), START + 5)
    assert history.usage(cluster.placement(), START + 5).node_cpu[0] == 200


def test_when_a_pod_left_is_when_that_was_noticed_and_not_when_usage_is_asked_for() -> None:
    rest = Pod(name="rest", node="a", cpu=400)
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300), rest])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    history.follow(cluster.placement(), START)
    cluster.pods[0] = None
    history.follow(cluster.placement(), START + 10)
    history.add(cluster.sample(START + 20), START + 20)
    usage = history.usage(cluster.placement(), START + 100)
    assert usage.node_cpu.tolist() == [600]


def test_a_moved_pod_counts_on_its_new_node_with_what_it_used_on_the_old_one() -> None:
    web = Pod(name="web", node="a", cpu=300, asks=10)
    cluster = Cluster(nodes=["a", "b"], pods=[web])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    history.usage(cluster.placement(), START)
    copy = Pod(name="web-2", node="b", cpu=300, asks=10, started=START + 2, original=web.identity)
    # While both are there, both take room.
    both = history.usage(placement(["a", "b"], [web, copy]), START + 3)
    assert both.node_cpu.tolist() == [500, 500]
    assert both.pod_cpu.tolist() == [300, 300]
    assert both.pod_measured.tolist() == [True, False]
    # And so it is when the original has gone, whatever row the copy has.
    for rows in ([copy], [None, copy], [None, None, None, copy]):
        moved = history.usage(placement(["a", "b"], rows), START + 4)
        assert moved.node_cpu.tolist() == [200, 500]
        assert moved.pod_cpu[-1] == 300


def test_a_pod_on_its_way_out_is_no_load_however_long_it_takes() -> None:
    """A migration that stands still with both pods there gives no reason for another (D09)."""
    web = Pod(name="web", node="a", cpu=300)
    cluster = Cluster(nodes=["a", "b"], pods=[web])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    assert history.usage(cluster.placement(), START).node_cpu.tolist() == [500, 200]
    copy = Pod(name="copy", node="b", cpu=300, started=START + 1, original=web.identity)
    cluster.pods = [replace(web, leaving=True), copy]
    for number in range(1, 20):
        now = START + number * STEP
        assert history.usage(cluster.placement(), now - 1).node_cpu.tolist() == [200, 500]
        history.add(cluster.sample(now), now)
        usage = history.usage(cluster.placement(), now)
        assert usage.node_cpu.tolist() == [200, 500]
        assert usage.node_memory.tolist() == [200e6, 500e6]
    # It may stay after all, or go: neither leaves a trace.
    stays = history.usage(placement(["a", "b"], [web]), now + 1)
    assert stays.node_cpu.tolist() == [500, 200]
    gone = history.usage(placement(["a", "b"], [None, copy]), now + 2)
    assert gone.node_cpu.tolist() == [200, 500]


def test_a_copy_that_is_only_assumed_counts_on_its_target() -> None:
    web = Pod(name="web", node="a", cpu=300)
    assumed = Pod(name="web", node="b", uid="assumed", started=0, original=web.identity)
    cluster = Cluster(nodes=["a", "b"], pods=[web])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    for now in (START, START + 1, START + 2):
        usage = history.usage(placement(["a", "b"], [web, assumed]), now)
        assert usage.node_cpu.tolist() == [500, 500]
        assert usage.pod_measured.tolist() == [True, False]
    # It has the name of its original, whose samples it does not get.
    history.add(cluster.sample(START + 3), START + 3)
    usage = history.usage(placement(["a", "b"], [web, assumed]), START + 3)
    assert usage.pod_measured.tolist() == [True, False]
    # Taken back, it leaves no trace.
    usage = history.usage(placement(["a", "b"], [web]), START + 4)
    assert usage.node_cpu.tolist() == [500, 200]


def test_the_figure_of_a_moved_pod_goes_on_until_its_copy_is_measured() -> None:
    web = Pod(name="web", node="a", cpu=300)
    cluster = Cluster(nodes=["a", "b"], pods=[web])
    history = History(UsageSettings(), "prometheus")
    for number in range(3):
        history.add(cluster.sample(START + number), START + number)
        history.usage(cluster.placement(), START + number)
    copy = Pod(name="copy", node="b", cpu=400, started=START + 5, original=web.identity)
    cluster.pods = [copy]
    for number in range(1, 40):
        now = START + number * STEP
        sample = cluster.sample(now, span=120.0)
        # Pods of this source are measured over two minutes, so a young one is not measured at all.
        history.add(Sample(nodes=sample.nodes, pods=sample.pods), now)
        usage = history.usage(cluster.placement(), now)
        is_measured = now - 120 >= copy.started
        assert usage.pod_measured.tolist() == [is_measured]
        assert usage.pod_cpu[0] == (400 if is_measured else 300)


def test_best_guesses_of_pods_that_were_never_measured() -> None:
    siblings = [Pod(name=f"web-{cpu}", node="a", cpu=cpu, owner=7) for cpu in (100.0, 200.0)]
    young = [
        Pod(name="of-the-owner", node="a", owner=7, started=START),
        Pod(name="of-another", node="a", owner=8, asks=30, started=START),
        Pod(name="of-nobody", node="a", owner=-1, asks=40, started=START),
    ]
    cluster = Cluster(nodes=["a"], pods=list(siblings))
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START - 1), START)
    usage = history.usage(placement(["a"], [*siblings, *young]), START)
    assert usage.pod_cpu.tolist() == [100, 200, 150, 30, 40]
    assert usage.pod_memory.tolist() == [100e6, 200e6, 150e6, 30e6, 40e6]
    assert usage.pod_measured.tolist() == [True, True, False, False, False]
    assert usage.node_cpu[0] == 200 + 300 + 150 + 30 + 40


def test_a_sample_holds_a_pod_for_the_part_of_its_span_that_the_pod_was_there() -> None:
    """CPU is averaged over the span; memory is of the moment."""
    history = History(MOMENTS, "prometheus")
    pod = Pod(name="web", node="a", started=START - 30, asks=100)
    nodes = measured({"a": 225}, START, span=120.0)
    history.add(Sample(nodes=nodes), START)
    usage = history.usage(placement(["a"], [pod]), START)
    # A quarter of its 100 is in the figure, so three quarters are added.
    assert usage.node_cpu[0] == pytest.approx(300)
    assert usage.node_memory[0] == 225e6
    # When it goes 60 s later, a sample of that time held half of it.
    history.add(Sample(nodes=measured({"a": 250}, START + 60, span=60.0)), START + 60)
    usage = history.usage(placement(["a"], []), START + 61)
    assert usage.node_cpu[0] == pytest.approx(200)


def test_figures_of_an_earlier_pod_of_the_same_name_are_not_those_of_the_new_one() -> None:
    old = Pod(name="db-0", node="a", cpu=500, uid="first")
    cluster = Cluster(nodes=["a"], pods=[old])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    history.usage(cluster.placement(), START)
    new = Pod(name="db-0", node="a", asks=20, uid="second", started=START + 5)
    history.add(Sample(pods=measured({"ns/db-0": 500}, START + 4)), START + 6)
    usage = history.usage(placement(["a"], [new]), START + 6)
    assert usage.pod_cpu.tolist() == [20]
    assert not usage.pod_measured[0]
    assert usage.node_cpu[0] == 220


def test_a_pod_is_smoothed_and_an_idle_one_is_zero() -> None:
    history = History(UsageSettings(), "metrics-server")
    place = placement(["a"], [Pod(name="web", node="a"), Pod(name="idle", node="a")])
    figures = [100.0, 300.0, 200.0] + [200.0] * 20 + [900.0]
    seen = []
    for number, figure in enumerate(figures):
        now = START + number * STEP
        pods = measured({"ns/web": figure, "ns/idle": 0.0}, now)
        history.add(Sample(nodes=measured({"a": 1000}, now), pods=pods), now)
        seen.append(history.usage(place, now).pod_cpu.tolist())
    web = [known for known, _ in seen[2:]]
    assert web[0] == pytest.approx(200)  # the mean of the first
    assert web[-2] == pytest.approx(200, rel=0.01)
    assert web[-1] == pytest.approx(200 + 700 * -math.expm1(-STEP / 300), rel=0.01)
    assert {idle for _, idle in seen[2:]} == {0.0}


@pytest.mark.parametrize("figure", [math.nan, -1.0, math.inf, 1e308])
def test_an_impossible_figure_of_a_pod_is_none(figure: float) -> None:
    history = History(MOMENTS, "prometheus")
    place = placement(["a"], [Pod(name="web", node="a", asks=70)])
    for now in (START, START + 30):
        pods = measured({"ns/web": figure}, now)
        history.add(Sample(nodes=measured({"a": 500}, now), pods=pods), now)
        usage = history.usage(place, now)
        assert usage.pod_cpu.tolist() == [70]
        assert not usage.pod_measured[0]


def test_a_pod_that_is_no_longer_measured_keeps_its_figure_as_a_guess() -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300)])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    history.usage(cluster.placement(), START)
    for now in (START + 170, START + 190):
        history.add(Sample(nodes=measured({"a": 500}, now)), now)
        usage = history.usage(cluster.placement(), now)
        assert usage.pod_cpu.tolist() == [300]
        assert usage.pod_measured.tolist() == [now - START <= 180]


def test_what_was_last_measured_of_a_pod_is_what_leaves_with_it() -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300, asks=10)])
    history = History(MOMENTS, "metrics-server")
    history.usage(cluster.placement(), START)
    history.add(cluster.sample(START + 1), START + 1)
    cluster.pods = []
    assert history.usage(cluster.placement(), START + 2).node_cpu[0] == 200


def test_a_pod_that_leaves_before_it_started_was_in_no_sample() -> None:
    history = History(MOMENTS, "metrics-server")
    history.add(Sample(nodes=measured({"a": 200}, START)), START)
    never = Pod(name="web", node="a", started=0, asks=70)
    assert history.usage(placement(["a"], [never]), START).node_cpu[0] == 270
    assert history.usage(placement(["a"], []), START + 1).node_cpu[0] == 200


def test_an_older_figure_of_a_pod_does_not_count_after_a_newer_one() -> None:
    place = placement(["a"], [Pod(name="web", node="a")])
    history = History(MOMENTS, "prometheus")
    history.add(Sample(nodes=measured({"a": 500}, START)), START)
    history.usage(place, START)
    for at, figure in ((START, 100.0), (START - 20, 900.0), (START, 900.0)):
        history.add(Sample(pods=measured({"ns/web": figure}, at)), START + 1)
    assert history.usage(place, START + 1).pod_cpu.tolist() == [100]


def test_a_pod_that_ended_and_is_still_listed_has_left() -> None:
    cluster = Cluster(nodes=["a"], pods=[Pod(name="job", node="a", cpu=300)])
    history = History(MOMENTS, "metrics-server")
    history.add(cluster.sample(START), START)
    history.usage(cluster.placement(), START)
    cluster.pods = [Pod(name="job", node="", cpu=300)]
    for now in (START + 1, START + 2):
        assert history.usage(cluster.placement(), now).node_cpu[0] == 200


def test_what_left_may_have_used_less_before_but_never_more_than_all() -> None:
    history = History(UsageSettings(debounce=1, percentile=1), "metrics-server")
    place = placement(["a"], [Pod(name="web", node="a")])
    for now, figure in ((START, 50.0), (START + 30, 2000.0)):
        pods = measured({"ns/web": figure}, now)
        history.add(Sample(nodes=measured({"a": 100 + figure}, now), pods=pods), now)
        history.usage(place, now)
    usage = history.usage(placement(["a"], []), START + 31)
    assert usage.node_cpu.tolist() == usage.node_memory.tolist() == [0]


# ---------------------------------------------------------------------- any order of events

NODES = ["a", "b", "c"]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("sample"), st.floats(0, 20)),
        st.tuples(st.just("move"), st.integers(0, 5), st.sampled_from(NODES)),
        st.tuples(st.just("end"), st.integers(0, 5)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("shuffle"), st.randoms(use_true_random=False)),
        st.tuples(st.just("look")),
    ),
    max_size=25,
)


@given(steps, st.sampled_from([50.0, 90.0, 100.0]), st.sampled_from([0.0, 15.0]))
def test_steady_pods_count_once_and_where_they_are_in_any_order_of_events(
    events: list[tuple[object, ...]], percentile: float, span: float
) -> None:
    """Pods use the same all the time, so every node is known exactly, whatever was moved when."""
    hour = 3600.0
    settings = UsageSettings(
        debounce=1, percentile=percentile, window_seconds=hour, max_age_seconds=hour
    )
    pods: list[Pod | None] = [
        Pod(name=f"pod-{n}", node=NODES[n % 2], cpu=100.0 * (n + 1)) for n in range(6)
    ]
    cluster = Cluster(nodes=NODES, pods=pods)
    history = History(settings, "metrics-server")
    now = START
    history.add(cluster.sample(now, span=span), now)
    history.usage(cluster.placement(), now)
    for number, event in enumerate(events):
        # Time enough for all that moved to be out of the span of the next sample.
        now += 20.0
        apply(cluster, event, number, now, history, span)
        usage = history.usage(cluster.placement(), now)
        assert usage.outage == ""
        expected = [cluster.load(node, staying=True) for node in NODES]
        np.testing.assert_allclose(usage.node_cpu, expected, rtol=1e-5)
        np.testing.assert_allclose(usage.node_memory, np.array(expected) * 1e6, rtol=1e-5)
        assert usage.pod_cpu.tolist() == [pod.cpu if pod else 0 for pod in cluster.pods]


def apply(
    cluster: Cluster,
    event: tuple[object, ...],
    number: int,
    now: float,
    history: History,
    span: float,
) -> None:
    pods = cluster.pods
    match event:
        case ("sample", float(lag)):
            history.add(cluster.sample(now - lag / 20, span=span), now)
        case ("move", int(row), str(target)) if pods[row]:
            pod = pods[row]
            assert pod
            pods[row] = Pod(
                name=f"copy-{number}",
                node=target,
                cpu=pod.cpu,
                started=now,
                original=pod.identity,
            )
        case ("leave", int(row)) if pods[row]:
            pod = pods[row]
            assert pod
            pods[row] = replace(pod, leaving=not pod.leaving)
        case ("end", int(row)):
            pods[row] = None
        case ("shuffle", shuffler):
            shuffler.shuffle(pods)  # type: ignore[attr-defined]
        case _:
            pass
