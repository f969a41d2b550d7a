"""Clusters in files, as kubectl would print them."""

import json
from pathlib import Path
from typing import Any

from tests.unit.observe.state.server import Object, node, owned, pod

REPLICAS = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}


def replica_set(name: str, replicas: int) -> Object:
    return {
        **REPLICAS,
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-ReplicaSet-{name}"},
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas, "readyReplicas": replicas},
    }


def replica(of: str, number: int, on: str, **how: Any) -> Object:  # noqa: ANN401
    return pod(f"{of}-{number}", on, **owned("ReplicaSet", of), **how)


def listed(nodes: list[Object], pods: list[Object], *more: Object) -> str:
    items = [{"apiVersion": "v1", "kind": "Node", **each} for each in nodes]
    items += [{"apiVersion": "v1", "kind": "Pod", **each} for each in pods]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *more]}, indent=4)


def uneven(path: Path, replicas: int = 6) -> str:
    """A web of so many replicas on the first of two nodes, a daemon on each, and one node that is
    cordoned.
    """
    cordoned = node("c")
    cordoned["spec"] = {"unschedulable": True}
    web = [replica("web", number, "a", cpu="500m") for number in range(replicas)]
    daemons = [pod(f"agent-{on}", on, **owned("DaemonSet", "agent")) for on in ("a", "b")]
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"namespace": "shop", "name": "agent", "uid": "uid-DaemonSet-agent"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    nodes = [node("a"), node("b"), cordoned]
    path.write_text(listed(nodes, [*web, *daemons], replica_set("web", replicas), agent))
    return str(path)
