"""Learned patience: what the hours to come change about balancing, and that nothing else does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import Configuration
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Plan
from rescheduler.model.refusal_kinds import RefusalKind, counted
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import HOURS, Ahead
from rescheduler.plan import plan
from tests.unit.plan.support.clusters_by_load import (
    AS_OF,
    A,
    B,
    C,
    measured,
    moves,
    pod,
    refusals,
)
from tests.unit.plan.support.snapshots import snapshot

BALANCING = Configuration(enabled_strategies=("LoadBalancing",))
RELIEVING = Configuration(enabled_strategies=("ResourceOptimization",))
FALLS = [-1.0] * len(HOURS)
"""Times what it uses now: nothing is left of it within the hour."""


def foretold(cluster: Snapshot, changes: Mapping[str, Sequence[float]], days: int = 3) -> Snapshot:
    """By pod: by how many times what it uses now it will use more, at each moment."""
    usage = cluster.usage
    assert usage is not None
    cpu = np.zeros((len(HOURS), len(cluster.pods)), np.float32)
    for row, name in enumerate(cluster.pods.names):
        if name and (change := changes.get(name.split("/", 1)[1])):
            cpu[:, row] = np.array(change) * usage.pod_cpu[row]
    memory = np.zeros_like(cpu)
    return replace(
        cluster, usage=replace(usage, ahead=Ahead(cpu=cpu, memory=memory, now=AS_OF, days=days))
    )


def seen(nodes: Sequence[Node], pods: Sequence[Pod]) -> Snapshot:
    """Everybody uses what it asks for."""
    used = {
        each.name: float(sum(pod.requests["cpu"] for pod in pods if pod.node == each.name))
        for each in nodes
    }
    return measured(
        snapshot(nodes, pods), used, {each.name: float(each.requests["cpu"]) for each in pods}
    )


def decided(
    cluster: Snapshot,
    changes: Mapping[str, Sequence[float]],
    configuration: Configuration = BALANCING,
    **changed: Any,  # noqa: ANN401
) -> Plan:
    return plan(foretold(cluster, changes), replace(configuration, **changed))


BUSY = seen([A, B], [pod("p", "a", 200), pod("q", "a", 200), pod("r", "b", 100)])
"""a 40 %, b 10 %: too far apart."""


# ---------------------------------------------------------------------- what goes by itself


def test_what_falls_by_itself_is_not_moved_for() -> None:
    assert moves(plan(BUSY, BALANCING)) == [("p", "a", "b")]
    found = decided(BUSY, {"p": FALLS})
    assert found.moves == ()
    (report,) = found.reports
    assert report.summary == (
        "cpu usage: a 40.0 %, b 10.0 %, imbalance 30.0 points; it falls to 10.0 points by 13:00 "
        "UTC by itself, as on the last 3 days, so nothing is moved for it"
    )


def test_what_comes_again_within_the_day_is_no_fall() -> None:
    back = [-1.0] * (len(HOURS) - 4) + [0.0] * 4
    assert moves(decided(BUSY, {"p": back})) == [("p", "a", "b")]


def test_what_falls_late_is_judged_by_the_whole_day() -> None:
    """Until tomorrow morning the nodes would be further apart than they are now."""
    daemon = Owner(kind="DaemonSet", name="q", uid="q")
    pods = [pod("p", "a", 150), pod("q", "a", 250, owner=daemon), pod("r", "b", 100)]
    cluster = seen([A, B], pods)
    late = [0.0, 0.0, 0.0, *[-1.0] * (len(HOURS) - 3)]
    found = decided(cluster, {"q": late})
    assert moves(plan(cluster, BALANCING)) == [("p", "a", "b")]
    assert found.moves == ()
    assert refusals(found)["p"][0] == (
        "moving it would narrow a gap of 30.0 points to 0.0 now, and leave one of 25.0 later: cpu "
        "usage at 21:00 UTC, as on the last 3 days"
    )
    assert counted(found.refusals)[RefusalKind.NO_GAIN.value] == len(found.refusals)


def test_what_is_overloaded_does_not_wait() -> None:
    hot = seen([A, B], [pod("p", "a", 450), pod("q", "a", 450), pod("r", "b", 100)])
    assert moves(decided(hot, {"p": FALLS, "q": FALLS})) == moves(plan(hot, BALANCING)) != []


# ---------------------------------------------------------------------- what comes


QUIET = seen([A, B], [pod("p", "a", 150), pod("q", "a", 150), pod("r", "b", 150)])
"""a 30 %, b 15 %: not too far apart."""
TRIPLES = [2.0] * (len(HOURS) - 1) + [0.0]


def test_who_will_be_overloaded_soon_is_relieved_before() -> None:
    assert moves(plan(QUIET, BALANCING)) == []
    found = decided(QUIET, {"p": TRIPLES, "q": TRIPLES})
    assert [(source, target) for _, source, target in moves(found)] == [("a", "b")]
    (report,) = found.reports
    assert (
        "imbalance 15.0 points, not above the threshold of 20 now, but 75.0 points by 13:00 UTC, "
        "as on the last 3 days, with an overloaded node; 1 move brings"
    ) in report.summary
    assert found.moves[0].reason == (
        "cpu usage at 13:00 UTC, as on the last 3 days: a 90.0 %, b 15.0 %, gap 75.0 points; "
        "15.0 points after the move"
    )


def test_what_rises_far_below_the_threshold_can_wait() -> None:
    assert moves(decided(QUIET, {"p": [1.0] * len(HOURS), "q": [1.0] * len(HOURS)})) == []


def test_what_rises_late_can_wait() -> None:
    late = [0.0] * 2 + [2.0] * (len(HOURS) - 2)
    assert moves(decided(QUIET, {"p": late, "q": late})) == []


def test_a_node_that_will_be_hot_is_no_target() -> None:
    cluster = seen(
        [A, B, C],
        [pod("p", "a", 200), pod("q", "a", 300), pod("r", "b", 50), pod("s", "c", 100)],
    )
    assert moves(plan(cluster, BALANCING))[0][2] == "b"
    found = moves(decided(cluster, {"r": [15.0] * len(HOURS)}))
    assert found
    assert all(target == "c" for _, source, target in found if source == "a")


def test_an_overloaded_node_is_relieved_to_one_that_stays_cool() -> None:
    cluster = seen(
        [A, B, C],
        [pod("p", "a", 450), pod("q", "a", 450), pod("r", "b", 50), pod("s", "c", 100)],
    )
    assert moves(plan(cluster, RELIEVING)) == [("p", "a", "b")]
    assert moves(decided(cluster, {"r": [10.0] * len(HOURS)}, RELIEVING)) == [("p", "a", "c")]


def test_it_is_relieved_all_the_same_where_no_other_takes_it() -> None:
    cluster = seen([A, B], [pod("p", "a", 450), pod("q", "a", 450), pod("r", "b", 50)])
    assert moves(decided(cluster, {"r": [10.0] * len(HOURS)}, RELIEVING)) == [("p", "a", "b")]


def test_one_day_is_told_as_one() -> None:
    found = plan(foretold(BUSY, {"p": FALLS}, days=1), BALANCING)
    assert "as on the day before" in found.reports[0].summary


# ---------------------------------------------------------------------- no harm


POD = st.tuples(st.sampled_from("abc"), st.integers(0, 300))


@settings(max_examples=25, deadline=None)
@given(
    pods=st.lists(POD, min_size=1, max_size=12),
    strategies=st.sampled_from(
        [("LoadBalancing",), ("ResourceOptimization",), ("LoadBalancing", "ResourceOptimization")]
    ),
)
def test_where_nothing_will_change_plans_are_the_same(
    pods: list[tuple[str, int]], strategies: tuple[str, ...]
) -> None:
    made = [pod(f"p{number}", on, cpu) for number, (on, cpu) in enumerate(pods)]
    cluster, configuration = seen([A, B, C], made), Configuration(enabled_strategies=strategies)
    without = plan(cluster, configuration)
    usage = cluster.usage
    assert usage is not None
    assert usage.ahead is None
    assert plan(replace(cluster, usage=replace(usage, ahead=None)), configuration) == without
    # Known, and all stays as it is: what is chosen is the same, pod for pod.
    assert moves(decided(cluster, {}, configuration)) == moves(without)
