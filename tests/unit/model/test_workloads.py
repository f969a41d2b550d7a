"""What the objects of a workload say about its state."""

from typing import Any

import pytest

from rescheduler.model import workloads


def _replica_set(
    *, metadata: dict[str, Any] | None = None, replicas: int | None = 3, **status: int
) -> dict[str, Any]:
    at_rest = {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3}
    return {
        "metadata": {"generation": 2} | (metadata or {}),
        "spec": {} if replicas is None else {"replicas": replicas},
        "status": at_rest | status,
    }


def _deployment(
    *, metadata: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: int
) -> dict[str, Any]:
    at_rest = {"observedGeneration": 5, "replicas": 3, "updatedReplicas": 3}
    return {
        "metadata": {"generation": 5} | (metadata or {}),
        "spec": {"replicas": 3} | (spec or {}),
        "status": at_rest | status,
    }


REVISION_2 = {"annotations": {"deployment.kubernetes.io/revision": "2"}}
DELETED = {"deletionTimestamp": "2026-03-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("replica_set", "reason"),
    [
        (_replica_set(), ""),
        (_replica_set(metadata=DELETED), "its ReplicaSet is being deleted"),
        (_replica_set(replicas=0), "its ReplicaSet is scaled to 0"),
        (_replica_set(observedGeneration=1), "its ReplicaSet has just been changed"),
        (_replica_set(replicas=4), "its ReplicaSet has 3 of 4 pods"),
        (_replica_set(replicas=2), "its ReplicaSet has 3 of 2 pods"),
        (_replica_set(readyReplicas=2), "2 of 3 of its ReplicaSet's pods are Ready"),
        (_replica_set(replicas=None), "its ReplicaSet has 3 of 1 pods"),
        ({"metadata": {}, "spec": {"replicas": 1}}, "its ReplicaSet has 0 of 1 pods"),
        ({"metadata": {"generation": 1}, "spec": {}}, "its ReplicaSet has just been changed"),
    ],
)
def test_a_replica_set(replica_set: dict[str, Any], reason: str) -> None:
    assert workloads.why_unsettled(replica_set, None) == reason


@pytest.mark.parametrize(
    ("ready", "left", "reason"),
    [
        (2, 1, ""),
        (3, 1, ""),  # it has not heard of it yet
        (1, 1, "1 of 3 of its ReplicaSet's pods are Ready"),
        (4, 1, "4 of 3 of its ReplicaSet's pods are Ready"),
    ],
)
def test_pods_that_left_their_services_are_not_missing(ready: int, left: int, reason: str) -> None:
    assert workloads.why_unsettled(_replica_set(readyReplicas=ready), None, left) == reason


@pytest.mark.parametrize(
    ("deployment", "reason"),
    [
        (_deployment(), ""),
        (_deployment(metadata=DELETED), "its Deployment is being deleted"),
        (_deployment(spec={"paused": True}), "its Deployment is paused"),
        (_deployment(observedGeneration=4), "its Deployment has just been changed"),
        (_deployment(metadata=REVISION_2), "its Deployment is being rolled out"),
        (_deployment(replicas=4), ""),
        (_deployment(spec={"replicas": 5}), "its Deployment is being rolled out or scaled"),
        ({"metadata": {"generation": 1}, "spec": {}}, "its Deployment has just been changed"),
    ],
)
def test_a_deployment(deployment: dict[str, Any], reason: str) -> None:
    assert workloads.why_changed(_replica_set(), deployment) == reason
    assert workloads.why_unsettled(_replica_set(), deployment) == reason


@pytest.mark.parametrize(
    ("strategy", "recreates"),
    [({"type": "Recreate"}, True), ({"type": "RollingUpdate"}, False), ({}, False), (None, False)],
)
def test_recreates(strategy: dict[str, Any] | None, *, recreates: bool) -> None:
    assert workloads.recreates({"spec": {"strategy": strategy}}) is recreates
