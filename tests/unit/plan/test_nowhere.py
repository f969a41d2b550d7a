"""Why no node takes a pod: every node counted once, for the first rule that excludes it."""

from dataclasses import replace

from rescheduler.config import Configuration, Scope
from rescheduler.model import selectors
from rescheduler.plan.nowhere import why_nowhere
from tests.unit.plan.support.small_clusters import (
    apart,
    desk,
    in_maintenance,
    node,
    number_of,
    pod,
    row_of,
)

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def test_the_only_node_of_a_cluster() -> None:
    at = desk([node("a")], [pod("x", "a")])
    assert why_nowhere(at, row_of(at, "x")) == "there is no other node"


def test_nodes_are_counted_by_what_excludes_them_the_most_frequent_first() -> None:
    nodes = [
        node("a"),
        node("b", cpu=1500),
        node("c", cpu=1700),
        node("d", cpu=1000),
        replace(node("e"), taints=(TAINT,)),
        replace(node("f"), taints=(TAINT,)),
        in_maintenance(node("g")),
        node("h"),
    ]
    at = desk(nodes, [pod("x", "a", cpu=2000, affinity=apart("y")), pod("y", "h")])
    assert why_nowhere(at, row_of(at, "x")) == (
        "no node takes it: not enough cpu: requests 2, at most 1700m free (3 nodes); "
        "it does not tolerate the taint gpu=yes:NoSchedule (2 nodes); "
        "the node cannot be a target: it is in maintenance (1 node); "
        "its anti-affinity keeps it away from app=y per kubernetes.io/hostname (1 node)"
    )


def test_every_resource_is_named_in_its_own_unit() -> None:
    small = {"cpu": 4000, "memory": 2**29, "pods": 110}
    nodes = [node("a"), replace(node("b"), allocatable=small), node("c", pods=1)]
    at = desk(nodes, [pod("x", "a"), pod("y", "c")])
    assert why_nowhere(at, row_of(at, "x")) == (
        "no node takes it: not enough memory: requests 1Gi, at most 512Mi free (1 node); "
        "no room for another pod (1 node)"
    )


def test_nodes_that_we_must_not_use_are_told_apart() -> None:
    scope = Scope(node_selector=selectors.parse("pool=ours"))
    nodes = [node("a", pool="ours"), node("b", pool="ours"), node("c")]
    at = desk(nodes, [pod("x", "a")], Configuration(scope=scope))
    at.closed[number_of(at, "b")] = True
    assert why_nowhere(at, row_of(at, "x")) == (
        "no node takes it: the node is not in scope.nodeSelector (1 node); "
        "the node is being emptied (1 node)"
    )


def test_of_very_many_nodes_not_every_one_is_asked() -> None:
    tainted = [replace(node(f"n{n:03}"), taints=(TAINT,)) for n in range(350)]
    at = desk([node("a"), *tainted], [pod("x", "a")])
    assert why_nowhere(at, row_of(at, "x")) == (
        "no node takes it: it does not tolerate the taint gpu=yes:NoSchedule (about 350 nodes)"
    )
    half = [replace(each, taints=()) if n % 2 else each for n, each in enumerate(tainted)]
    at = desk([node("a"), *half], [pod("x", "a", nodeSelector={"disk": "ssd"})])
    assert why_nowhere(at, row_of(at, "x")) == (
        "no node takes it: it does not tolerate the taint gpu=yes:NoSchedule (at least 11 nodes); "
        "its nodeSelector asks for disk=ssd (at least 10 nodes)"
    )


def test_what_is_counted_agrees_with_the_targets() -> None:
    nodes = [node("a"), node("b", cpu=500), replace(node("c"), unschedulable=True)]
    at = desk(nodes, [pod("x", "a")])
    assert not at.targets(row_of(at, "x")).any()
    why = why_nowhere(at, row_of(at, "x"))
    assert why.count("(1 node)") == 2
