"""All about one pod: every rule that holds it, every node, and what the plan does with it."""

from typing import Any

import pytest

from rescheduler.config import Configuration, Scope
from rescheduler.model import selectors
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Move, Plan, Refusal, Report, Way
from rescheduler.plan import plan
from rescheduler.plan.explaining import Explanation, explain, row_of
from tests.unit.plan.support.snapshots import snapshot

WEB = Owner(kind="ReplicaSet", name="web", uid="uid-web")


def node(name: str, *, cpu: int = 4000, unschedulable: bool = False, **labels: str) -> Node:
    return Node(
        name=name,
        labels={"kubernetes.io/hostname": name, **labels},
        taints=(),
        allocatable={"cpu": cpu, "memory": 8 * 2**30, "pods": 110},
        ready=True,
        unschedulable=unschedulable,
    )


def pod(name: str, on: str = "a", **others: Any) -> Pod:  # noqa: ANN401
    fields: dict[str, Any] = {
        "namespace": "shop",
        "name": name,
        "uid": f"uid-{name}",
        "node": on,
        "phase": "Running",
        "ready": True,
        "terminating": False,
        "labels": {"app": "web"},
        "annotations": {},
        "owner": WEB,
        "requests": {"cpu": 1000, "memory": 2**30},
        "priority": 0,
        "spec": {},
    }
    return Pod(**fields | others)


def explained(
    nodes: list[Node],
    pods: list[Pod],
    name: str = "web-1",
    *,
    configuration: Configuration | None = None,
    decided: Plan | None = None,
) -> Explanation:
    configuration = configuration or Configuration(enabled_strategies=())
    seen = snapshot(nodes, pods)
    row = row_of(seen, f"shop/{name}")
    assert row is not None
    return explain(seen, configuration, row, decided or plan(seen, configuration))


def test_a_pod_that_may_move() -> None:
    found = explained([node("a"), node("b")], [pod("web-1")])
    assert (found.pod.full_name, found.pod.node, found.way) == ("shop/web-1", "a", Way.SURGE)
    assert (found.stays, found.stays_when_asked, found.group) == ((), (), ())
    assert found.share == {"cpu": 25.0, "memory": 12.5}
    assert (found.word, found.usage) == ("requests", {})


def test_every_rule_that_holds_it_is_named() -> None:
    held = pod(
        "web-1",
        namespace="kube-system",
        owner=Owner(kind="DaemonSet", name="agent", uid="uid-agent"),
        priority=2_000_000_000,
        labels={"scheduler.alpha.kubernetes.io/rescheduling": "disabled"},
    )
    seen = snapshot([node("a"), node("b")], [held], replica_sets=[])
    row = row_of(seen, "kube-system/web-1")
    assert row is not None
    found = explain(seen, Configuration(), row, Plan())
    told = " | ".join(found.stays)
    for words in ("excludedNamespaces", "DaemonSet", "critical", "rescheduling"):
        assert words in told
    # Nobody who asks changes that.
    assert len(found.stays_when_asked) >= 4


def test_every_node_says_whether_it_would_take_it_and_all_that_is_against_it() -> None:
    away = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
    spec = {"nodeSelector": {"disk": "ssd"}, "affinity": away}
    nodes = [
        node("a", disk="ssd"),
        node("b", disk="ssd"),
        node("cordoned", unschedulable=True, disk="ssd"),
        node("full", cpu=1500),
        node("taken", disk="ssd"),
    ]
    pods = [
        pod("web-1", spec=spec),
        pod("other", "full", labels={}, owner=None),
        pod("web-2", "taken", spec=spec),
    ]
    verdicts = {each.node: each.reasons for each in explained(nodes, pods).verdicts}
    assert sorted(verdicts) == ["b", "cordoned", "full", "taken"]
    assert verdicts["b"] == ()
    assert "cordoned" in " ".join(verdicts["cordoned"])
    assert len(verdicts["full"]) == 2
    assert "cpu" in " ".join(verdicts["full"])
    assert "disk=ssd" in " ".join(verdicts["full"])
    assert "anti-affinity" in " ".join(verdicts["taken"])


def test_nodes_out_of_scope_say_so() -> None:
    scope = Scope(node_selector=selectors.parse("pool=ours"))
    found = explained(
        [node("a", pool="ours"), node("b", pool="ours"), node("theirs")],
        [pod("web-1")],
        configuration=Configuration(enabled_strategies=(), scope=scope),
    )
    verdicts = {each.node: each.reasons for each in found.verdicts}
    assert verdicts == {"b": (), "theirs": ("it is not in scope.nodeSelector",)}


def test_the_move_that_the_plan_has_for_it() -> None:
    move = Move(
        namespace="shop",
        pod="web-1",
        uid="uid-web-1",
        source="a",
        target="b",
        strategy="LoadBalancing",
        reason="because",
    )
    found = explained([node("a"), node("b")], [pod("web-1")], decided=Plan(moves=(move,)))
    assert found.move == move
    other = explained(
        [node("a"), node("b")], [pod("web-1"), pod("web-2")], "web-2", decided=Plan(moves=(move,))
    )
    assert other.move is None


def test_what_strategies_found_against_moving_it() -> None:
    decided = Plan(
        refusals=(
            Refusal(namespace="shop", pod="web-1", reasons=("no gain", "cooling down")),
            Refusal(namespace="shop", pod="web-2", reasons=("another",)),
        ),
        reports=(Report(strategy="LoadBalancing", acted=False, summary="all is even"),),
    )
    found = explained([node("a"), node("b")], [pod("web-1")], decided=decided)
    assert found.refusals == ("no gain", "cooling down")
    assert found.reports == decided.reports


def test_a_pod_that_waits_for_a_node() -> None:
    found = explained([node("a")], [pod("web-1", "", phase="Pending", ready=False)])
    assert (found.pod.node, found.share) == ("", {})
    assert found.stays
    assert [each.node for each in found.verdicts] == ["a"]


@pytest.mark.parametrize("name", ["shop/none", "other/web-1", "web-1", "", "shop/"])
def test_no_such_pod(name: str) -> None:
    assert row_of(snapshot([node("a")], [pod("web-1")]), name) is None
