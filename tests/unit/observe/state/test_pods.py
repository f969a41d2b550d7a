"""Pods in columns: what a row says, who is alike, and what is counted where."""

from typing import Any

import numpy as np
import pytest

from rescheduler.model import names, pins
from rescheduler.model.cluster import Owner, Pod
from rescheduler.model.columns import NONE, UNAVAILABLE
from rescheduler.observe.state import ClusterState
from rescheduler.wire import NODES, PODS
from tests.unit.observe.state.server import (
    Object,
    hear,
    lose,
    node,
    owned,
    pod,
    relist,
    state_of,
)

UNAVAILABLE_COLUMN = ClusterState().snapshot().resource_names.index(UNAVAILABLE)


def only_pod(raw: Object) -> Pod:
    snapshot = state_of([node("a")], [raw]).snapshot()
    (row,) = snapshot.rows
    return snapshot.pod(row)


def classes(state: ClusterState) -> int:
    return sum(each is not None for each in state.snapshot().classes)


def templates(state: ClusterState) -> int:
    return sum(each is not None for each in state.snapshot().templates)


# ---------------------------------------------------------------------- what a row says


def test_a_pod() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    raw = pod(
        "web-1",
        "a",
        spec={"containers": [container], "priority": 7},
        labels={"app": "web"},
        annotations={"note": "x", names.DO_NOT_DISRUPT: "true"},
        ownerReferences=[
            {"kind": "X", "name": "x", "uid": "x"},
            {"kind": "ReplicaSet", "name": "web", "uid": "rs-uid", "controller": True},
        ],
    )
    assert only_pod(raw) == Pod(
        namespace="shop",
        name="web-1",
        uid="uid-web-1",
        node="a",
        phase="Running",
        ready=True,
        terminating=False,
        labels={"app": "web"},
        annotations={names.DO_NOT_DISRUPT: "true"},
        owner=Owner(kind="ReplicaSet", name="web", uid="rs-uid"),
        requests={"cpu": 1000, "pods": 1},
        priority=7,
        spec={"containers": [container], "priority": 7},
    )


def test_a_pod_without_status() -> None:
    raw = pod("p")
    del raw["status"]
    found = only_pod(raw)
    assert (found.node, found.phase, found.ready, found.priority) == ("", "", False, 0)
    assert (found.labels, found.annotations, found.owner) == ({}, {}, None)
    assert not found.terminating


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_not_there(phase: str) -> None:
    state = state_of([node("a")], [pod("p", "a")])
    hear(state, PODS, pod("p", "a", status={"phase": phase}))
    assert len(state.snapshot().rows) == 0
    assert len(state_of([], [pod("p", "a", status={"phase": phase})]).snapshot().rows) == 0


def test_an_owner_that_does_not_control_it_is_none() -> None:
    reference = {"kind": "ReplicaSet", "name": "web", "uid": "rs-uid"}
    assert only_pod(pod("p", ownerReferences=[reference])).owner is None
    assert only_pod(pod("p", ownerReferences=[reference | {"controller": False}])).owner is None


def test_a_pod_may_be_heard_of_before_its_node_and_outlive_it() -> None:
    state = ClusterState()
    hear(state, PODS, pod("p", "a"))
    before = state.snapshot()
    assert before.nodes == ()
    assert before.pod(0).node == "a"
    assert before.node_of_pod.tolist() == [NONE]
    hear(state, NODES, node("a"))
    assert [each.name for each in state.snapshot().pods_on("a")] == ["p"]
    lose(state, NODES, node("a"))
    after = state.snapshot()
    assert (after.nodes, after.pod(0).node) == ((), "a")
    lose(state, PODS, pod("p", "a"))
    hear(state, NODES, node("b"))
    assert [name for name in state.snapshot().slot_names if name] == ["b"]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    state = state_of([node("a"), node("b")], [pod("p", "a", uid="first")])
    hear(state, PODS, pod("p", "b", uid="second", cpu="300m"))
    snapshot = state.snapshot()
    (found,) = snapshot.pods_of(snapshot.rows)
    assert (found.uid, found.node, found.requests["cpu"]) == ("second", "b", 300)


# ---------------------------------------------------------------------- who is alike

SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def volumes(*claims: str) -> Object:
    token = {"name": f"kube-api-access-{'-'.join(claims)}", "projected": {"sources": []}}
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return {"volumes": [token, *mounted]}


def test_pods_of_a_workload_are_one_class() -> None:
    stateful = owned("StatefulSet", "db")
    pods = [
        pod(
            f"db-{number}",
            on,
            spec=volumes(f"data-db-{number}"),
            labels={"app": "db", "apps.kubernetes.io/pod-index": str(number)},
            **stateful,
        )
        for number, on in enumerate("ab")
    ]
    state = state_of([node("a"), node("b")], pods)
    assert (classes(state), templates(state)) == (1, 1)
    snapshot = state.snapshot()
    (first,) = snapshot.pods_on("a")
    assert first.labels == {"app": "db", "apps.kubernetes.io/pod-index": "0"}
    (row,) = snapshot.rows_on("b")
    assert snapshot.pods.claims[int(row)] == ("data-db-1",)


@pytest.mark.parametrize(
    "other",
    [
        {"cpu": "200m"},
        {"labels": {"app": "other"}},
        {"namespace": "elsewhere"},
        {"spec": {"nodeSelector": {"disk": "ssd"}}},
        {"spec": {"priority": 1}},
        {"spec": {"tolerations": [{"operator": "Exists"}]}},
        {"spec": {"hostNetwork": True}},
        {"spec": volumes("x")},
    ],
    ids=str,
)
def test_pods_that_a_rule_may_tell_apart_are_not_alike(other: Any) -> None:  # noqa: ANN401
    state = state_of([], [pod("p"), pod("q", **other)])
    assert classes(state) == 2


@pytest.mark.parametrize(
    "affinity",
    [
        None,
        {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [SSD]}]}}},
        {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [SSD]},
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "NotIn", "values": ["z"]}
                            ]
                        },
                    ]
                }
            }
        },
    ],
    ids=["none", "one-term", "two-terms"],
)
def test_a_moved_pod_is_like_its_original(affinity: Object | None) -> None:
    spec = {"affinity": affinity} if affinity else {}
    original = pod("p", "a", spec=spec, labels={"app": "web", "topology.kubernetes.io/zone": "x"})
    history = {
        names.MIGRATION_ID: "0123",
        names.MIGRATION_STATUS: names.STATUS_COMPLETED,
        names.MIGRATION_REASON: "LoadBalancing",
        names.MIGRATED_FROM: "a",
    }
    labels = {"app": "web", "topology.kubernetes.io/zone": "y", **history}
    moved = pod("q", "b", labels=labels, annotations={names.ORIGINAL_POD: "gone"})
    moved["spec"] = pins.add(original["spec"] | {"nodeName": "b"}, "b")
    state = state_of([node("a"), node("b")], [original, moved])
    assert (classes(state), templates(state)) == (1, 1)
    (found,) = state.snapshot().pods_on("b")
    assert found.spec.get("affinity") == affinity
    assert found.labels == labels


def test_a_moved_pod_is_like_its_original_though_it_says_itself_what_the_server_adds() -> None:
    def spread(keys: list[str], *said: str) -> Object:
        expressions = [{"key": key, "operator": "In", "values": ["x"]} for key in said]
        rule = {"topologyKey": "zone", "labelSelector": {"matchExpressions": expressions}}
        return {"topologySpreadConstraints": [rule | {"matchLabelKeys": keys}]}

    original = pod("p", "a", spec=spread(["hash", "tier"], "hash", "tier"))
    moved = pod("q", "b", spec=spread(["tier"], "tier", "hash"))
    other = pod("r", "b", spec=spread(["hash", "tier"], "tier"))
    state = state_of([node("a"), node("b")], [original, moved])
    assert templates(state) == 1
    state = state_of([node("a"), node("b")], [original, other])
    assert templates(state) == 2


def test_a_pin_of_the_users_own_stays() -> None:
    raw = pod("p", "a")
    raw["spec"] = pins.add(raw["spec"], "a")
    assert pins.target(only_pod(raw).spec) == "a"


def test_pods_of_a_daemon_set_are_one_class_though_each_is_pinned() -> None:
    pods = []
    for on in "ab":
        raw = pod(f"agent-{on}", on, **owned("DaemonSet", "agent"))
        raw["spec"] = pins.add(raw["spec"], on)
        pods.append(raw)
    assert classes(state_of([node("a"), node("b")], pods)) == 1


def test_classes_nobody_uses_are_given_up() -> None:
    state = state_of([node("a")], [])
    for number in range(20):
        raw = pod("p", "a", cpu=f"{number + 1}m", labels={"run": str(number)})
        hear(state, PODS, raw)
        snapshot = state.snapshot()
        assert (classes(state), templates(state)) == (1, 1)
        assert len(snapshot.classes) <= 2
        assert snapshot.requested[0, 0] == number + 1
    lose(state, PODS, pod("p"))
    assert (classes(state), templates(state)) == (0, 0)
    assert all(owner is None for owner in state.snapshot().owners)


def test_nothing_is_remembered_of_pods_long_gone() -> None:
    """Watches are resumed for weeks without a listing."""
    state = ClusterState()
    for number in range(12_000):
        raw = pod("p", "a", cpu=f"{number + 1}m", labels={"run": str(number)})
        raw["status"]["containerStatuses"] = [
            {"name": "app", "resources": {"requests": {"cpu": "1"}}}
        ]
        hear(state, PODS, raw)
    lose(state, PODS, pod("p"))
    reader = state.pods._reader  # noqa: SLF001 - what it remembers shows nowhere else
    for cache in (reader._labels, reader._specs, reader._resized):  # noqa: SLF001
        assert len(cache) < 5_000


# ---------------------------------------------------------------------- what counts where


def test_a_terminating_pod_counts_for_room_and_not_for_balance() -> None:
    leaving = pod("q", "a", deletionTimestamp="2026-03-01T12:00:00Z")
    snapshot = state_of([node("a")], [pod("p", "a"), leaving]).snapshot()
    assert snapshot.requested[0, :3].tolist() == [200, 0, 2]
    assert snapshot.staying[0, :3].tolist() == [100, 0, 1]


def test_a_pod_that_waits_is_pending_unless_it_is_gated() -> None:
    gates = {"schedulingGates": [{"name": "not-yet"}]}
    state = state_of([node("a")], [pod("p"), pod("gated", spec=gates), pod("q", "a")])
    snapshot = state.snapshot()
    assert [each.name for each in snapshot.pods_of(snapshot.pending)] == ["p"]


def test_a_nominated_pod() -> None:
    snapshot = state_of([], [pod("p", status={"nominatedNodeName": "a"})]).snapshot()
    assert dict(snapshot.pods.nominated) == {0: "a"}


def asking(name: str, resource: str) -> Object:
    return {"name": name, "resources": {"requests": {resource: "2"}}}


def test_a_new_resource_may_come_at_any_time() -> None:
    state = state_of([node("a")], [pod("p", "a")])
    before = state.snapshot()
    hear(state, PODS, pod("q", "a", spec={"containers": [asking("app", "example.com/gpu")]}))
    hear(state, NODES, node("b", **{"example.com/gpu": "8"}))
    after = state.snapshot()
    assert after.resource_names == (*before.resource_names, "example.com/gpu")
    assert after.requested[:, -1].tolist() == [2, 0]
    assert after.room[:, -1].tolist() == [0, 8]
    assert after.requested[:, UNAVAILABLE_COLUMN].tolist() == [0, 0]


def test_what_no_node_has_fits_nowhere_and_makes_no_column() -> None:
    """Or one pod with thousands of invented resources would widen every table for ever."""
    greedy = [asking(f"c{number}", f"example.com/r{number}") for number in range(500)]
    state = state_of([node("a")], [pod("p", "a"), pod("greedy", spec={"containers": greedy})])
    snapshot = state.snapshot()
    assert len(snapshot.resource_names) == 5
    (waiting,) = snapshot.pods_of(snapshot.pending)
    assert waiting.requests["example.com/r7"] == 2
    (row,) = snapshot.pending
    assert snapshot.requests[snapshot.pods.request_set[row], UNAVAILABLE_COLUMN] == 500
    assert not snapshot.room[:, UNAVAILABLE_COLUMN].any()


def test_a_resized_pod_holds_what_its_status_says() -> None:
    status = {"containerStatuses": [{"name": "app", "allocatedResources": {"cpu": "700m"}}]}
    status["containerStatuses"][0]["resources"] = {"requests": {"cpu": "700m"}}
    state = state_of([node("a")], [pod("p", "a", status=status), pod("q", "a")])
    assert state.snapshot().requested[0, 0] == 800
    assert classes(state) == 1


def test_a_resized_sidecar_counts_before_anything_else_is_reported() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    resized = {"name": "proxy", "resources": {"requests": {"cpu": "900m"}}}
    raw = pod("p", "a", spec={"initContainers": [sidecar]})
    raw["status"]["initContainerStatuses"] = [resized]
    assert state_of([node("a")], [raw]).snapshot().requested[0, 0] == 1000


def test_a_pod_without_a_node_asks_for_what_its_specification_says() -> None:
    status = {"containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "5"}}}]}
    snapshot = state_of([node("a")], [pod("p", status=status)]).snapshot()
    assert snapshot.requests_of(0)["cpu"] == 100


# ---------------------------------------------------------------------- immutable snapshots


def test_a_snapshot_never_changes() -> None:
    state = state_of([node("a"), node("b")], [pod(f"p{n}", "a") for n in range(3)])
    snapshot = state.snapshot()
    expected = snapshot.pods_of(snapshot.rows)
    hear(state, PODS, pod("p0", "b", cpu="1"), pod("new", "b", labels={"x": "y"}))
    lose(state, PODS, pod("p1"))
    hear(state, NODES, node("a", cpu="1"), node("c"))
    lose(state, NODES, node("b"))
    relist(state, PODS, [pod("other", "c")])
    again = state.snapshot()
    assert snapshot.pods_of(snapshot.rows) == expected
    assert [each.name for each in snapshot.nodes] == ["a", "b"]
    assert snapshot.room[:, 0].tolist() == [4000, 4000]
    assert snapshot.requested[:, 0].tolist() == [300, 0]
    assert [each.name for each in again.pods_of(again.rows)] == ["other"]
    with pytest.raises(ValueError, match="read-only"):
        snapshot.pods.node[0] = 1


def test_two_snapshots_of_the_same_state_share_their_columns() -> None:
    state = state_of([node("a")], [pod("p", "a")])
    first, second = state.snapshot(), state.snapshot()
    assert np.shares_memory(first.pods.node, second.pods.node)
