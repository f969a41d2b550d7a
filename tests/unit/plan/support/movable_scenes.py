"""One pod with all that may hold it, as an API server sends it: a test says only what matters."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler import wire
from rescheduler.config import Configuration
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe import sources
from rescheduler.observe.state import ClusterState
from rescheduler.plan.fitting import Placement
from rescheduler.plan.movable import Movable
from rescheduler.wire import Batch

Object = dict[str, Any]

NOW = 1_800_000_000.0
NOW_TEXT = "2027-01-15T08:00:00Z"
"""The same moment."""

NODES: list[Object] = [
    {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    for name in ("a", "b")
]
OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "rs-uid", "controller": True}


def pod(name: str = "web-1", *, owner: Object | None = OWNER, **changes: Any) -> Object:  # noqa: ANN401
    """In the namespace shop, on node a. Changes are of metadata, spec or status, or new fields of
    the specification.
    """
    metadata: Object = {
        "namespace": "shop",
        "name": name,
        "uid": f"uid-{name}",
        "labels": {"app": "web"},
        "ownerReferences": [owner] if owner else [],
        **changes.pop("metadata", {}),
    }
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        **changes.pop("status", {}),
    }
    spec = {
        "nodeName": "a",
        "schedulerName": "default-scheduler",
        "containers": [
            {"name": "app", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
        ],
        **changes,
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def owned_by(kind: str, name: str = "web") -> Object:
    return {"kind": kind, "name": name, "uid": f"{kind}-uid", "controller": True}


def replica_set(*, replicas: int = 1, ready: int | None = None, **metadata: Any) -> Object:  # noqa: ANN401
    return {
        "metadata": {"namespace": "shop", "name": "web", "uid": "rs-uid", **metadata},
        "spec": {"replicas": replicas},
        "status": {
            # Of one that is scaled down, a pod is still there.
            "replicas": max(replicas, 1),
            "readyReplicas": replicas if ready is None else ready,
        },
    }


def stateful_set(**changes: Any) -> Object:  # noqa: ANN401
    revision = {"currentRevision": "r1", "updateRevision": "r1"}
    return {
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "uid": "StatefulSet-uid",
            **changes.pop("metadata", {}),
        },
        "spec": {"replicas": 3, **changes.pop("spec", {})},
        "status": {"replicas": 3, "readyReplicas": 3, **revision, **changes.pop("status", {})},
    }


def snapshot(
    *pods: Object,
    gaps: Iterable[Gap] = (),
    taken_at: float = 0.0,
    unseen: Iterable[str] = (),
    assumed: str = "",
    **objects: Iterable[Object],
) -> Snapshot:
    """Every kind was looked for, unless it is among the unseen ones. By default there is one
    ReplicaSet, at rest. Assumed: a copy of web-1 is to come, on this node.
    """
    given: Mapping[str, Iterable[Object]] = {
        "nodes": NODES,
        "pods": pods,
        "replicasets": [replica_set()],
        **objects,
    }
    state = ClusterState()
    for resource in sources.ALL:
        if resource.plural not in set(unseen):
            views = [wire.from_json(resource, raw) for raw in given.get(resource.plural, ())]
            told = state.take(resource, Batch(present=views, complete=True))
            assert not told, told
    if assumed:
        assert state.pods.assume("shop/web-1", "uid-web-1", assumed)
    return state.snapshot(gaps, taken_at=taken_at)


def movable(of: Snapshot, configuration: Configuration | None = None) -> Movable:
    return Movable(of, configuration or Configuration(), Placement(of))


def why(
    of: Snapshot | Object,
    configuration: Configuration | None = None,
    *,
    name: str = "web-1",
    asked: bool = False,
) -> tuple[str, ...]:
    """Why the pod of this name stays; of a pod, in a cluster of nothing else."""
    found = of if isinstance(of, Snapshot) else snapshot(of)
    return movable(found, configuration).why_it_stays(row(found, name), asked=asked)


def row(of: Snapshot, name: str = "web-1") -> int:
    return next(number for number, each in enumerate(of.pods.names) if each.endswith(f"/{name}"))
