"""Snapshots for tests of planning, made the way real ones are: from what an API server sends."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler import wire
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.state import ClusterState
from rescheduler.wire import DEPLOYMENTS, NODES, PODS, REPLICA_SETS, Batch, Resource

Object = dict[str, Any]


def snapshot(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    *,
    replica_sets: Iterable[Object] | None = None,
    deployments: Iterable[Object] = (),
    others: Mapping[Resource, Iterable[Object]] | None = None,
) -> Snapshot:
    """Every ReplicaSet that a pod belongs to is there and at rest, unless others are given."""
    pods = list(pods)
    if replica_sets is None:
        owners = {(pod.namespace, pod.owner) for pod in pods if pod.owner is not None}
        replica_sets = [replica_set(namespace, owner) for namespace, owner in owners]
    state = ClusterState()
    _take(state, NODES, map(_node, nodes))
    _take(state, PODS, map(_pod, pods))
    _take(state, REPLICA_SETS, replica_sets)
    _take(state, DEPLOYMENTS, deployments)
    for resource, raws in (others or {}).items():
        _take(state, resource, raws)
    return state.snapshot()


def _take(state: ClusterState, resource: Resource, raws: Iterable[Object]) -> None:
    views = [wire.from_json(resource, raw) for raw in raws]
    told = state.take(resource, Batch(present=views, complete=True))
    assert all("no allocatable" in each.problem for each in told), told


def replica_set(namespace: str, owner: Owner, *, ready: int = 1, **metadata: Any) -> Object:  # noqa: ANN401
    return {
        "metadata": {"namespace": namespace, "name": owner.name, "uid": owner.uid, **metadata},
        "spec": {"replicas": 1},
        "status": {"replicas": 1, "readyReplicas": ready},
    }


def _node(node: Node) -> Object:
    return {
        "metadata": {
            "name": node.name,
            "labels": node.labels,
            "annotations": dict(node.annotations),
        },
        "spec": {"taints": node.taints, "unschedulable": node.unschedulable},
        "status": {
            "allocatable": _quantities(node.allocatable),
            "conditions": [_condition("Ready", holds=node.ready)],
        },
    }


def _pod(pod: Pod) -> Object:
    metadata: Object = {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "labels": pod.labels,
        "annotations": pod.annotations,
    }
    if pod.owner is not None:
        owner = pod.owner
        reference = {"kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    if pod.terminating:
        metadata["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    asked = {name: amount for name, amount in pod.requests.items() if name != "pods"}
    container = {"name": "asks", "resources": {"requests": _quantities(asked)}}
    return {
        "metadata": metadata,
        "spec": {
            **pod.spec,
            "nodeName": pod.node,
            "priority": pod.priority,
            "containers": [*pod.spec.get("containers", ()), container],
        },
        "status": {"phase": pod.phase, "conditions": [_condition("Ready", holds=pod.ready)]},
    }


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in amounts.items()}


def _condition(kind: str, *, holds: bool) -> Object:
    return {"type": kind, "status": "True" if holds else "False"}
