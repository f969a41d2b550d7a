"""Clusters of a few pods as evictions are judged by, in few words."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rescheduler import wire
from rescheduler.config import Configuration
from rescheduler.guard import Eviction, GuardTable, Moment, Rules
from rescheduler.guard.table import by_name, by_pod
from rescheduler.model import names
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from tests.unit.plan.support.small_clusters import node, pod
from tests.unit.plan.support.snapshots import snapshot

START = 1_800_000_000.0
US = "system:serviceaccount:kube-system:rescheduler"
WEB = Owner(kind="ReplicaSet", name="web", uid="rs-web")
DB = Owner(kind="StatefulSet", name="db", uid="sts-db")


def at(seconds: float) -> Moment:
    return Moment(START + seconds, seconds)


def of(owner: Owner, name: str, where: str = "a", **more: Any) -> Pod:  # noqa: ANN401
    return replace(pod(name, where), owner=owner, **more)


def record(  # noqa: PLR0913 - all but the first are for few
    name: str,
    phase: str = "InProgress",
    *,
    created: float = 0.0,
    ended: float | None = None,
    attempt: int = 1,
    by: str | None = "alice",
    target: str = "b",
    **status: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Of the pod of that name; `by` None: nobody evicts it."""
    annotations = {} if by is None else {names.EVICTED_BY: by}
    told = {"phase": phase, **status}
    if ended is not None:
        told["completionTime"] = _time(ended)
    return {
        "metadata": {
            "name": f"mig-{name}-{attempt}",
            "namespace": "shop",
            "uid": f"record-{name}-{attempt}",
            "creationTimestamp": _time(created),
            "annotations": annotations,
        },
        "spec": {
            "pod": {"name": name, "uid": f"uid-{name}"},
            "source": "a",
            "attempt": attempt,
            **({"target": target} if target else {}),
        },
        "status": told,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(START + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def table(
    pods: Iterable[Pod],
    *records: Mapping[str, Any],
    nodes: Iterable[Node] | None = None,
    namespace: Mapping[str, Any] | None = None,
    replicas: int = 3,
    configuration: Configuration | None = None,
    taken_at: float = 0.0,
    **more: Any,  # noqa: ANN401
) -> GuardTable:
    others: dict[wire.Resource, list[dict[str, Any]]] = {
        wire.POD_MIGRATIONS: [dict(each) for each in records],
        wire.NAMESPACES: [{"metadata": {"name": "shop", **(namespace or {})}}],
        wire.STATEFUL_SETS: [
            {"metadata": {"namespace": "shop", "name": "db"}, "spec": {"replicas": replicas}}
        ],
    }
    found = snapshot(nodes or [node("a"), node("b")], pods, others=others)
    return GuardTable(
        snapshot=found,
        find=finding(found),
        records=by_pod(found.objects["podmigrations"]),
        by_name=by_name(found.objects["podmigrations"]),
        rules=Rules(configuration=configuration or Configuration(), ourselves=frozenset({US})),
        taken_at=taken_at,
        **more,
    )


def finding(found: Snapshot) -> Any:  # noqa: ANN401
    return {name: row for row, name in enumerate(found.pods.names) if name}.get


def evict(name: str = "web-1", **more: Any) -> Eviction:  # noqa: ANN401
    return Eviction(**{"namespace": "shop", "pod": name, "user": "alice", **more})
