"""What an API server would send, in a few words."""

from collections.abc import Iterable
from typing import Any

from rescheduler import wire
from rescheduler.observe.state import ClusterState
from rescheduler.wire import NODES, PODS, Batch, Malformed, Resource

Object = dict[str, Any]


def node(name: str, **allocatable: str) -> Object:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"} | allocatable
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"host": name}},
        "status": {
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    on: str = "",
    *,
    uid: str = "",
    cpu: str = "100m",
    spec: Object | None = None,
    status: Object | None = None,
    **metadata: Any,  # noqa: ANN401
) -> Object:
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"namespace": "shop", "name": name, "uid": uid or f"uid-{name}", **metadata},
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **(spec or {})},
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": [{"type": "Ready", "status": "True"}] if on else [],
            **(status or {}),
        },
    }


def owned(kind: str, name: str) -> Object:
    reference = {"kind": kind, "name": name, "uid": f"uid-{kind}-{name}", "controller": True}
    return {"ownerReferences": [reference]}


def hear(state: ClusterState, resource: Resource, *raws: Object) -> list[Malformed]:
    return state.take(resource, Batch(present=[wire.from_json(resource, raw) for raw in raws]))


def lose(state: ClusterState, resource: Resource, *raws: Object) -> None:
    state.take(resource, Batch(gone=[wire.from_json(resource, raw) for raw in raws]))


def relist(state: ClusterState, resource: Resource, raws: Iterable[Object]) -> None:
    state.begin_listing(resource)
    hear(state, resource, *raws)
    state.take(resource, Batch(complete=True))


def state_of(nodes: Iterable[Object], pods: Iterable[Object]) -> ClusterState:
    state = ClusterState()
    relist(state, NODES, nodes)
    relist(state, PODS, pods)
    return state
