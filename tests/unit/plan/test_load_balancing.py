"""LoadBalancing: when it acts, what it picks, and that it comes to rest."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import Configuration, Scope, Stability
from rescheduler.model import names
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Plan
from rescheduler.plan import Search, plan
from tests.unit.plan.support.clusters_by_load import (
    AS_OF,
    A,
    B,
    C,
    measured,
    moves,
    node,
    pod,
    refusals,
)
from tests.unit.plan.support.snapshots import snapshot

CONFIGURATION = Configuration(enabled_strategies=("LoadBalancing",))


def planned(nodes: list[Node], pods: list[Pod], **settings: Any) -> Plan:  # noqa: ANN401
    return plan(snapshot(nodes, pods), replace(CONFIGURATION, **settings))


# ---------------------------------------------------------------------- when it rests


def test_it_does_nothing_when_it_is_off() -> None:
    decided = planned(
        [A, B], [pod("p", "a", 300), pod("q", "a", 300)], enabled_strategies=("NodeMaintenance",)
    )
    assert decided.moves == ()


def test_rests_up_to_the_threshold_and_says_so_in_numbers() -> None:
    decided = planned([A, B], [pod("p", "a", 200), pod("q", "b", 50)])
    assert decided.moves == ()
    (report,) = decided.reports
    assert not report.acted
    assert report.summary == (
        "cpu requests: a 20.0 %, b 5.0 %, imbalance 15.0 points, not above the threshold of 20"
    )
    assert report.figures == {"cpuBefore": 15.0, "memoryBefore": 0.0, "threshold": 20.0}


@pytest.mark.parametrize(("cpu", "count"), [(200, 0), (202, 1)])
def test_the_threshold_itself_is_still_balanced(cpu: int, count: int) -> None:
    pods = [pod("p", "a", cpu // 2), pod("q", "a", cpu // 2)]
    assert len(planned([A, B], pods).moves) == count


@pytest.mark.parametrize(
    "other",
    [
        node("b", ready=False),
        node("b", unschedulable=True),
        node("b", labels={names.CONTROL_PLANE[0]: ""}),
        node("b", labels={names.MAINTENANCE: "true"}),
        node("b", cpu=0),
    ],
    ids=["not-ready", "cordoned", "control-plane", "maintenance", "no-cpu"],
)
def test_a_node_that_takes_no_pods_is_neither_source_nor_target(other: Node) -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 300)]
    decided = planned([A, other], pods)
    assert decided.summary == (
        "LoadBalancing: 1 of 2 nodes in scope can take pods and have known requests: 2 are needed"
    )
    assert [move.target for move in planned([A, other, C], pods).moves] == ["c"]
    assert planned([A, other, C], [replace(each, node="b") for each in pods]).moves == ()


def test_rests_without_nodes() -> None:
    assert planned([], []).moves == ()


def test_pods_that_ended_or_are_ending_are_no_reason_to_move() -> None:
    pods = [pod("p", "a", 500, phase="Succeeded"), pod("q", "a", 400, terminating=True)]
    assert "a 0.0 %" in planned([A, B], pods).summary


# ---------------------------------------------------------------------- what it picks


def test_moves_from_the_most_to_the_least_loaded_node() -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 300), pod("r", "b", 300), pod("s", "c", 100)]
    decided = planned([A, B, C], pods)
    assert moves(decided) == [("p", "a", "c")]
    (move,) = decided.moves
    assert (move.namespace, move.uid, move.strategy) == ("shop", "p", "LoadBalancing")
    assert move.reason == (
        "cpu requests: a 60.0 %, c 10.0 %, gap 50.0 points; 10.0 points after the move"
    )
    assert decided.summary.endswith(
        "above the threshold of 20; "
        "1 move brings the imbalance of cpu to 10.0, memory to 0.0 points"
    )


def test_memory_counts_where_its_gap_is_wider() -> None:
    pods = [pod("p", "a", 250, 100), pod("q", "b", 0, 300), pod("r", "b", 0, 200)]
    (move,) = planned([A, B], pods).moves
    assert (move.pod, move.source) == ("r", "b")
    assert "memory requests: b 50.0 %, a 10.0 %" in move.reason


def test_load_is_a_share_of_what_a_node_has() -> None:
    small, large = node("small", cpu=1000), node("large", cpu=10_000)
    pods = [pod("p", "small", 300), pod("q", "small", 300), pod("r", "large", 1000)]
    assert {each[1:] for each in moves(planned([small, large], pods))} == {("small", "large")}


def test_the_whole_spread_is_lowered_not_only_the_ends() -> None:
    nodes = [node(name) for name in "abcdef"]
    pods = [pod(f"{name}{index}", name, 100) for name in "abc" for index in range(6)]
    decided = planned(nodes, pods)
    after = {each.node: each.after["cpu"] for each in decided.nodes}
    assert decided.imbalances[0].before == pytest.approx(60)
    assert set(np.round(list(after.values()))) == {30.0}
    assert len(decided.moves) == 9


def test_no_more_moves_than_are_allowed() -> None:
    pods = [pod(f"p{index}", "a", 90) for index in range(10)]
    assert len(planned([A, B, C], pods, max_reschedule_pods=2).moves) == 2
    unlimited = planned([A, B, C], pods, max_reschedule_pods=0)
    assert len(unlimited.moves) == 6


def test_no_move_is_made_that_the_imbalance_does_not_need() -> None:
    """One large pod does it; the small ones would make it a little better still."""
    pods = [pod("large", "a", 250), *(pod(f"s{index}", "a", 30) for index in range(10))]
    assert moves(planned([A, B], [*pods, pod("there", "b", 40)])) == [("large", "a", "b")]


def test_small_pods_move_where_there_are_only_small_ones() -> None:
    """Each gains less than the margin: what counts is that the gap is wider than that."""
    pods = [pod(f"p{index:02d}", "a", 8) for index in range(90)]
    decided = planned([A, B], pods)
    assert len(decided.moves) == 10
    assert {move.target for move in decided.moves} == {"b"}


def large_nodes(*names_: str) -> list[Node]:
    """Of 96 cores: a pod of 100m is a tenth of a point."""
    return [
        replace(node(name), allocatable={"cpu": 96_000, "memory": 96_000, "pods": 1000})
        for name in names_
    ]


def test_small_pods_move_on_large_nodes() -> None:
    pods = [pod(f"p{index:03d}", "a", 100) for index in range(300)]
    decided = planned(large_nodes("a", "b"), pods, max_reschedule_pods=0)
    assert 19 < decided.imbalances[0].after <= 20
    assert len(decided.moves) <= 60


def test_few_large_pods_move_before_many_small_ones() -> None:
    small = [pod(f"s{index:03d}", "a", 100) for index in range(300)]
    large = [pod(f"l{index}", "a", 2500) for index in range(3)]
    decided = planned(large_nodes("a", "b"), [*small, *large])
    assert {move.pod for move in decided.moves} >= {"l0", "l1", "l2"}


def test_how_many_passes_are_left_is_told() -> None:
    pods = [pod(f"p{index:03d}", "a", 100) for index in range(900)]
    decided = planned(large_nodes("a", "b"), pods)
    assert len(decided.moves) == 10
    (report,) = decided.reports
    assert report.figures["passesLeft"] == 35
    assert report.summary.endswith(
        "; about 35 more passes at this pace (at most 18m, at one every 30s); raise "
        "maxReschedulePods, for example to 5%"
    )
    slow = planned(large_nodes("a", "b"), pods, max_reschedule_pods="5%")
    assert len(slow.moves) == 45
    assert "about 7 more passes at this pace (at most 3m30s, at one every 30s)" in slow.summary
    assert "raise" not in slow.summary


@pytest.mark.parametrize(
    ("limit", "namespaces", "moved"),
    [("1%", None, 1), ("4%", None, 2), ("10%", None, 3), ("10%", ("shop",), 3), ("10%", ("x",), 0)],
)
def test_the_limit_may_be_a_share_of_the_pods_in_scope(
    limit: str, namespaces: tuple[str, ...] | None, moved: int
) -> None:
    """Of 30, rounded up."""
    pods = [pod(f"p{index:02d}", "a", 30) for index in range(30)]
    scope = Scope(namespaces=namespaces)
    decided = planned([A, B], pods, max_reschedule_pods=limit, scope=scope)
    assert len(decided.moves) == moved


# ---------------------------------------------------------------------- after a pass

WEB = Owner(kind="ReplicaSet", name="web", uid="web")


def web(count: int, on: str, name: str = "web", **more: Any) -> list[Pod]:  # noqa: ANN401
    """Pods that are alike."""
    return [pod(f"{name}-{index:02d}", on, 30, owner=WEB, **more) for index in range(count)]


MOVED_LATELY = {names.MIGRATED_FROM: "b", names.MIGRATION_TIME: "2026-03-01T11:59:00Z"}


@pytest.mark.parametrize(
    "held", [{"terminating": True}, {"annotations": MOVED_LATELY}], ids=["ending", "resting"]
)
@pytest.mark.parametrize("idle", [0, 200], ids=["small", "large"])
def test_who_has_to_stay_keeps_nobody_like_it_from_moving(held: dict[str, Any], idle: int) -> None:
    """They come first by name, and are more than a pass may move."""
    pods = [*web(12, "a", "held", **held), *web(15, "a")]
    # Where there are many, only some are looked at.
    others = [pod(f"idle-{index:03d}", "b", 0) for index in range(idle)]
    roomy = replace(B, allocatable={**B.allocatable, "pods": 1000})
    cluster = replace(snapshot([A, roomy], [*pods, *others]), taken_at=AS_OF)
    decided = plan(cluster, CONFIGURATION)
    assert {move.pod for move in decided.moves} >= {"web-00", "web-01", "web-02"}


def test_originals_that_are_ending_are_as_good_as_gone() -> None:
    """Of 24 the copies of 8 serve elsewhere: what is planned then is what would be without them."""
    stay, copies = web(16, "a", "stays"), web(8, "b", "copy")
    ending = web(8, "a", "ending", terminating=True)
    decided = planned([A, B], [*stay, *copies, *ending])
    assert decided.imbalances[0].before == pytest.approx(24)
    assert decided.moves
    assert moves(decided) == moves(planned([A, B], [*stay, *copies]))


def test_originals_with_a_copy_on_its_way_are_as_good_as_gone() -> None:
    stay, leave = web(16, "a", "stays"), web(8, "a", "leaves")
    copies = [
        replace(
            each,
            name=f"{each.name}-copy",
            uid=f"{each.uid}-copy",
            node="b",
            owner=None,
            annotations={names.ORIGINAL_POD: each.uid, names.ORIGINAL_POD_NAME: each.name},
            labels={names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS},
        )
        for each in leave
    ]
    decided = planned([A, B], [*stay, *leave, *copies])
    assert decided.imbalances[0].before == pytest.approx(24)
    assert decided.moves
    assert moves(decided) == moves(planned([A, B], [*stay, *web(8, "b", "copy")]))


# ---------------------------------------------------------------------- priority


def test_low_priority_goes_first() -> None:
    pods = [pod("better", "a", 200, priority=5), pod("worse", "a", 200, priority=-1)]
    assert moves(planned([A, B], pods)) == [("worse", "a", "b")]


def test_low_priority_goes_first_if_it_helps_half_as_much() -> None:
    pods = [pod("better", "a", 200, priority=5), pod("worse", "a", 150), pod("stays", "a", 50)]
    assert moves(planned([A, B], pods)) == [("worse", "a", "b")]


def test_high_priority_goes_if_no_other_pod_could_do_it() -> None:
    pods = [
        pod("better", "a", 200, priority=5),
        pod("worse", "a", 20),
        pod("stays", "a", 180, owner=None),
    ]
    assert moves(planned([A, B], pods)) == [("better", "a", "b")]


# ---------------------------------------------------------------------- what is not worth it


def test_two_equal_nodes_and_one_large_pod_stay_as_they_are() -> None:
    decided = planned([A, B], [pod("p", "a", 400)])
    assert decided.moves == ()
    assert decided.summary.endswith("no move would last and lower it")
    assert refusals(decided) == {
        "p": ("moving it would leave a gap of 40.0 points where there are 40.0",)
    }


def test_a_move_has_to_narrow_the_gap_even_if_it_is_measured_wrongly_by_the_margin() -> None:
    pods = [pod("p", "a", 160), pod("q", "b", 50)]
    wide, narrow = pod("r", "a", 110, owner=None), pod("r", "a", 95, owner=None)
    assert moves(planned([A, B], [*pods, wide])) == [("p", "a", "b")]
    refused = planned([A, B], [*pods, narrow])
    assert refused.moves == ()
    assert "narrow a gap of 20.5 points to 11.5: not enough" in refusals(refused)["p"][0]
    without = planned([A, B], [*pods, narrow], stability=Stability(margin_points=0))
    assert ("p", "a", "b") in moves(without)


def test_a_move_has_to_bring_what_it_costs() -> None:
    """It weighs 16 points on each of its nodes, of which 10 are beyond the balance: 12 of 32."""
    pods = [pod("p", "a", 160), pod("r", "a", 110, owner=None), pod("q", "b", 50)]
    assert planned([A, B], pods, stability=Stability(move_cost_percent=37)).moves
    assert not planned([A, B], pods, stability=Stability(move_cost_percent=38)).moves


def test_a_move_that_helps_one_resource_and_harms_the_other_is_not_made() -> None:
    pods = [pod("p", "a", 200, 300), pod("q", "a", 400, 200), pod("r", "b", 300, 400)]
    decided = planned([A, B], pods)
    assert "p" not in [move.pod for move in decided.moves]
    assert "a gap of 50.0 points where there are 30.0" in refusals(decided)["p"][0]


def test_why_others_stay_is_told() -> None:
    pods = [
        pod("moves", "a", 200),
        pod("alone", "a", 100, owner=None),
        pod("asks-nothing", "a", 0),
        pod("picky", "a", 100, spec={"nodeSelector": {"disk": "ssd"}}),
        pod("elsewhere", "b", 0),
    ]
    decided = planned([A, B], pods)
    assert moves(decided) == [("moves", "a", "b")]
    assert refusals(decided) == {
        "alone": ("it is a bare pod, and pods.barePods is WhenAsked",),
        "asks-nothing": ("it uses nothing that counts: no load would change",),
        "picky": ("no node takes it: its nodeSelector asks for disk=ssd (1 node)",),
    }


# ---------------------------------------------------------------------- beside other strategies


def test_no_target_is_lifted_to_where_it_would_be_relieved() -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 480), pod("r", "b", 500)]
    alone = planned([A, B], pods)
    assert moves(alone) == []
    tall = [pod("p", "a", 100), pod("q", "a", 690), pod("r", "b", 540)]
    both = ("LoadBalancing", "ResourceOptimization")
    assert moves(planned([A, B], tall, enabled_strategies=both)) == [("p", "a", "b")]
    low = planned([A, B], tall, enabled_strategies=both, cpu_threshold_percent=64.0)
    assert all(each.after["cpu"] <= 64 for each in low.nodes if each.node == "b")


def test_empty_nodes_are_not_filled_again_where_nodes_are_emptied_for_their_cost() -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 300), pod("r", "b", 300)]
    assert moves(planned([A, B, C], pods)) == [("p", "a", "c")]
    daemon = pod("d", "c", 10, owner=Owner(kind="DaemonSet", name="agent", uid="agent"))
    decided = planned(
        [A, B, C],
        [*pods, daemon],
        enabled_strategies=("CostOptimization", "LoadBalancing"),
        max_reschedule_pods=1,
    )
    assert "c" not in [move.target for move in decided.moves]


# ---------------------------------------------------------------------- groups


def _group(*names_: str, on: str, cpu: int) -> list[Pod]:
    return [pod(name, on, cpu, labels={names.GROUPS[0]: "training"}) for name in names_]


def test_a_group_moves_as_a_whole_if_that_helps() -> None:
    pods = [*_group("g1", "g2", on="a", cpu=150), pod("stays", "a", 300, owner=None)]
    assert sorted(moves(planned([A, B], pods))) == [("g1", "a", "b"), ("g2", "a", "b")]


def test_a_group_that_is_too_large_for_the_pass_stays() -> None:
    pods = [*_group("g1", "g2", on="a", cpu=150), pod("stays", "a", 300, owner=None)]
    decided = planned([A, B], pods, max_reschedule_pods=1)
    assert decided.moves == ()
    assert "its group moves as a whole: 2 pods" in refusals(decided)["g1"][0]


def test_a_group_whose_move_would_only_swap_the_roles_stays() -> None:
    decided = planned([A, B], _group("g1", "g2", on="a", cpu=150))
    assert decided.moves == ()
    assert refusals(decided)["g1"] == ("moving its group of 2 would gain 0.0 points",)


# ---------------------------------------------------------------------- by usage


def on_a(*names_: str, cpu: int = 100) -> list[Pod]:
    return [pod(name, "a", cpu) for name in names_]


def test_it_acts_on_usage_where_requests_are_in_balance() -> None:
    pods = [*on_a("p", "q"), pod("r", "b", 200)]
    assert planned([A, B], pods).moves == ()
    hot = measured(snapshot([A, B], pods), {"a": 700, "b": 100}, {"p": 300, "q": 300})
    (move,) = plan(hot, CONFIGURATION).moves
    assert (move.source, move.target) == ("a", "b")
    assert move.reason == (
        "cpu usage: a 70.0 %, b 10.0 %, gap 60.0 points; 0.0 points after the move"
    )


def test_it_rests_where_only_requests_are_out_of_balance() -> None:
    cluster = snapshot([A, B], on_a("p", "q", cpu=400))
    assert plan(cluster, CONFIGURATION).moves
    calm = plan(measured(cluster, {"a": 100, "b": 100}, {}), CONFIGURATION)
    assert calm.moves == ()
    assert calm.summary.startswith("LoadBalancing: cpu usage: ")


def test_what_a_pod_uses_decides_which_one_goes() -> None:
    pods = on_a("asks-much", cpu=300) + on_a("uses-much", cpu=10)
    used = {"asks-much": 10, "uses-much": 300}
    cluster = measured(snapshot([A, B], pods), {"a": 700, "b": 100}, used)
    assert moves(plan(cluster, CONFIGURATION)) == [("uses-much", "a", "b")]


def test_what_does_not_fit_by_requests_is_refused_however_idle_the_node_is() -> None:
    pods = [*on_a("p", "q", cpu=300), pod("reserves", "b", 800)]
    cluster = measured(snapshot([A, B], pods), {"a": 900, "b": 10}, {"p": 400, "q": 400})
    decided = plan(cluster, CONFIGURATION)
    assert decided.moves == ()
    assert "not enough cpu: requests 300m, at most 200m free" in refusals(decided)["p"][0]


def test_an_unknown_node_is_no_target_and_is_named() -> None:
    cluster = snapshot([A, B, C], on_a("p", "q"))
    decided = plan(measured(cluster, {"a": 700, "b": 300}, {"p": 200, "q": 200}), CONFIGURATION)
    assert [move.target for move in decided.moves] == ["b"]
    assert decided.summary.endswith("; the usage of c is unknown: it is not measured")


def test_an_unknown_node_is_no_source_and_is_named() -> None:
    cluster = snapshot([A, B, C], on_a("p", "q", cpu=400))
    decided = plan(measured(cluster, {"b": 100, "c": 100}, {"p": 400, "q": 400}), CONFIGURATION)
    assert decided.moves == ()
    assert "not above the threshold" in decided.summary
    assert decided.summary.endswith("; the usage of a is unknown: it is not measured")


def test_one_known_node_of_three_is_not_enough() -> None:
    decided = plan(measured(snapshot([A, B, C], on_a("p")), {"a": 900}, {"p": 300}), CONFIGURATION)
    assert decided.moves == ()
    assert decided.summary.startswith(
        "LoadBalancing: the usage of 1 of 3 nodes is known: half of them are needed; the usage of b"
    )


def test_in_an_outage_it_rests_and_says_so() -> None:
    cluster = snapshot([A, B], on_a("p", "q", cpu=400))
    decided = plan(measured(cluster, {}, {}, outage="nodes are not seen"), CONFIGURATION)
    assert (decided.moves, decided.refusals) == ((), ())
    assert decided.summary == "LoadBalancing: usage is unknown: nodes are not seen"


# ---------------------------------------------------------------------- whatever the cluster

amounts = st.sampled_from([0, 50, 100, 200, 400])
placed_pods = st.lists(
    st.tuples(st.sampled_from("abcd"), amounts, amounts, st.sampled_from([0, 0, 5])), max_size=12
)
some_nodes = st.lists(st.sampled_from([500, 1000, 2000]), min_size=1, max_size=4)


def _cluster(
    sizes: list[int], placed: list[tuple[str, int, int, int]]
) -> tuple[list[Node], list[Pod]]:
    nodes = [node(name, cpu=size) for name, size in zip("abcd", sizes, strict=False)]
    pods = [
        pod(f"p{index:02d}", on, cpu, memory, priority=priority)
        for index, (on, cpu, memory, priority) in enumerate(placed)
    ]
    return nodes, pods


@settings(deadline=None, max_examples=50)
@given(some_nodes, placed_pods, st.randoms(use_true_random=False))
def test_the_order_of_what_the_server_sends_makes_no_difference(
    sizes: list[int],
    placed: list[tuple[str, int, int, int]],
    shuffling: Any,  # noqa: ANN401
) -> None:
    nodes, pods = _cluster(sizes, placed)
    first = planned(nodes, pods)
    shuffling.shuffle(nodes)
    shuffling.shuffle(pods)
    second = planned(nodes, pods)
    assert (first.moves, first.summary) == (second.moves, second.summary)
    assert set(first.refusals) == set(second.refusals)


@settings(deadline=None, max_examples=50)
@given(some_nodes, placed_pods)
def test_every_move_narrows_the_gap_between_its_nodes_and_all_of_them_the_imbalance(
    sizes: list[int], placed: list[tuple[str, int, int, int]]
) -> None:
    decided = planned(*_cluster(sizes, placed))
    for move in decided.moves:
        gaps = re.search(r"gap ([0-9.]+) points; ([0-9.]+) points after", move.reason)
        assert gaps, move.reason
        assert float(gaps[2]) <= float(gaps[1])
    if decided.moves:
        widest = max(each.before for each in decided.imbalances)
        assert max(each.after for each in decided.imbalances) <= widest


@settings(max_examples=30, deadline=None)
@given(some_nodes, placed_pods, st.sampled_from([0.0, 5.0, 20.0]))
def test_it_comes_to_rest(
    sizes: list[int], placed: list[tuple[str, int, int, int]], threshold: float
) -> None:
    """Also without anything that remembers what was moved."""
    nodes, pods = _cluster(sizes, placed)
    seen: set[tuple[str, ...]] = set()
    while decided := moves(planned(nodes, pods, imbalance_threshold_percent=threshold)):
        places = tuple(each.node for each in pods)
        assert places not in seen, "pods are moved in circles"
        seen.add(places)
        targets = {name: target for name, _, target in decided}
        pods = [replace(each, node=targets.get(each.name, each.node)) for each in pods]


def test_the_search_is_counted_in_steps_and_ends_when_told() -> None:
    nodes = [node(name) for name in "abcdef"]
    pods = [
        pod(f"{name}{index}", name, 37 + 7 * index, 91 - 6 * index)
        for name in "abc"
        for index in range(8)
    ]
    cluster = snapshot(nodes, pods)
    full = plan(cluster, CONFIGURATION)
    assert full.steps > 10
    again = plan(cluster, CONFIGURATION, search=Search(steps=full.steps))
    assert again.moves == full.moves
    short = plan(cluster, CONFIGURATION, search=Search(steps=3))
    assert short.steps <= 3
    stopped = plan(cluster, CONFIGURATION, search=Search(stop=lambda: True))
    assert stopped.moves == ()
