"""Nodes that an autoscaler would remove soon: which they are, and that nobody fills them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.config import Configuration, Migration, NodeAutoscaler
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Plan
from rescheduler.plan import plan
from rescheduler.plan.desk import Desk
from rescheduler.plan.explaining import explain, row_of
from tests.unit.plan.support.clusters_by_load import measured, moves, node, pod, refusals
from tests.unit.plan.support.snapshots import snapshot

KARPENTER = {names.NODE_POOL: "general"}
LEFT_ALONE = "is left to the autoscaler of nodes, which may remove it soon (nodeAutoscaler)"
MANY_LEFT_ALONE = LEFT_ALONE.replace("is", "are", 1).replace("it", "them")
PACKED = "is packed by its autoscaler, and not evened out (nodeAutoscaler.packedNodes)"
MANY_PACKED = PACKED.replace("is", "are", 1).replace("its", "their")
EVENED_OUT = NodeAutoscaler(packed_nodes=selectors.NOTHING)
"""Nodes of karpenter as others."""
EVERY_NODE = replace(EVENED_OUT, node_selector=selectors.EVERYTHING)


def of_karpenter(name: str, **more: Any) -> Node:  # noqa: ANN401
    return node(name, labels=KARPENTER, **more)


def on(name: str, times: int, cpu: int = 100) -> list[Pod]:
    return [pod(f"{name}-{number}", name, cpu) for number in range(times)]


def spare(
    nodes: list[Node], pods: list[Pod], node_autoscaler: NodeAutoscaler = EVENED_OUT
) -> list[str]:
    desk = Desk(snapshot(nodes, pods), Configuration(node_autoscaler=node_autoscaler))
    return [each.name for each, is_spare in zip(desk.nodes, desk.spare, strict=True) if is_spare]


A, B, C = (of_karpenter(name) for name in "abc")
LOADED = [*on("a", 8), *on("b", 6), *on("c", 3)]


# ---------------------------------------------------------------------- which they are


def test_those_of_karpenter_that_are_used_little() -> None:
    assert spare([A, B, C], LOADED) == ["c"]
    assert spare([A, B, node("c")], LOADED) == []


def test_those_that_are_declared() -> None:
    unlabelled = [node(name) for name in "abc"]
    assert spare(unlabelled, LOADED, node_autoscaler=EVERY_NODE) == ["c"]
    most = replace(EVERY_NODE, scale_down_utilization_percent=60.0)
    assert spare(unlabelled, LOADED, node_autoscaler=most) == ["b", "c"]
    none = replace(EVERY_NODE, scale_down_utilization_percent=0.0)
    assert spare([*unlabelled, node("d")], LOADED, node_autoscaler=none) == []


def test_the_resource_counts_that_more_is_asked_of() -> None:
    heavy = pod("heavy", "c", 0, 600)
    assert spare([A, B, C], [*LOADED, heavy]) == []


def test_none_whose_pods_have_no_room_elsewhere() -> None:
    assert spare([A, B, C], [*on("a", 9), *on("b", 9), *on("c", 2)]) == ["c"]
    assert spare([A, B, C], [*on("a", 9), *on("b", 9), *on("c", 3)]) == []
    closed = replace(B, unschedulable=True)
    assert spare([A, closed, C], [*on("a", 9), *on("c", 2)]) == []


def test_pods_that_are_larger_than_what_is_free_anywhere_keep_their_node() -> None:
    """Though the sum of what is free would do."""
    assert spare([A, B, C], [*on("a", 8), *on("b", 8), pod("large", "c", 300)]) == []


@pytest.mark.parametrize(("others", "has_room"), [(60, True), (54, False)])
def test_every_other_node_counts(others: int, *, has_room: bool) -> None:
    """Each has room for one of the 55 pods."""
    full = [of_karpenter(f"n{number}") for number in range(others)]
    pods = [pod(f"of-{each.name}", each.name, 992) for each in full]
    assert spare([*full, C], [*pods, *on("c", 55, cpu=8)]) == (["c"] if has_room else [])


def test_what_ends_with_the_node_needs_no_room() -> None:
    daemon = pod("d", "c", 300, owner=Owner(kind="DaemonSet", name="agent", uid="agent"))
    assert spare([A, B, C], [*on("a", 9), *on("b", 9), daemon]) == ["c"]
    assert spare([A, B, C], [*on("a", 10), *on("b", 10)]) == ["c"]


@pytest.mark.parametrize("key", [names.SCALE_DOWN_DISABLED, names.DO_NOT_DISRUPT])
def test_none_that_says_that_it_stays(key: str) -> None:
    assert spare([A, B, replace(C, annotations={key: "true"})], LOADED) == []
    assert spare([A, B, replace(C, annotations={key: "false"})], LOADED) == ["c"]


@pytest.mark.parametrize(
    ("key", "value"), [(names.DO_NOT_DISRUPT, "true"), (names.SAFE_TO_EVICT, "false")]
)
def test_none_with_a_pod_that_says_so(key: str, value: str) -> None:
    held = pod("held", "c", 10, annotations={key: value})
    assert spare([A, B, C], [*LOADED, held]) == []
    assert spare([A, B, C], [*LOADED, replace(held, node="")]) == ["c"]


def test_one_that_says_so_for_some_time_does_not_say_so_for_ever() -> None:
    held = pod("held", "c", 10, annotations={names.DO_NOT_DISRUPT: "10m"})
    cluster = snapshot([A, B, C], [*LOADED, held])
    began = replace(cluster.pods, started=np.full_like(cluster.pods.started, 1000))
    for now, expected in ((1599.0, []), (1601.0, ["c"])):
        desk = Desk(
            replace(cluster, pods=began, taken_at=now), Configuration(node_autoscaler=EVENED_OUT)
        )
        assert [desk.nodes[number].name for number in np.flatnonzero(desk.spare)] == expected


# ---------------------------------------------------------------------- of those that are packed

DEFAULT = NodeAutoscaler()


def test_of_packed_ones_those_stay_that_two_thirds_of_their_load_would_need() -> None:
    """Of 20 hundreds a bit more than 13 would be left, for which two nodes do."""
    full = [*on("a", 8), *on("b", 6), *on("c", 6)]
    assert spare([A, B, C], full, DEFAULT) == ["c"]
    # By the other rule none is.
    assert spare([A, B, C], full) == []
    # Each pool needs its own.
    other = replace(C, labels={names.NODE_POOL: "other"})
    assert spare([A, B, other], full, DEFAULT) == ["b"]


def test_those_go_first_that_have_few_pods_for_their_size() -> None:
    """Whatever these ask for: it is pods that karpenter counts."""
    few = [pod("large", "a", 900), *on("b", 9), *on("c", 9)]
    assert spare([A, B, C], few, DEFAULT) == ["a"]


def test_memory_keeps_a_node_as_cpu_does() -> None:
    heavy = [pod(f"heavy-{name}", name, 10, 900) for name in "abc"]
    assert spare([A, B, C], heavy, DEFAULT) == ["c"]
    assert spare([A, B], heavy[:2], DEFAULT) == []


def test_one_that_karpenter_may_not_remove_is_there_first() -> None:
    full = [*on("a", 9), *on("b", 8), *on("c", 7)]
    held = pod("held", "c", 10, annotations={names.DO_NOT_DISRUPT: "true"})
    assert spare([A, B, C], [*full, held], DEFAULT) == ["b"]
    assert spare([A, B, C], full, replace(DEFAULT, scale_down_utilization_percent=0.0)) == []


def test_one_that_takes_no_pods_is_not_counted_on() -> None:
    closed = replace(A, unschedulable=True)
    assert spare([closed, B, C], [*on("a", 9), *on("b", 8), *on("c", 7)], DEFAULT) == []


def test_packed_ones_are_not_evened_out_and_that_is_told() -> None:
    decided = planned([A, B, C], [*on("a", 9), *on("b", 6), *on("c", 2)], "LoadBalancing", DEFAULT)
    assert moves(decided) == []
    assert decided.summary == (
        "LoadBalancing: 0 of 3 nodes in scope may be evened out: 2 are needed; "
        f"a, b, c {MANY_PACKED}"
    )


def test_others_are_evened_out_beside_them() -> None:
    nodes = [A, node("b"), node("c")]
    decided = planned(nodes, [*on("a", 1), *on("b", 9), *on("c", 1)], "LoadBalancing", DEFAULT)
    assert {each[2] for each in moves(decided)} == {"c"}
    assert f"; a {PACKED}" in decided.summary


def test_who_has_no_place_but_there_is_told_so() -> None:
    nodes = [A, node("b"), node("c")]
    picky = {"nodeSelector": {names.NODE_POOL: "general"}}
    stuck = [pod(f"stuck-{number}", "b", 300, spec=picky) for number in range(3)]
    decided = planned(nodes, [*stuck, *on("c", 1)], "LoadBalancing", DEFAULT)
    assert f"the node {PACKED} (1 node)" in refusals(decided)["stuck-0"][0]


HOT = {"a": 900.0, "b": 400.0, "c": 100.0}
RELIEF = Configuration(enabled_strategies=("ResourceOptimization",))
NOT_ASKED = replace(RELIEF, migration=Migration(do_not_disrupt_seconds=0.0))
"""karpenter is not, to keep a node for those who were moved there."""


def hot(pods: list[Pod], configuration: Configuration = RELIEF) -> Plan:
    used = {f"a-{number}": 150.0 for number in range(6)}
    return plan(measured(snapshot([A, B, C], pods), HOT, used), configuration)


def test_packed_ones_are_relieved_onto_those_that_stay() -> None:
    """Though another is used less."""
    for configuration in (RELIEF, NOT_ASKED):
        decided = hot([*on("a", 6), *on("b", 7), *on("c", 3)], configuration)
        assert {each[2] for each in moves(decided)} == {"b"}


def test_where_those_are_full_one_that_may_go_is_kept_if_karpenter_can_be_asked() -> None:
    full = [*on("a", 6), *on("b", 10), *on("c", 3)]
    assert {each[2] for each in moves(hot(full))} == {"c"}
    decided = hot(full, NOT_ASKED)
    assert moves(decided) == []
    assert f"c {LEFT_ALONE}" in decided.summary
    assert f"the node {LEFT_ALONE} (1 node)" in refusals(decided)["a-0"][0]


def test_full_by_requests_is_not_hot() -> None:
    pods = [*on("a", 9), *on("b", 7), *on("c", 6)]
    decided = planned([A, B, C], pods, "ResourceOptimization", DEFAULT)
    assert moves(decided) == []
    assert decided.summary == (
        "ResourceOptimization: there is no node to look at; a, b, c are full by requests as their "
        "autoscaler means them to be (nodeAutoscaler.packedNodes)"
    )
    assert moves(planned([A, B, C], pods, "ResourceOptimization")) != []


# ---------------------------------------------------------------------- that nobody fills them


def planned(
    nodes: list[Node],
    pods: list[Pod],
    strategy: str,
    node_autoscaler: NodeAutoscaler = EVENED_OUT,
) -> Plan:
    return plan(snapshot(nodes, pods), configured(strategy, node_autoscaler))


def configured(strategy: str, node_autoscaler: NodeAutoscaler = EVENED_OUT) -> Configuration:
    return Configuration(enabled_strategies=(strategy,), node_autoscaler=node_autoscaler)


def test_load_is_not_balanced_onto_them() -> None:
    unlabelled = [node(name) for name in "abc"]
    assert {each[2] for each in moves(planned(unlabelled, LOADED, "LoadBalancing"))} == {"c"}
    decided = planned([A, B, C], LOADED, "LoadBalancing")
    assert moves(decided) == []
    assert decided.summary == (
        "LoadBalancing: cpu requests: a 80.0 %, b 60.0 %, imbalance 20.0 points, not above the "
        f"threshold of 20; c {LEFT_ALONE}"
    )


def test_where_all_could_go_it_rests_and_says_why() -> None:
    decided = planned([A, B], [*on("a", 4), *on("b", 1)], "LoadBalancing")
    assert moves(decided) == []
    assert decided.summary == (
        "LoadBalancing: 0 of 2 nodes in scope can take pods and have known requests: 2 are "
        f"needed; a, b {MANY_LEFT_ALONE}"
    )


def test_nobody_is_relieved_onto_them() -> None:
    pods = [*on("a", 6), *on("b", 7), *on("c", 1)]
    used = {f"a-{number}": 150.0 for number in range(6)}
    by_usage = {"a": 900.0, "b": 740.0, "c": 100.0}
    configuration = configured("ResourceOptimization")
    hot = measured(snapshot([node(name) for name in "abc"], pods), by_usage, used)
    assert {each[2] for each in moves(plan(hot, configuration))} == {"c"}
    decided = plan(measured(snapshot([A, B, C], pods), by_usage, used), configuration)
    assert moves(decided) == []
    assert f"c {LEFT_ALONE}" in decided.summary


def test_who_is_not_moved_is_told_that_they_would_take_it() -> None:
    pods = [*on("a", 6), *on("c", 1)]
    used = {f"a-{number}": 150.0 for number in range(6)}
    hot = measured(snapshot([A, C], pods), {"a": 900.0, "c": 100.0}, used)
    decided = plan(hot, configured("ResourceOptimization"))
    assert refusals(decided)["a-0"] == (f"no node takes it: the node {LEFT_ALONE} (1 node)",)


def test_a_node_that_is_emptied_fills_others_first() -> None:
    leaves = replace(A, labels={**KARPENTER, names.MAINTENANCE: "true"})
    pods = [*on("a", 2), *on("b", 6), *on("c", 1)]
    assert {each[2] for each in moves(planned([leaves, B, C], pods, "NodeMaintenance"))} == {"b"}
    # Who may go nowhere else goes there.
    fast = replace(C, labels={**KARPENTER, "disk": "fast"})
    picky = pod("picky", "a", 100, spec={"nodeSelector": {"disk": "fast"}})
    decided = planned([leaves, B, fast], [picky, *pods], "NodeMaintenance")
    assert [each for each in moves(decided) if each[2] == "c"] == [("picky", "a", "c")]


def test_it_is_explained() -> None:
    configuration = Configuration(node_autoscaler=EVENED_OUT)
    cluster = snapshot([A, B, C], LOADED)
    row = row_of(cluster, "shop/a-0")
    assert row is not None
    told = explain(cluster, configuration, row, plan(cluster, configuration))
    assert {each.node: each.reasons for each in told.verdicts} == {
        "b": (),
        "c": (f"it {LEFT_ALONE}",),
    }
