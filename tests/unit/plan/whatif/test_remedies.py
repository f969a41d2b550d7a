"""What would have to change, in the words that people read."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration, PodRules, Scope
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.whatif import World, remedies
from rescheduler.plan.whatif.smallest import smallest
from rescheduler.wire import JOBS, POD_DISRUPTION_BUDGETS, RESOURCE_QUOTAS
from tests.unit.plan.support.small_clusters import GI, apart, node, pod, spread
from tests.unit.plan.support.snapshots import snapshot

ZONE = "topology.kubernetes.io/zone"


def said(
    seen: Snapshot,
    name: str = "web",
    configuration: Configuration | None = None,
    *,
    asked: bool = False,
) -> list[str]:
    row = list(seen.pods.names).index(f"shop/{name}")
    world = World(seen, configuration or Configuration(), row, asked=asked)
    return [each.words for each in remedies(world)]


def labelled(name: str, **labels: str) -> Node:
    return replace(node(name), labels={"kubernetes.io/hostname": name, **labels})


def two(*pods: Pod, b: Node | None = None, **others: Any) -> Snapshot:  # noqa: ANN401
    return snapshot([node("a"), b or node("b")], pods, **others)


def test_what_may_move_needs_nothing() -> None:
    assert said(two(pod("web", "a"))) == []


def test_less_of_what_there_is_too_little() -> None:
    found = said(two(pod("web", "a", cpu=2200), pod("db", "b", cpu=2000)))
    assert found == [
        "pod shop/web to request 200m cpu less (2 instead of 2200m)",
        "200m more cpu free on node b",
        "a new node such as a, without taints, with 2200m cpu, 1Gi memory free",
    ]


def test_who_could_push_others_out_needs_its_room_twice() -> None:
    found = said(two(pod("web", "a", cpu=1500, priority=10), pod("db", "b", cpu=2000)))
    assert found[:2] == [
        "pod shop/web to request 500m cpu less (1 instead of 1500m)",
        "1 more cpu free on node b",
    ]


def test_a_taint_to_tolerate() -> None:
    tainted = replace(
        node("b"), taints=({"key": "dedicated", "value": "db", "effect": "NoSchedule"},)
    )
    assert said(two(pod("web", "a"), b=tainted))[0] == (
        "pod shop/web to tolerate the taint dedicated=db:NoSchedule"
    )


def test_a_node_to_open() -> None:
    cordoned = replace(node("b"), unschedulable=True)
    assert said(two(pod("web", "a"), b=cordoned))[0] == "uncordon node b"
    in_maintenance = labelled("b", **{names.MAINTENANCE: "true"})
    assert said(two(pod("web", "a"), b=in_maintenance))[0] == (
        f"take the label {names.MAINTENANCE} off node b"
    )


def test_a_node_in_a_zone_with_so_much_free() -> None:
    """Of a zone that its node selector asks for there is no other one."""
    seen = snapshot(
        [labelled("a", **{ZONE: "b"}), labelled("c", **{ZONE: "c"})],
        [pod("web", "a", cpu=2000, nodeSelector={ZONE: "b"})],
    )
    assert said(seen) == [
        f"pod shop/web without its nodeSelector {ZONE}=b",
        "a new node in zone b such as a, without taints, with 2 cpu, 1Gi memory free",
    ]


def test_a_zone_of_its_own() -> None:
    other = pod("other", "c", labels={"app": "web"}, affinity=apart("web", ZONE))
    seen = snapshot(
        [labelled("a", **{ZONE: "b"}), labelled("c", **{ZONE: "c"})],
        [pod("web", "a", affinity=apart("web", ZONE)), other],
    )
    assert said(seen)[-1] == (
        f"a new node such as a, with a {ZONE} of its own, without taints, with 1 cpu, "
        "1Gi memory free"
    )


def test_a_wider_spread() -> None:
    seen = snapshot(
        [node("a", zone="a"), node("b", zone="b")],
        [
            pod("web", "a", topologySpreadConstraints=spread("web")),
            *(pod(f"w{number}", "b", labels={"app": "web"}) for number in range(2)),
        ],
    )
    assert said(seen)[0] == "pod shop/web with maxSkew 3 instead of 1 over zone"


BUDGET = {
    "metadata": {"namespace": "shop", "name": "web", "generation": 1},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 2,
        "expectedPods": 2,
    },
}


def test_a_budget_to_allow_one() -> None:
    seen = two(pod("web", "a"), others={POD_DISRUPTION_BUDGETS: [BUDGET]})
    assert said(seen) == ["PodDisruptionBudget web to allow 1 disruption"]


def test_one_of_two_budgets_to_go() -> None:
    more = {**BUDGET, "metadata": {**BUDGET["metadata"], "name": "more"}}  # type: ignore[dict-item]
    fine = {**BUDGET, "status": {**BUDGET["status"], "disruptionsAllowed": 1}}  # type: ignore[dict-item]
    seen = two(pod("web", "a"), others={POD_DISRUPTION_BUDGETS: [fine, more]})
    assert said(seen)[0] == "delete PodDisruptionBudget more, or let it not select the pod"


def test_a_quota_to_raise() -> None:
    quota = {
        "metadata": {"namespace": "shop", "name": "small"},
        "spec": {"hard": {"requests.cpu": "1200m"}},
        "status": {"used": {"requests.cpu": "1"}},
    }
    seen = two(pod("web", "a"), others={RESOURCE_QUOTAS: [quota]})
    assert said(seen) == [
        "set pods.recreate to Allowed",
        "ResourceQuota small to allow 800m more requests.cpu",
    ]


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (Configuration(excluded_namespaces=("shop",)), "take shop out of excludedNamespaces"),
        (Configuration(scope=Scope(namespaces=("other",))), "add shop to scope.namespaces"),
        (
            Configuration(excluded_pod_selector=selectors.parse("app=web")),
            "leave excludedPodSelector empty",
        ),
        (Configuration(pods=PodRules(min_replicas=3)), "lower pods.minReplicas to 1"),
        (Configuration(pods=PodRules(priority_threshold=0)), "raise pods.priorityThreshold to 1"),
    ],
)
def test_a_setting_of_ours(configuration: Configuration, words: str) -> None:
    assert said(two(pod("web", "a")), configuration=configuration) == [words]


def test_a_label_to_take_off() -> None:
    seen = two(pod("web", "a", labels={names.RESCHEDULING: "disabled"}))
    assert said(seen) == [f"take the label {names.RESCHEDULING} off pod shop/web"]


def test_an_annotation_to_take_off() -> None:
    kept = replace(pod("web", "a"), annotations={names.DO_NOT_DISRUPT: "true"})
    assert said(two(kept)) == [f"take the annotation {names.DO_NOT_DISRUPT} off pod shop/web"]


def test_time_to_wait() -> None:
    moved = replace(pod("web", "a"), annotations={names.MIGRATION_TIME: "2026-03-01T12:00:00Z"})
    seen = replace(two(moved), taken_at=1_772_366_400.0 + 600)
    assert said(seen) == ["wait for 50m"]
    assert said(seen, asked=True) == []


def test_more_than_one_thing_where_one_is_not_enough() -> None:
    found = said(
        two(
            pod("web", "a", cpu=2200, labels={names.RESCHEDULING: "disabled"}),
            pod("db", "b", cpu=2000),
        )
    )
    assert found[0] == (
        f"take the label {names.RESCHEDULING} off pod shop/web, and "
        "pod shop/web to request 200m cpu less (2 instead of 2200m)"
    )


def test_when_a_maintenance_asks_less_is_needed() -> None:
    of_job = replace(pod("web", "a"), owner=Owner(kind="Job", name="web", uid="rs-web"))
    job = {
        "metadata": {"namespace": "shop", "name": "web", "uid": "rs-web"},
        "spec": {"parallelism": 1},
    }
    seen = two(of_job, replica_sets=[], others={JOBS: [job]})
    assert said(seen) == ["set pods.recreate to Allowed, and set pods.jobs to Allowed"]
    assert said(seen, asked=True) == ["set pods.jobs to WhenAsked"]


def test_what_is_on_its_way_out_is_not_helped() -> None:
    assert said(two(replace(pod("web", "a"), terminating=True))) == []


def test_the_smallest_amount_is_found_by_asking() -> None:
    for enough in (1, 2, 3, 7, 8, 999, 1000):
        asked: list[int] = []

        def is_enough(amount: int, enough: int = enough, asked: list[int] = asked) -> bool:
            asked.append(amount)
            return amount >= enough

        assert smallest(is_enough, 1000) == enough
        assert len(asked) <= 22


def test_the_cluster_itself_is_not_touched() -> None:
    seen = two(pod("web", "a", cpu=2200, memory=GI), pod("db", "b", cpu=2000))
    before = seen.requests.tolist(), seen.allocatable.tolist(), len(seen.classes)
    said(seen)
    assert (seen.requests.tolist(), seen.allocatable.tolist(), len(seen.classes)) == before
