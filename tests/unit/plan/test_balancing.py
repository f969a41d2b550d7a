"""LoadBalancing: when it acts, what it picks, and that it comes to rest."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.plan import plan
from tests.unit.plan.clusters import snapshot

CONFIGURATION = Configuration(enabled_strategies=("LoadBalancing",))


def node(name: str, *, cpu: int = 1000, memory: int = 1000, **more: Any) -> Node:  # noqa: ANN401
    allocatable = {"cpu": cpu, "memory": memory, "pods": 110}
    ordinary: dict[str, Any] = {"labels": {}, "taints": (), "ready": True, "unschedulable": False}
    return Node(name=name, allocatable=allocatable, **(ordinary | more))


def pod(name: str, on: str, cpu: int, memory: int = 0, **more: Any) -> Pod:  # noqa: ANN401
    ordinary: dict[str, Any] = {
        "namespace": "shop",
        "phase": "Running",
        "ready": True,
        "terminating": False,
        "labels": {},
        "annotations": {},
        "owner": Owner(kind="ReplicaSet", name="web", uid="rs"),
        "priority": 0,
        "spec": {},
    }
    requests = {"cpu": cpu, "memory": memory, "pods": 1}
    return Pod(name=name, uid=name, node=on, requests=requests, **(ordinary | more))


A, B, C = node("a"), node("b"), node("c")


# ---------------------------------------------------------------------- when it rests


def test_rests_when_the_strategy_is_off() -> None:
    cluster = snapshot([A, B], [pod("p", "a", 300), pod("q", "a", 300)])
    decided = plan(cluster, Configuration(enabled_strategies=("NodeMaintenance",)))
    assert decided.moves == ()
    assert decided.summary == "LoadBalancing is not among enabledStrategies"


def test_rests_up_to_the_threshold_and_says_so_in_numbers() -> None:
    decided = plan(snapshot([A, B], [pod("p", "a", 200), pod("q", "b", 50)]), CONFIGURATION)
    assert decided.moves == ()
    assert decided.summary == (
        "cpu requests: a 20.0 %, b 5.0 %, imbalance 15.0 points, not above the threshold of 20"
    )


@pytest.mark.parametrize(("cpu", "moves"), [(200, 0), (202, 1)])
def test_the_threshold_itself_is_still_balanced(cpu: int, moves: int) -> None:
    pods = [pod("p", "a", cpu // 2), pod("q", "a", cpu // 2)]
    assert len(plan(snapshot([A, B], pods), CONFIGURATION).moves) == moves


@pytest.mark.parametrize(
    "other",
    [
        node("b", ready=False),
        node("b", unschedulable=True),
        node("b", labels={names.CONTROL_PLANE[0]: ""}),
        node("b", cpu=0),
    ],
    ids=["not-ready", "cordoned", "control-plane", "no-cpu"],
)
def test_a_node_that_takes_no_pods_is_neither_source_nor_target(other: Node) -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 300)]
    decided = plan(snapshot([A, other], pods), CONFIGURATION)
    assert decided.summary == "1 of 2 nodes in scope can take pods: 2 are needed"
    for_all = plan(snapshot([A, other, C], pods), CONFIGURATION)
    assert [move.target for move in for_all.moves] == ["c"]
    from_it = [replace(each, node="b") for each in pods]
    assert plan(snapshot([A, other, C], from_it), CONFIGURATION).moves == ()


def test_rests_without_nodes() -> None:
    assert plan(snapshot([], []), CONFIGURATION).moves == ()


def test_pods_that_ended_or_are_ending_are_no_reason_to_move() -> None:
    pods = [pod("p", "a", 500, phase="Succeeded"), pod("q", "a", 400, terminating=True)]
    assert "a 0.0 %" in plan(snapshot([A, B], pods), CONFIGURATION).summary


# ---------------------------------------------------------------------- what it picks


def test_moves_from_the_most_to_the_least_loaded_node() -> None:
    pods = [pod("p", "a", 300), pod("q", "a", 300), pod("r", "b", 300), pod("s", "c", 100)]
    (move,) = plan(snapshot([A, B, C], pods), CONFIGURATION).moves
    assert (move.source, move.target, move.strategy) == ("a", "c", "LoadBalancing")
    assert (move.namespace, move.pod, move.uid) == ("shop", "p", "p")
    assert move.reason == (
        "cpu requests: a 60.0 %, c 10.0 %, imbalance 50.0 points; 10.0 points after the move"
    )


def test_memory_counts_where_its_gap_is_wider() -> None:
    pods = [pod("p", "a", 250, 100), pod("q", "b", 0, 300), pod("r", "b", 0, 200)]
    (move,) = plan(snapshot([A, B], pods), CONFIGURATION).moves
    assert (move.pod, move.source) == ("r", "b")
    assert "memory requests: b 50.0 %, a 10.0 %" in move.reason


def test_load_is_a_share_of_what_a_node_has() -> None:
    small, large = node("small", cpu=1000), node("large", cpu=10_000)
    pods = [pod("p", "small", 300), pod("q", "small", 300), pod("r", "large", 1000)]
    (move,) = plan(snapshot([small, large], pods), CONFIGURATION).moves
    assert (move.source, move.target) == ("small", "large")


def test_low_priority_goes_first() -> None:
    pods = [pod("better", "a", 300, priority=5), pod("worse", "a", 100), pod("x", "b", 10)]
    (move,) = plan(snapshot([A, B], pods), CONFIGURATION).moves
    assert move.pod == "worse"


def test_among_equals_the_one_that_balances_best_goes_first() -> None:
    pods = [pod("small", "a", 100), pod("middle", "a", 200), pod("right", "a", 300)]
    (move,) = plan(snapshot([A, B], pods), CONFIGURATION).moves
    assert move.pod == "right"


def test_a_move_that_only_swaps_the_roles_is_not_made() -> None:
    decided = plan(snapshot([A, B], [pod("p", "a", 500)]), CONFIGURATION)
    assert decided.moves == ()
    (refusal,) = decided.refusals
    assert refusal.reason == "moving it would leave a gap of 50.0 points where there are 50.0"


def test_a_move_that_helps_one_resource_and_harms_the_other_is_not_made() -> None:
    pods = [pod("p", "a", 200, 300), pod("q", "a", 400, 200), pod("r", "b", 300, 400)]
    decided = plan(snapshot([A, B], pods), CONFIGURATION)
    assert "p" not in [move.pod for move in decided.moves]
    reasons = {refusal.pod: refusal.reason for refusal in decided.refusals}
    assert "a gap of 50.0 points where there are 30.0" in reasons["p"]


def test_why_others_stay_is_told() -> None:
    pods = [
        pod("moves", "a", 200),
        pod("alone", "a", 100, owner=None),
        pod("asks-nothing", "a", 0),
        pod("picky", "a", 100, spec={"nodeSelector": {"disk": "ssd"}}),
        pod("done", "a", 500, phase="Succeeded"),
        pod("elsewhere", "b", 0),
    ]
    decided = plan(snapshot([A, B], pods), CONFIGURATION)
    assert [move.pod for move in decided.moves] == ["moves"]
    assert {each.pod: each.reason for each in decided.refusals} == {
        "alone": "standalone pods are not moved yet",
        "asks-nothing": "moving it would leave a gap of 40.0 points where there are 40.0",
        "picky": "its nodeSelector asks for disk=ssd",
    }
    assert decided.summary == "cpu requests: a 40.0 %, b 0.0 %, imbalance 40.0 points"


def test_that_nothing_can_be_moved_is_told() -> None:
    decided = plan(snapshot([A, B], [pod("p", "a", 500, owner=None)]), CONFIGURATION)
    assert decided.summary.endswith("imbalance 50.0 points; no pod can be moved")
    assert len(decided.refusals) == 1


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


@given(some_nodes, placed_pods, st.randoms(use_true_random=False))
def test_the_order_of_what_the_server_sends_makes_no_difference(
    sizes: list[int],
    placed: list[tuple[str, int, int, int]],
    shuffling: Any,  # noqa: ANN401
) -> None:
    nodes, pods = _cluster(sizes, placed)
    first = plan(snapshot(nodes, pods), CONFIGURATION)
    shuffling.shuffle(nodes)
    shuffling.shuffle(pods)
    second = plan(snapshot(nodes, pods), CONFIGURATION)
    assert (first.moves, first.summary) == (second.moves, second.summary)
    assert set(first.refusals) == set(second.refusals)


@given(some_nodes, placed_pods)
def test_no_move_widens_the_gap(sizes: list[int], placed: list[tuple[str, int, int, int]]) -> None:
    for move in plan(snapshot(*_cluster(sizes, placed)), CONFIGURATION).moves:
        gaps = re.search(r"imbalance ([0-9.]+) points; ([0-9.]+) points after", move.reason)
        assert gaps, move.reason
        assert float(gaps[2]) <= float(gaps[1])


@settings(max_examples=60, deadline=None)
@given(some_nodes, placed_pods, st.sampled_from([0.0, 5.0, 20.0]))
def test_it_comes_to_rest(
    sizes: list[int], placed: list[tuple[str, int, int, int]], threshold: float
) -> None:
    nodes, pods = _cluster(sizes, placed)
    configuration = replace(CONFIGURATION, imbalance_threshold_percent=threshold)
    seen: set[tuple[str, ...]] = set()
    while moves := plan(snapshot(nodes, pods), configuration).moves:
        places = tuple(each.node for each in pods)
        assert places not in seen, "pods are moved in circles"
        seen.add(places)
        pods = [
            replace(each, node=moves[0].target) if each.uid == moves[0].uid else each
            for each in pods
        ]
