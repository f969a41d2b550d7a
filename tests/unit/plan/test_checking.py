"""Whether a move that was decided on is still right just before it is begun."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import Configuration, Migration, Scope
from rescheduler.model import names, selectors
from rescheduler.model.moves import Move, Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import Memory, why_not_there, why_uneven_after
from rescheduler.plan.fitting import Placement
from tests.unit.plan.support import random_workloads
from tests.unit.plan.support.movable_scenes import (
    NODES,
    NOW,
    NOW_TEXT,
    Object,
    owned_by,
    pod,
    replica_set,
    snapshot,
)
from tests.unit.plan.support.object_snapshots import snapshot_of

MOVE = Move(
    namespace="shop",
    pod="web-1",
    uid="uid-web-1",
    source="a",
    target="b",
    strategy="LoadBalancing",
    reason="",
)


def told(of: Snapshot, configuration: Configuration | None = None, **changes: Any) -> str:  # noqa: ANN401
    return why_not_there(of, configuration or Configuration(), replace(MOVE, **changes))


def large(cpu: str) -> Object:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return {"containers": [{"name": "app", "resources": resources}]}


def changed(number: int, **status_or_spec: Any) -> list[Object]:  # noqa: ANN401
    found = [dict(each) for each in NODES]
    found[number] |= status_or_spec
    return found


def test_what_has_not_changed_is_right() -> None:
    assert told(snapshot(pod())) == ""


@pytest.mark.parametrize("other", [{"pod": "web-2"}, {"namespace": "kube-system"}])
def test_another_name_with_its_uid_is_told(other: dict[str, Any]) -> None:
    assert told(snapshot(pod()), **other) == "its UID is that of shop/web-1"


def test_the_copy_of_a_sibling_counts_as_it_will_be() -> None:
    """It lacks the label that they are spread by until its ReplicaSet is to see it."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spread: Any = {"topologySpreadConstraints": [constraint]}
    of = {names.ORIGINAL_POD: "uid-web-2", names.ORIGINAL_POD_NAME: "web-2"}
    kept = {"labels": {"app": "web"}}
    web = [pod(name, metadata=kept, **spread) for name in ("web-1", "web-2")]
    lacking = {"labels": {}, "annotations": of, "ownerReferences": []}
    sets = [replica_set(replicas=2)]
    assert told(snapshot(*web, replicasets=sets)) == ""
    for namespace in ("shop", "other"):
        copy = pod("copy", metadata={**lacking, "namespace": namespace}, nodeName="b", **spread)
        why = told(snapshot(*web, copy, replicasets=sets))
        assert ("b does not take it: its topology spread" in why) == (namespace == "shop"), why


def test_a_pod_that_is_elsewhere_or_gone() -> None:
    cluster = snapshot(pod())
    assert told(cluster, uid="of before") == "it is not there any more"
    assert told(cluster, source="b", target="a") == "it is not on b"
    assert told(cluster, target="z") == "there is no node z any more"
    gone = snapshot(pod(nodeName="z"))
    assert told(gone, source="z") == "its node z is not there any more"


def test_a_pod_that_may_not_move_any_more() -> None:
    found = pod(metadata={"deletionTimestamp": "2026-03-01T12:00:00Z"})
    assert told(snapshot(found)) == "it is terminating"
    unsettled = [replica_set(replicas=2, ready=1)]
    assert told(snapshot(pod(), replicasets=unsettled)) == (
        "1 of 2 of its ReplicaSet's pods are Ready"
    )


def test_a_target_that_is_not_right_any_more() -> None:
    full = pod("other", nodeName="b", **large("7600m"))
    assert (
        told(snapshot(pod(), full))
        == "b does not take it: not enough cpu: requests 500m, 400m free"
    )
    cordoned = changed(1, spec={"unschedulable": True})
    assert told(snapshot(pod(), nodes=cordoned)) == (
        "b does not take it: the node cannot be a target: it is cordoned"
    )


def test_a_node_that_is_not_to_be_emptied_any_more() -> None:
    """Its label is gone, and the cordon with it; `drain` has no label, but a cordon."""
    ended: dict[str, Any] = {"strategy": "NodeMaintenance", "asked": True}
    assert told(snapshot(pod()), **ended) == "a is not to be emptied any more"
    cordoned = snapshot(pod(), nodes=changed(0, spec={"unschedulable": True}))
    assert told(cordoned, **ended) == ""
    labelled = {**NODES[0]["metadata"], "labels": {names.MAINTENANCE: "true"}}
    assert told(snapshot(pod(), nodes=changed(0, metadata=labelled)), **ended) == ""
    removed = {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}
    assert told(snapshot(pod(), nodes=changed(0, spec=removed)), **ended) == ""


def test_a_target_that_an_autoscaler_is_about_to_remove() -> None:
    candidate = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"}
    assert told(snapshot(pod(), nodes=changed(1, spec={"taints": [candidate]}))) == (
        "b does not take it: the node cannot be a target: cluster-autoscaler is about to remove it"
    )


def test_a_source_that_an_autoscaler_removes_meanwhile_is_no_reason_to_stop() -> None:
    removed = {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}
    assert told(snapshot(pod(), nodes=changed(0, spec=removed))) == ""


def test_all_reasons_are_told() -> None:
    cordoned = changed(1, spec={"unschedulable": True})
    words = told(snapshot(pod(priority=2_000_000_000), nodes=cordoned))
    assert words == (
        "it is critical to the system; "
        "b does not take it: the node cannot be a target: it is cordoned"
    )


def test_nodes_out_of_scope() -> None:
    scope = Scope(node_selector=selectors.parse("kubernetes.io/hostname=a"))
    words = told(snapshot(pod()), Configuration(scope=scope))
    assert words == "its target b is not in scope.nodeSelector"


# ------------------------------------------------------------------ ways


def test_a_surge_that_can_only_be_recreated_by_now() -> None:
    quota = {
        "metadata": {"namespace": "shop", "name": "q"},
        "spec": {"hard": {"pods": "1"}},
        "status": {"used": {"pods": "1"}},
    }
    full = snapshot(pod(), resourcequotas=[quota])
    words = "ResourceQuota q has no room for a second pod: pods, 1 of 1 used"
    assert told(full, asked=True) == f"it would have to be recreated by now: {words}"
    assert told(full, asked=True, way=Way.RECREATE) == ""


def test_to_recreate_is_right_for_who_asked_for_it() -> None:
    ports = snapshot(pod(hostNetwork=True))
    words = told(ports, way=Way.RECREATE)
    assert words.startswith("its move would recreate it, and pods.recreate is WhenAsked")
    assert told(ports, way=Way.RECREATE, asked=True) == ""
    steered = Configuration(migration=Migration(way="Recreate"))
    assert told(snapshot(pod()), steered, way=Way.RECREATE) == ""


def test_with_a_surge_both_are_there() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    zoned = [{**each, "metadata": {**each["metadata"], "labels": {"zone": "z"}}} for each in NODES]
    cluster = snapshot(pod(affinity=affinity), nodes=zoned)
    assert told(cluster).startswith("b does not take it: its anti-affinity keeps it away")
    assert told(cluster, way=Way.RECREATE) == ""


# ------------------------------------------------------------------ its own traces


def test_what_is_assumed_of_this_very_move_takes_no_room_from_it() -> None:
    few = {"cpu": "900m", "memory": "32Gi", "pods": "110"}
    tight = changed(1, status={**NODES[1]["status"], "allocatable": few})
    cluster = snapshot(pod(), nodes=tight, assumed="b")
    assert told(cluster) == ""
    # Whoever else is on the way there does.
    rival = pod("web-0", nodeName="a")
    both = snapshot(pod(), rival, nodes=tight, assumed="b")
    assert told(both, pod="web-0", uid="uid-web-0") == (
        "b does not take it: not enough cpu: requests 500m, 400m free"
    )


def test_a_copy_that_is_there_is_no_assumption() -> None:
    copy = pod("copy", nodeName="b")
    copy["metadata"]["annotations"] = {
        names.ORIGINAL_POD: "uid-web-1",
        names.ORIGINAL_POD_NAME: "web-1",
    }
    assert told(snapshot(pod(), copy)) == "a copy is taking its place"


def test_its_own_marks_and_records_are_no_reason() -> None:
    marked = pod(
        metadata={
            "labels": {"app": "web", names.MIGRATION_STATUS: "in-progress"},
            "annotations": {names.MIGRATION_TIME: NOW_TEXT},
        }
    )
    record = {
        "metadata": {"namespace": "shop", "name": "r-4"},
        "spec": {"pod": {"name": "web-1", "uid": "uid-web-1"}, "attempt": 4},
    }
    before = {
        **record,
        "metadata": {"namespace": "shop", "name": "r-3"},
        "status": {"phase": "Failed", "completionTime": NOW_TEXT},
    }
    assert told(snapshot(marked, podmigrations=[record, before], taken_at=NOW)) == ""


def test_moves_of_the_same_plan_that_were_made_before_are_no_reason() -> None:
    moved = {names.MIGRATION_TIME: NOW_TEXT, names.MIGRATED_FROM: "a"}
    sibling = pod("web-2", nodeName="b", metadata={"annotations": moved})
    assert told(snapshot(pod(), sibling, replicasets=[replica_set(replicas=2)], taken_at=NOW)) == ""


def test_a_sibling_that_was_left_short_is_one() -> None:
    short = {
        "metadata": {"namespace": "shop", "name": "r-1"},
        "spec": {"pod": {"name": "web-0", "uid": "gone"}, "attempt": 1},
        "status": {
            "phase": "Failed",
            "reason": "ReplacementNotReady",
            "completionTime": NOW_TEXT,
            "owner": {"uid": "rs-uid"},
        },
    }
    words = told(snapshot(pod(), podmigrations=[short], taken_at=NOW), asked=True)
    assert words == "its workload's last move left it short: look at pmig r-1"


# ------------------------------------------------------------------ as a plan has it


@pytest.mark.parametrize("way", list(Way))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=30, derandomize=True)
def test_of_one_node_it_says_what_a_plan_says_of_all(way: Way, seed: int) -> None:
    """But for room that is kept for pods that wait: none does in these clusters."""
    found = snapshot_of(random_workloads.cluster(seed))
    everywhere, memory = Placement(found), Memory()
    for number in range(len(found.nodes)):
        alone = Placement(found, memory, only=number)
        for row in found.rows.tolist():
            assert alone.why_not(row, number, way) == everywhere.why_not(row, number, way)
            assert alone.fits(row, number, way) == everywhere.fits(row, number, way)


def test_the_size_that_it_will_have_counts_where_it_is_known() -> None:
    of, configuration = snapshot(pod()), Configuration()
    assert why_not_there(of, configuration, MOVE, asks={"cpu": 1000, "pods": 1}) == ""
    told_of = why_not_there(of, configuration, MOVE, asks={"cpu": 10**6, "pods": 1})
    assert "b does not take it: not enough cpu: requests 1000" in told_of


def test_its_own_temporary_budget_is_in_nobodys_way_before_it_is_counted() -> None:
    """The migration waits for that itself; that of another one is another matter."""
    new: Object = {
        "metadata": {
            "name": "web-rescheduler-pdb",
            "namespace": "shop",
            "generation": 1,
            "labels": {names.RECORD: "ours"},
        },
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    web = pod(metadata={"labels": {"app": "web"}})
    of, configuration = snapshot(web, poddisruptionbudgets=[new]), Configuration()
    assert why_not_there(of, configuration, MOVE, record="ours") == ""
    for record in ("theirs", ""):
        words = why_not_there(of, configuration, MOVE, record=record)
        assert "web-rescheduler-pdb: it is new or changed, and not counted yet" in words


# ---------------------------------------------------------------------- before the hand-over


def spread(**more: Any) -> Object:  # noqa: ANN401
    """By a label that copies lack."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def on_its_way(number: int = 1, **changes: Any) -> Object:  # noqa: ANN401
    """The copy, on b."""
    name = f"web-{number}"
    told_of = {names.ORIGINAL_POD: f"uid-{name}", names.ORIGINAL_POD_NAME: name}
    metadata = {"labels": {}, "annotations": told_of}
    return pod(f"copy-{number}", owner=None, nodeName="b", metadata=metadata, **changes)


def uneven(*pods: Object) -> str:
    return why_uneven_after(snapshot(*pods), MOVE, "copy-1")


def web(number: int, node: str, **more: Any) -> Object:  # noqa: ANN401
    return pod(f"web-{number}", nodeName=node, **spread(**more))


def test_a_hand_over_that_leaves_the_spread_as_it_may_be_is_right() -> None:
    copy = on_its_way(**spread())
    assert uneven(web(1, "a"), web(2, "a"), web(3, "b"), copy) == ""


def test_one_that_came_meanwhile_makes_a_hand_over_wrong() -> None:
    pods = [web(1, "a"), web(2, "a"), web(3, "b"), web(4, "b")]
    words = "its topology spread over kubernetes.io/hostname (maxSkew 1) would not hold"
    assert uneven(*pods, on_its_way(**spread())) == words
    wide = [web(n, node, maxSkew=2) for n, node in enumerate("aabb", 1)]
    assert uneven(*wide, on_its_way(**spread(maxSkew=2))) == ""
    plain = [pod(f"web-{n}", nodeName=node) for n, node in enumerate("aabb", 1)]
    assert uneven(*plain, on_its_way()) == ""


def test_a_rule_of_others_that_a_hand_over_would_break_counts_too() -> None:
    moved = pod()
    other = pod("other", owner=owned_by("ReplicaSet", "other"), nodeName="b", **spread(maxSkew=2))
    beside = [pod("web-2", nodeName="a"), pod("web-3", nodeName="b"), pod("web-4", nodeName="b")]
    words = "a topology spread of others over kubernetes.io/hostname would not hold"
    assert uneven(moved, *beside, other, on_its_way()) == words
    assert uneven(moved, *beside[:2], other, on_its_way()) == ""


def test_the_copies_of_siblings_count_where_they_are() -> None:
    """As each of them will be, once it has the label; whose original no longer does."""
    pods = [web(1, "a"), web(2, "a"), web(3, "b")]
    both = [on_its_way(1, **spread()), on_its_way(2, **spread())]
    assert "(maxSkew 1) would not hold" in uneven(*pods, *both)


def test_what_was_no_better_before_does_not_keep_it() -> None:
    """Both nodes are in one zone: all is as it was there, however many are elsewhere."""
    of = [{**each, "metadata": {**each["metadata"]}} for each in NODES]
    for node in of:
        node["metadata"]["labels"] = {**node["metadata"]["labels"], "zone": "z"}
    of += [{**of[0], "metadata": {"name": "c", "labels": {"zone": "y"}}}]
    pods = [web(n, "a", topologyKey="zone") for n in (1, 2, 3)]
    copy = on_its_way(**spread(topologyKey="zone"))
    assert why_uneven_after(snapshot(*pods, copy, nodes=of), MOVE, "copy-1") == ""
