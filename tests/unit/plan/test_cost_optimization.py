"""CostOptimization: fewest and cheapest nodes, by every rule, and whole nodes emptied or none."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from rescheduler.config import Configuration, CostOptimizationSettings, Price, Scope
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Report
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.packing import costs
from rescheduler.plan.strategies import cost_optimization
from tests.unit.plan.support.small_clusters import (
    apart,
    assert_every_step_fits,
    desk,
    moves,
    node,
    pod,
    refusals,
    spread,
)

NO_LIMIT = Configuration(max_reschedule_pods=0, enabled_strategies=("CostOptimization",))


def at(nodes: Iterable[Node], pods: Iterable[Pod], configuration: Configuration = NO_LIMIT) -> Desk:
    found = desk(nodes, pods, configuration)
    found.search = Search(steps=800)
    return found


def decide(on: Desk) -> Report:
    on.strategy = "CostOptimization"
    report = cost_optimization.STRATEGY.decide(on)
    assert report.strategy == "CostOptimization"
    assert report.acted == bool(on.moves)
    assert report.figures["bound"] <= report.figures["after"] <= report.figures["before"]
    assert len({each.row for each in on.moves}) == len(on.moves)
    assert_every_step_fits(on)
    return report


def priced(each: Node, cost: str) -> Node:
    return replace(each, annotations={names.NODE_COST: cost})


def test_a_node_is_emptied_and_takes_no_more_pods() -> None:
    on = at([node("a"), node("b")], [pod("x", "a"), pod("y", "b"), pod("z", "b")])
    report = decide(on)
    assert moves(on) == [("x", "a", "b")]
    assert on.closed.tolist() == [True, False]
    assert on.moves[0].reason == "empties a (saves 24): 1 pod leave it"
    assert report.figures["nodesBefore"] == 2
    assert report.figures["nodesAfter"] == 1
    assert report.figures["before"] == 48
    assert report.figures["after"] == 24
    assert on.steps >= report.figures["steps"] > 0


def test_the_dearer_node_is_emptied() -> None:
    on = at(
        [priced(node("a"), "10"), priced(node("b"), "30.5")],
        [pod("x", "a"), pod("y", "b"), pod("z", "b")],
    )
    assert decide(on).figures["after"] == 10
    assert sorted(moves(on)) == [("y", "b", "a"), ("z", "b", "a")]


def test_nothing_moves_where_everything_is_full() -> None:
    on = at([node("a"), node("b")], [pod("x", "a", cpu=3000), pod("y", "b", cpu=3000)])
    report = decide(on)
    assert moves(on) == []
    assert "no move pays" in report.summary


def test_a_node_is_not_half_emptied_when_moves_are_few() -> None:
    pods = [pod(f"x{number}", "a", cpu=200) for number in range(5)]
    pods += [pod(f"y{number}", "b", cpu=200) for number in range(3)]
    pods += [pod(f"z{number}", "c", cpu=200) for number in range(7)]
    for limit, emptied in ((2, 0), (3, 1), (7, 1), (8, 2)):
        on = at(
            [node("a"), node("b"), node("c")], pods, replace(NO_LIMIT, max_reschedule_pods=limit)
        )
        report = decide(on)
        assert len(on.moves) <= limit
        assert report.figures["nodesBefore"] - report.figures["nodesAfter"] == emptied
        assert bool(on.moves) == bool(emptied)


def test_pods_that_stay_keep_their_node_and_attract_others() -> None:
    bare = replace(pod("bare", "a"), owner=None)
    on = at([node("a"), node("b")], [bare, pod("x", "b"), pod("y", "b")])
    report = decide(on)
    assert sorted(moves(on)) == [("x", "b", "a"), ("y", "b", "a")]
    assert report.figures["nodesAfter"] == 1
    assert "bare" in refusals(on)


def test_daemon_pods_end_with_their_node() -> None:
    daemon = replace(
        pod("agent", "a", cpu=100), owner=Owner(kind="DaemonSet", name="agent", uid="ds")
    )
    on = at([node("a"), node("b")], [daemon, pod("x", "a"), pod("y", "b")])
    assert decide(on).figures["nodesAfter"] == 1


def test_what_runs_on_a_node_that_must_not_be_removed_stays() -> None:
    kept = replace(node("a"), annotations={names.SCALE_DOWN_DISABLED: "true"})
    on = at([kept, node("b")], [pod("x", "a"), pod("y", "b"), pod("z", "b")])
    decide(on)
    assert sorted(moves(on)) == [("y", "b", "a"), ("z", "b", "a")]


def test_replicas_that_keep_apart_are_kept_apart() -> None:
    pods = [
        replace(pod(f"web-{where}", where, cpu=100, affinity=apart("web")), labels={"app": "web"})
        for where in "abc"
    ]
    on = at([node("a"), node("b"), node("c")], [*pods, pod("x", "c", cpu=100)])
    decide(on)
    assert moves(on) == []


def test_replicas_beyond_their_spread_are_repaired() -> None:
    pods = [
        replace(
            pod(
                f"web-{number}",
                "a",
                cpu=100,
                topologySpreadConstraints=spread("web", "kubernetes.io/hostname"),
            ),
            labels={"app": "web"},
        )
        for number in range(2)
    ]
    stays = replace(pod("bare", "b"), owner=None)
    on = at([node("a"), node("b")], [*pods, stays])
    report = decide(on)
    assert [(source, target) for _, source, target in moves(on)] == [("a", "b")]
    assert report.figures["brokenBefore"] == 1
    assert report.figures["brokenAfter"] == 0
    assert on.moves[0].reason == "repairs a, which holds more than it may"


def test_rules_that_the_search_does_not_know_keep_a_node_in_use() -> None:
    """Anti-affinity over zones: the search would put both on one node."""
    pods = [
        pod("x", "a", affinity=apart("y", "zone")),
        pod("y", "b"),
        pod("z", "c"),
    ]
    on = at([node("a", zone="1"), node("b", zone="2"), node("c", zone="2")], pods)
    decide(on)
    assert [name for name, _, _ in moves(on)] in (["y"], ["z"])


def test_nodes_out_of_scope_neither_give_nor_take() -> None:
    configuration = replace(NO_LIMIT, scope=Scope(node_selector=selectors.parse("pool=ours")))
    on = at(
        [node("a", pool="ours"), node("b", pool="ours"), node("c")],
        [pod("x", "a"), pod("y", "b"), pod("z", "c")],
        configuration,
    )
    report = decide(on)
    assert report.figures["nodesBefore"] == 2
    assert {target for _, _, target in moves(on)} <= {"a", "b"}
    assert len(on.moves) == 1


def test_no_target_is_lifted_above_the_thresholds() -> None:
    pods = [pod("x", "a", cpu=1500), pod("y", "b", cpu=2000)]
    on = at(
        [node("a"), node("b")], pods, replace(NO_LIMIT, enabled_strategies=("CostOptimization",))
    )
    decide(on)
    assert len(on.moves) == 1
    both = replace(NO_LIMIT, enabled_strategies=("CostOptimization", "ResourceOptimization"))
    on = at([node("a"), node("b")], pods, both)
    decide(on)
    assert moves(on) == []


def test_the_same_steps_give_the_same_moves() -> None:
    nodes = [node(f"n{number}") for number in range(8)]
    pods = [
        pod(f"p{number}", f"n{number % 8}", cpu=300 + 100 * (number % 3)) for number in range(24)
    ]
    one, other = at(nodes, pods), at(nodes, pods)
    decide(one)
    decide(other)
    assert moves(one) == moves(other)


def test_when_time_is_up_at_once_the_plan_is_valid_and_repairs() -> None:
    pods = [pod("x", "a", cpu=3000), pod("y", "a", cpu=3000), pod("z", "b", cpu=500)]
    on = at([node("a"), node("b")], pods)
    on.search = Search(stop=lambda: True)
    report = decide(on)
    assert report.figures["steps"] == 0
    assert report.figures["brokenAfter"] == 0


def test_no_pod_may_move() -> None:
    on = at([node("a")], [replace(pod("bare", "a"), owner=None)])
    report = cost_optimization.STRATEGY.decide(on)
    assert report.summary == "no pod may move"
    assert not report.acted


# ---------------------------------------------------------------------- what a node costs


@pytest.mark.parametrize(
    ("told", "cost"), [("384", 384.0), ("0.5", 0.5), ("1e2", 100.0), ("0", 0.0)]
)
def test_the_annotation_says_what_a_node_costs(told: str, cost: float) -> None:
    on = at([priced(node("a"), told)], [])
    assert costs.of_nodes(on).tolist() == [cost]


@pytest.mark.parametrize("told", ["", "dear", "-1", "nan", "inf", "12 EUR"])
def test_an_annotation_that_is_no_cost_is_noted_and_not_used(told: str) -> None:
    on = at([priced(node("a"), told)], [])
    assert costs.of_nodes(on).tolist() == [24.0]
    assert [each for each in on.notes if "rescheduler.io/node-cost" in each and "a (" in each]


def test_the_first_price_that_matches_counts() -> None:
    prices = tuple(
        Price(node_selector=selectors.parse(selector), price=price)
        for selector, price in (("size=big", 7.0), ("size", 3.0))
    )
    on = at(
        [
            node("a", size="big"),
            node("b", size="small"),
            node("c"),
            priced(node("d", size="big"), "1"),
        ],
        [],
        Configuration(cost_optimization=CostOptimizationSettings(prices=prices)),
    )
    assert costs.of_nodes(on).tolist() == [7.0, 3.0, 24.0, 1.0]


def test_graphics_processors_are_dear() -> None:
    each = node("a")
    with_gpus = replace(each, allocatable={**each.allocatable, "nvidia.com/gpu": 4})
    assert costs.of_nodes(at([with_gpus], [])).tolist() == [64.0]
