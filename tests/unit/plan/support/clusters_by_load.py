"""Clusters of which only the load matters: nodes of 1,000 each, so that ten are one per cent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Usage

AS_OF = 1_772_366_400.0


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
        "owner": Owner(kind="ReplicaSet", name=f"rs-{name}", uid=f"rs-{name}"),
        "priority": 0,
        "spec": {},
    }
    requests = {"cpu": cpu, "memory": memory, "pods": 1}
    return Pod(name=name, uid=name, node=on, requests=requests, **(ordinary | more))


def measured(
    cluster: Snapshot,
    nodes: Mapping[str, float],
    pods: Mapping[str, float],
    *,
    outage: str = "",
    since: float | None = None,
) -> Snapshot:
    """The cluster with this CPU in use; nodes that are not named are unknown. `since`: when the
    first of the samples began that make them known.
    """
    by_pod = {name.split("/", 1)[1]: row for row, name in enumerate(cluster.pods.names) if name}
    node_cpu = np.array([nodes.get(each.name, np.nan) for each in cluster.nodes])
    pod_cpu = np.zeros(len(cluster.pods))
    for name, cpu in pods.items():
        pod_cpu[by_pod[name]] = cpu
    unknown = {int(row): "it is not measured" for row in np.flatnonzero(np.isnan(node_cpu))}
    usage = Usage(
        source="metrics-server",
        as_of=AS_OF,
        node_cpu=node_cpu,
        node_memory=np.where(np.isnan(node_cpu), np.nan, 100.0),
        pod_cpu=pod_cpu,
        pod_memory=np.zeros(len(cluster.pods)),
        pod_measured=np.ones(len(cluster.pods), np.bool_),
        unknown_nodes=unknown,
        node_since=np.full(len(cluster.nodes), AS_OF if since is None else since),
        outage=outage,
    )
    return replace(cluster, usage=usage)


def moves(decided: Plan) -> list[tuple[str, str, str]]:
    return [(move.pod, move.source, move.target) for move in decided.moves]


def refusals(decided: Plan) -> dict[str, tuple[str, ...]]:
    return {refusal.pod: refusal.reasons for refusal in decided.refusals}


A, B, C = node("a"), node("b"), node("c")
