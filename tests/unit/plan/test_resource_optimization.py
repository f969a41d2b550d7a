"""ResourceOptimization: nodes above their threshold are relieved, or it is said why not."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import Configuration, ResourceOptimizationSettings, Stability
from rescheduler.model import names
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Plan
from rescheduler.plan import Search, plan
from tests.unit.plan.support.clusters_by_load import A, B, C, measured, moves, node, pod, refusals
from tests.unit.plan.support.snapshots import snapshot

CONFIGURATION = Configuration(enabled_strategies=("ResourceOptimization",))


def planned(nodes: list[Node], pods: list[Pod], **settings: Any) -> Plan:  # noqa: ANN401
    return plan(snapshot(nodes, pods), replace(CONFIGURATION, **settings))


def after(decided: Plan) -> dict[str, float]:
    return {each.node: round(each.after["cpu"], 1) for each in decided.nodes}


# ---------------------------------------------------------------------- when it rests


def test_at_the_threshold_it_rests_and_says_so_in_numbers() -> None:
    decided = planned([A, B], [pod("p", "a", 400), pod("q", "a", 400), pod("r", "b", 0, 300)])
    assert decided.moves == ()
    assert decided.summary == (
        "ResourceOptimization: no node is overloaded: the highest requests are cpu 80.0 % on a, "
        "threshold 80 and memory 30.0 % on b, threshold 80"
    )


def test_it_rests_without_nodes() -> None:
    assert planned([], []).summary == "ResourceOptimization: there is no node to look at"


def test_a_node_of_unknown_load_is_neither_relieved_nor_filled() -> None:
    cluster = snapshot([A, B, C], [pod("p", "a", 450), pod("q", "a", 450)])
    used = {"p": 450, "q": 450}
    decided = plan(measured(cluster, {"a": 900, "c": 100}, used), CONFIGURATION)
    assert [move.target for move in decided.moves] == ["c"]
    decided = plan(measured(cluster, {"b": 100, "c": 100}, used), CONFIGURATION)
    assert decided.moves == ()
    assert decided.summary.endswith("; the usage of a is unknown: it is not measured")


def test_when_most_nodes_are_unknown_it_rests() -> None:
    cluster = snapshot([A, B, C], [pod("p", "a", 450), pod("q", "a", 450)])
    decided = plan(measured(cluster, {"a": 900}, {"p": 450, "q": 450}), CONFIGURATION)
    assert decided.moves == ()
    assert "the usage of 1 of 3 nodes is known" in decided.summary


# ---------------------------------------------------------------------- what it moves


def test_an_overloaded_node_is_relieved_down_to_the_target() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(10)]
    decided = planned([A, B, C], [*pods, pod("there", "b", 200)])
    assert after(decided)["a"] <= 70
    assert len(decided.moves) == 3
    assert {move.target for move in decided.moves} <= {"b", "c"}
    assert decided.moves[0].reason == (
        "cpu requests: a 90.0 %, threshold 80; 81.0 % after the move, c then 9.0 %"
    )
    assert decided.summary == (
        "ResourceOptimization: 1 node is above 80 % of cpu or 80 % of memory (requests): a; "
        "3 moves relieve it"
    )


def test_how_far_it_is_relieved_can_be_set() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(10)]
    far = ResourceOptimizationSettings(cpu_target_percent=50.0)
    assert after(planned([A, B, C], pods, resource_optimization=far))["a"] == 45.0
    short = ResourceOptimizationSettings(cpu_target_percent=80.0)
    assert after(planned([A, B, C], pods, resource_optimization=short))["a"] == 72.0


def test_a_low_threshold_is_relieved_to_half_of_it() -> None:
    pods = [pod(f"p{index}", "a", 20) for index in range(8)]
    decided = planned(
        [A, B, C], pods, cpu_threshold_percent=15.0, stability=Stability(margin_points=0)
    )
    assert after(decided)["a"] == 6.0


def test_memory_is_relieved_by_pods_that_use_memory() -> None:
    pods = [pod("cpu", "a", 400, 10), pod("memory", "a", 10, 300), pod("other", "a", 0, 560)]
    decided = planned([A, B], pods)
    assert moves(decided) == [("memory", "a", "b")]
    assert "memory requests: a 87.0 %" in decided.moves[0].reason


def test_one_pod_that_is_enough_goes_rather_than_many_small_ones() -> None:
    pods = [
        pod("large", "a", 400),
        pod("enough", "a", 250),
        *(pod(f"s{n}", "a", 50) for n in range(5)),
    ]
    assert moves(planned([A, B, C], pods)) == [("enough", "a", "b")]


def test_low_priority_goes_first() -> None:
    pods = [pod("better", "a", 450, priority=5), pod("worse", "a", 450)]
    assert moves(planned([A, B], pods)) == [("worse", "a", "b")]


def test_the_least_loaded_node_takes_it() -> None:
    pods = [pod("p", "a", 450), pod("q", "a", 450), pod("r", "b", 200), pod("s", "c", 100)]
    assert moves(planned([A, B, C], pods)) == [("p", "a", "c")]


def test_a_cordoned_node_is_relieved_too() -> None:
    cordoned = node("a", unschedulable=True)
    assert moves(planned([cordoned, B, C], [pod("p", "a", 450), pod("q", "a", 450)])) == [
        ("p", "a", "b")
    ]


def test_no_more_moves_than_are_allowed() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(11)]
    decided = planned([A, B, C], pods, max_reschedule_pods=1)
    assert len(decided.moves) == 1
    assert decided.summary == (
        "ResourceOptimization: 1 node is above 80 % of cpu or 80 % of memory (requests): a; "
        "1 move now, about 3 more to come: about 3 more passes at this pace (at most 1m30s, "
        "at one every 30s)"
    )
    assert decided.reports[0].figures["passesLeft"] == 3
    assert decided.notes == ()


def test_a_large_node_is_relieved_by_small_pods_too() -> None:
    large = [node(name, cpu=96_000) for name in "abc"]
    pods = [pod(f"p{index:03}", "a", 100, spec={}) for index in range(820)]
    roomy = [replace(each, allocatable={**each.allocatable, "pods": 1000}) for each in large]
    decided = planned(roomy, pods, max_reschedule_pods=0)
    assert after(decided)["a"] <= 70
    assert len(decided.moves) == 148
    stuck = [replace(each, owner=None) for each in pods[20:]]
    assert planned(roomy, [*pods[:20], *stuck], max_reschedule_pods=0).moves == (), "too little"


def test_a_group_moves_as_a_whole() -> None:
    group = [pod(name, "a", 200, labels={names.GROUPS[0]: "g"}) for name in ("g1", "g2")]
    decided = planned([A, B], [*group, pod("stays", "a", 500, owner=None)])
    assert sorted(moves(decided)) == [("g1", "a", "b"), ("g2", "a", "b")]


# ---------------------------------------------------------------------- what it leaves alone


def test_a_pod_too_big_for_any_node_is_named_not_moved() -> None:
    decided = planned([A, B, C], [pod("p", "a", 800)], cpu_threshold_percent=70.0)
    assert decided.moves == ()
    (note,) = decided.notes
    assert note == (
        "a stays overloaded (cpu requests 80.0 %, threshold 70): no node can take shop/p and stay "
        "at or below 65 % of cpu and 75 % of memory (the thresholds less stability.margin, "
        "5 points)"
    )
    assert "no node can take it and stay" in refusals(decided)["p"][0]


def test_no_target_comes_near_its_own_threshold() -> None:
    """As in A 71 %, B 69 %, threshold 70: whatever moves, the picture is only mirrored."""
    pods = [pod("p", "a", 50), pod("q", "a", 660), pod("r", "b", 690)]
    decided = planned([A, B], pods, cpu_threshold_percent=70.0)
    assert decided.moves == ()


def test_relief_that_is_hardly_any_is_not_worth_a_move() -> None:
    pods = [pod("small", "a", 20), pod("stays", "a", 900, owner=None)]
    decided = planned([A, B], pods)
    assert decided.moves == ()
    assert decided.notes == (
        "a stays overloaded (cpu requests 92.0 %, threshold 80): shop/stays may not move",
    )


def test_some_relief_is_better_than_none() -> None:
    pods = [pod("large", "a", 100), pod("stays", "a", 850, owner=None)]
    decided = planned([A, B], pods)
    assert moves(decided) == [("large", "a", "b")]
    assert len(decided.notes) == 1


def test_what_no_rule_lets_go_is_named() -> None:
    pods = [pod("picky", "a", 900, spec={"nodeSelector": {"disk": "ssd"}})]
    decided = planned([A, B], pods)
    assert decided.notes == (
        "a stays overloaded (cpu requests 90.0 %, threshold 80): no node takes shop/picky",
    )


def test_both_strategies_in_one_plan_do_not_contradict_each_other() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(10)]
    decided = planned([A, B, C], pods, enabled_strategies=("LoadBalancing", "ResourceOptimization"))
    assert [move.strategy for move in decided.moves] == sorted(
        [move.strategy for move in decided.moves], reverse=True
    )
    assert len({move.pod for move in decided.moves}) == len(decided.moves)
    assert {move.source for move in decided.moves} == {"a"}


# ---------------------------------------------------------------------- whatever the cluster

amounts = st.sampled_from([0, 50, 100, 200, 400])
placed_pods = st.lists(st.tuples(st.sampled_from("abcd"), amounts, amounts), max_size=14)
some_nodes = st.lists(st.sampled_from([500, 1000, 2000]), min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(some_nodes, placed_pods, st.sampled_from([30.0, 60.0, 80.0]))
def test_no_node_is_overloaded_by_it_and_it_comes_to_rest(
    sizes: list[int], placed: list[tuple[str, int, int]], threshold: float
) -> None:
    nodes = [node(name, cpu=size) for name, size in zip("abcd", sizes, strict=False)]
    pods = [pod(f"p{n:02}", *each) for n, each in enumerate(placed)]
    chosen = {"cpu_threshold_percent": threshold, "memory_threshold_percent": threshold}
    for _ in range(20):
        decided = planned(nodes, pods, **chosen)
        taken = {move.target for move in decided.moves}
        for each in decided.nodes:
            if each.node in taken:
                assert max(each.after.values()) <= threshold
        if not decided.moves:
            return
        targets = {name: target for name, _, target in moves(decided)}
        pods = [replace(each, node=targets.get(each.name, each.node)) for each in pods]
    pytest.fail("it does not come to rest")


def test_a_group_that_one_of_its_pods_has_taken_along_is_not_moved_again() -> None:
    group = {"scheduling.x-k8s.io/pod-group": "gang"}
    nodes = [node(name) for name in "abcd"]
    stays = {names.RESCHEDULING: "disabled"}
    pods = [
        pod("g1", "a", 30, labels=group),
        pod("g2", "a", 30, labels=group),
        pod("x", "a", 180),
        *(pod(f"held{n}", "a", 180, labels=stays) for n in range(4)),
    ]
    moved = [name for name, _, _ in moves(planned(nodes, pods))]
    assert sorted(moved) == ["g1", "g2", "x"]


def test_that_time_was_up_is_told_and_not_that_no_pod_could_go() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(10)]
    cluster = snapshot([A, B, C], pods)
    decided = plan(cluster, CONFIGURATION, search=Search(steps=2))
    assert len(decided.moves) == 1
    assert decided.summary.endswith("1 still above it; the search was ended after 2 steps")
    decided = plan(cluster, CONFIGURATION, search=Search(steps=1))
    assert decided.summary.endswith(": a; the search was ended after 1 step")
    assert decided.notes == (
        "a stays overloaded (cpu requests 90.0 %, threshold 80): the search was ended after 1 step",
    )
