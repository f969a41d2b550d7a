"""Objects as the API server sends them, read into the model."""

from typing import Any

import pytest

from rescheduler.model import names, pins
from rescheduler.model.cluster import Node, Owner, Pod, Workload
from rescheduler.observe import reading

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def _pod(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:  # noqa: ANN401
    named = {"namespace": "shop", "name": "web-1", "uid": "pod-uid"}
    return {"metadata": named | metadata, "spec": spec or {"containers": []}}


def test_a_node() -> None:
    raw = {
        "metadata": {"name": "a", "uid": "node-uid", "labels": {"zone": "x"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "110"}, **READY},
    }
    assert reading.node(raw) == Node(
        name="a",
        labels={"zone": "x"},
        taints=({"key": "k", "effect": "NoSchedule"},),
        allocatable={"cpu": 2000, "memory": 2**30, "pods": 110},
        ready=True,
        unschedulable=True,
    )


@pytest.mark.parametrize(
    "rest",
    [{}, {"spec": None, "status": None}, {"spec": {"taints": None}, "status": {}}],
    ids=["nothing", "nulls", "empty"],
)
def test_a_node_that_has_just_joined(rest: dict[str, Any]) -> None:
    node = reading.node({"metadata": {"name": "a", "uid": "u"}, **rest})
    assert (node.allocatable, node.taints, node.labels) == ({}, (), {})
    assert not node.ready
    assert not node.unschedulable


def test_a_pod() -> None:
    requests = {"resources": {"requests": {"cpu": "1"}}}
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "rs-uid", "controller": True}
    raw = _pod(
        {"nodeName": "a", "containers": [requests], "priority": 7},
        labels={"app": "web"},
        annotations={"note": "x"},
        ownerReferences=[{"kind": "X", "name": "x", "uid": "x"}, owner],
    ) | {"status": {"phase": "Running", **READY}}
    assert reading.pod(raw) == Pod(
        namespace="shop",
        name="web-1",
        uid="pod-uid",
        node="a",
        phase="Running",
        ready=True,
        terminating=False,
        labels={"app": "web"},
        annotations={"note": "x"},
        owner=Owner(kind="ReplicaSet", name="web", uid="rs-uid"),
        requests={"cpu": 1000, "pods": 1},
        priority=7,
        spec=raw["spec"],
    )


@pytest.mark.parametrize("status", [{}, {"status": None}, {"status": {}}], ids=str)
def test_a_pod_without_status(status: dict[str, Any]) -> None:
    pod = reading.pod(_pod(labels=None, annotations=None, ownerReferences=None) | status)
    assert (pod.node, pod.phase, pod.ready, pod.priority) == ("", "", False, 0)
    assert (pod.labels, pod.annotations, pod.owner) == ({}, {}, None)
    assert not pod.finished
    assert not pod.terminating


@pytest.mark.parametrize(
    ("phase", "finished"),
    [(phase, False) for phase in ("Pending", "Running", "Unknown")]
    + [(phase, True) for phase in ("Succeeded", "Failed")],
)
def test_a_finished_pod(phase: str, *, finished: bool) -> None:
    assert reading.pod(_pod() | {"status": {"phase": phase}}).finished is finished


def test_a_terminating_pod() -> None:
    assert reading.pod(_pod(deletionTimestamp="2026-03-01T12:00:00Z")).terminating


def test_an_owner_that_does_not_control_it_is_none() -> None:
    reference = {"kind": "ReplicaSet", "name": "web", "uid": "rs-uid"}
    assert reading.pod(_pod(ownerReferences=[reference])).owner is None
    assert reading.pod(_pod(ownerReferences=[reference | {"controller": False}])).owner is None


def test_the_pin_is_taken_out_of_a_moved_pod_only() -> None:
    spec = {"containers": [], "affinity": {"podAffinity": {"x": 1}}}
    pinned = pins.add(spec, "b")
    assert reading.pod(_pod(pinned)).spec == pinned
    assert reading.pod(_pod(pinned, labels={names.MIGRATION_ID: "1"})).spec == spec


def _replica_set(owner: str | None = "deployment-uid") -> dict[str, Any]:
    reference = {"kind": "Deployment", "name": "web", "uid": owner, "controller": True}
    metadata = {"namespace": "shop", "name": "web-1", "uid": "rs-uid"}
    return {
        "metadata": metadata | {"ownerReferences": [reference] if owner else None},
        "spec": {"replicas": 2},
        "status": {"replicas": 2, "readyReplicas": 2},
    }


def _deployment(**spec: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    status = {"replicas": 2, "updatedReplicas": 2}
    return {"deployment-uid": {"metadata": {}, "spec": {"replicas": 2, **spec}, "status": status}}


def test_a_workload() -> None:
    assert reading.workload(_replica_set(), _deployment()) == Workload(
        uid="rs-uid",
        recreates=False,
        unsettled="",
    )


def test_a_workload_knows_what_its_deployment_says() -> None:
    assert reading.workload(_replica_set(), _deployment(strategy={"type": "Recreate"})).recreates
    paused = reading.workload(_replica_set(), _deployment(paused=True))
    assert paused.unsettled == "its Deployment is paused"


@pytest.mark.parametrize("owner", [None, "another-uid"], ids=["bare", "deployment-gone"])
def test_a_workload_without_a_deployment(owner: str | None) -> None:
    workload = reading.workload(_replica_set(owner), _deployment(paused=True))
    assert not workload.recreates
    assert workload.unsettled == ""
