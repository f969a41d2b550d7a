"""What more moves would gain: each point is what a plan with that limit gives."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import STRATEGIES, Configuration, Stability
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import Search, plan
from rescheduler.plan.curve import curve, limits
from tests.unit.plan.support import random_workloads
from tests.unit.plan.support.clusters_by_load import node, pod
from tests.unit.plan.support.object_snapshots import snapshot_of
from tests.unit.plan.support.snapshots import snapshot

EAGER = Configuration(
    enabled_strategies=tuple(STRATEGIES),
    imbalance_threshold_percent=5.0,
    cpu_threshold_percent=40.0,
    memory_threshold_percent=40.0,
    max_reschedule_pods=3,
    stability=Stability(margin_points=1.0),
)


def uneven(pods: int = 16, size: int = 50) -> Snapshot:
    """All on one of four nodes."""
    nodes: list[Node] = [node(name) for name in "abcd"]
    made: list[Pod] = [pod(f"p{number:02}", "a", size) for number in range(pods)]
    return snapshot(nodes, made)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, derandomize=True)
def test_a_point_is_what_a_plan_with_that_limit_gives(seed: int) -> None:
    seen = snapshot_of(random_workloads.cluster(seed))
    found = curve(seen, EAGER)
    for point in found.points:
        decided = plan(seen, replace(EAGER, max_reschedule_pods=point.limit))
        assert point.moves == len(decided.moves)
        assert point.asked == sum(each.asked for each in decided.moves)
        assert point.by_strategy == Counter(each.strategy for each in decided.moves)
        assert point.imbalances == {each.resource: each.after for each in decided.imbalances}
        assert found.now.imbalances == {each.resource: each.before for each in decided.imbalances}


def test_more_moves_gain_more_until_there_is_nothing_left_to_gain() -> None:
    found = curve(uneven(), Configuration())
    assert [each.limit for each in found.points] == [1, 2, 5, 10, 20]
    gaps = [each.imbalances["cpu"] for each in (found.now, *found.points)]
    assert gaps[0] == 80.0
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] <= 20.0
    assert found.is_whole
    assert found.points[-1].moves < 20


def test_a_prefix_of_a_larger_plan_would_not_be_true() -> None:
    """Why each limit is planned anew: alone the large pod helps most, but of several that are
    chosen together those of low priority go first.
    """
    small = [pod(f"small-{number}", "a", 100) for number in range(6)]
    seen = snapshot([node("a"), node("b")], [pod("large", "a", 400, priority=10), *small])
    alone, both = (
        plan(seen, replace(EAGER, enabled_strategies=("LoadBalancing",), max_reschedule_pods=limit))
        for limit in (1, 2)
    )
    assert [each.pod for each in alone.moves] == ["large"]
    assert [each.pod for each in both.moves] == ["small-0", "large"]


def test_nodes_above_a_threshold_are_counted() -> None:
    found = curve(uneven(18), Configuration())
    assert [each.overloaded for each in (found.now, *found.points)][:2] == [1, 1]
    assert found.points[-1].overloaded == 0


def test_the_limit_in_force_has_its_place() -> None:
    assert [*limits(10)][:5] == [1, 2, 5, 10, 20]
    assert [*limits(7)][:5] == [1, 2, 5, 7, 10]
    assert [*limits(3000)][-2:] == [2000, 3000]
    assert [*limits(None)][-1] == 1000
    found = curve(uneven(), Configuration(max_reschedule_pods="50%"))
    assert found.chosen == 8
    assert 8 in [each.limit for each in found.points]
    assert curve(uneven(), Configuration(max_reschedule_pods=0)).chosen is None


def test_a_limit_that_is_never_reached_is_asked_for_all_the_same() -> None:
    found = curve(uneven(1), Configuration(max_reschedule_pods=5))
    assert [(each.limit, each.moves) for each in found.points] == [(1, 0), (2, 0), (5, 0)]


def test_each_plan_has_a_search_of_its_own() -> None:
    begun: list[Search] = []

    def search() -> Search:
        begun.append(Search(steps=0))
        return begun[-1]

    found = curve(uneven(), Configuration(), search=search)
    assert len(begun) == len(found.points)
    assert {each.moves for each in found.points} == {0}
