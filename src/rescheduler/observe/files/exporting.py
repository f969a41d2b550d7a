"""A snapshot as Kubernetes objects, reduced to what we keep of them. Pure.

Read into an empty state, they give the same objects again, whatever rows and slots things had: this
is how snapshots are saved, and how two states are told to be the same.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from rescheduler.model import pins, resources
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, PHASES, Flag
from rescheduler.model.names import LEAVING, ORIGINAL_POD
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import sources
from rescheduler.wire import NODES, POD_MIGRATIONS, PODS, Resource
from rescheduler.wire.schema import kind_of

# All but our own are called as the messages that they are sent in.
KINDS: Final = {each: kind_of(each).message for each in sources.ALL} | {
    POD_MIGRATIONS: "PodMigration"
}

BY_KIND: Final = {(resource.group_version, kind): resource for resource, kind in KINDS.items()}
"""By apiVersion and kind."""


Json = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_HOLDS = ("containerStatuses", "initContainerStatuses", "resources", "allocatedResources")
"""What a pod's status says about a resize."""


def to_objects(snapshot: Snapshot) -> list[Object]:
    """By kind, namespace and name. What is only assumed is left out."""
    return list(each_object(snapshot))


def each_object(snapshot: Snapshot) -> Iterator[Object]:
    """The same, one at a time: all pods of a large cluster at once would take gigabytes."""
    for resource, kind in sorted(KINDS.items(), key=lambda each: each[1]):
        head = {"apiVersion": resource.group_version, "kind": kind}
        for each in _objects_of(resource, snapshot):
            yield head | each


def _objects_of(resource: Resource, snapshot: Snapshot) -> Iterator[Json]:
    if resource == NODES:
        return (_node(each) for each in snapshot.nodes)
    if resource == PODS:
        return _Pods(snapshot).all()
    return (dict(each) for _, each in sorted(snapshot.objects.get(resource.plural, {}).items()))


# ------------------------------------------------------------------ nodes


def _node(node: Node) -> Json:
    ready = {"type": "Ready", "status": "True" if node.ready else "False"}
    return {
        "metadata": _filled(
            name=node.name,
            uid=node.uid,
            labels=node.labels,
            annotations=node.annotations,
            deletionTimestamp=node.deleted_at,
        ),
        "spec": _filled(taints=list(node.taints), unschedulable=node.unschedulable),
        "status": _filled(
            allocatable={name: _quantity(name, n) for name, n in node.allocatable.items()},
            conditions=[ready],
        ),
    }


def _quantity(name: str, amount: int) -> str:
    return f"{amount}m" if name == resources.CPU else str(amount)


# ------------------------------------------------------------------ pods


class _Pods:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._pods = snapshot.pods
        self._specs: dict[int, Object] = {}
        """By template: shared by all pods made of it."""

    def all(self) -> Iterator[Json]:
        names = self._pods.names
        seen = (row for row in self._snapshot.rows.tolist() if not self._has(row, Flag.ASSUMED))
        # Not by the whole name: "a-b/c" is after "a/c", though "-" is before "/".
        for row in sorted(seen, key=lambda row: names[row].split("/", 1)):
            yield {
                "metadata": self._metadata(row),
                "spec": self._spec(row),
                "status": self._status(row),
            }

    def _has(self, row: int, flag: Flag) -> bool:
        return bool(int(self._pods.flags[row]) & flag)

    def _metadata(self, row: int) -> Json:
        snapshot, pods = self._snapshot, self._pods
        namespace, name = pods.names[row].split("/", 1)
        return _filled(
            namespace=namespace,
            name=name,
            uid=pods.uids[row],
            labels={**snapshot.class_of(row).labels, **snapshot.own_labels_of(row)},
            annotations=pods.annotations.get(row),
            ownerReferences=self._owners(row),
            creationTimestamp=time_text(int(pods.created[row])),
            deletionTimestamp=time_text(pods.deleting.get(row, 0)),
        )

    def _owners(self, row: int) -> list[Json]:
        number = int(self._pods.owner[row])
        owner = self._snapshot.owners[number] if number != NONE else None
        if owner is None:
            return []
        return [_filled(kind=owner.kind, name=owner.name, uid=owner.uid, controller=True)]

    def _spec(self, row: int) -> Json:
        spec = dict(self._template_spec(row))
        slot = int(self._pods.node[row])
        node = (self._snapshot.slot_names[slot] or "") if slot != NONE else ""
        if claims := self._pods.claims.get(row):
            spec["volumes"] = _with_claims(spec["volumes"], claims)
        if not node:
            target = self._pods.pinned.get(row)
            return pins.add(spec, target) if target else spec
        spec["nodeName"] = node
        if self._is_of_a_daemon_set(row):
            return _pinned_as_daemon(spec, node)
        # A copy has its pin for life. Whoever reads it takes the pin out again.
        moved = ORIGINAL_POD in self._pods.annotations.get(row, ())
        return pins.add(spec, node) if moved else spec

    def _template_spec(self, row: int) -> Object:
        number = self._snapshot.class_of(row).template
        if number not in self._specs:
            self._specs[number] = self._snapshot.template_of(row).spec()
        return self._specs[number]

    def _is_of_a_daemon_set(self, row: int) -> bool:
        return any(owner.get("kind") == "DaemonSet" for owner in self._owners(row))

    def _status(self, row: int) -> Json:
        pods = self._pods
        resized: Object = msgspec.json.decode(pods.resized.get(row, b"{}"))
        return _filled(
            phase=PHASES[pods.phase[row]],
            startTime=time_text(int(pods.started[row])),
            nominatedNodeName=pods.nominated.get(row),
            conditions=[*self._conditions(row), *_refusal_to_resize(resized)],
            **{key: resized[key] for key in _HOLDS if key in resized},
        )

    def _conditions(self, row: int) -> Iterator[Json]:
        if self._has(row, Flag.LEFT):
            yield {"type": "Ready", "status": "False", "reason": LEAVING}
        elif self._has(row, Flag.READY):
            yield {"type": "Ready", "status": "True"}
        if self._has(row, Flag.UNSCHEDULABLE):
            yield {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def _with_claims(volumes: Sequence[Object], claims: Sequence[str]) -> list[Object]:
    """The names of the pod's claims, in place again."""
    left = iter(claims)
    named: list[Object] = []
    for volume in volumes:
        if "persistentVolumeClaim" in volume:
            claim = _filled(**volume["persistentVolumeClaim"], claimName=next(left))
            named.append({**volume, "persistentVolumeClaim": claim})
            continue
        if "ephemeral" in volume:
            next(left)  # follows from the name of the pod
        named.append(volume)
    return named


def _pinned_as_daemon(spec: Json, node: str) -> Json:
    """As the DaemonSet controller does: every term names the node and no other."""
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get(_REQUIRED)
    if not required:
        return spec
    pin = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = [{**term, "matchFields": [pin]} for term in required["nodeSelectorTerms"]]
    node_affinity = {**node_affinity, _REQUIRED: {"nodeSelectorTerms": terms}}
    return {**spec, "affinity": {**affinity, "nodeAffinity": node_affinity}}


def _refusal_to_resize(status: Object) -> Iterator[Json]:
    """The one condition that counts for what a pod holds: the first of its type, if there are
    several, which no kubelet writes and no API server refuses.
    """
    conditions = status.get("conditions") or ()
    reasons = [each.get("reason") for each in conditions if each.get("type") == "PodResizePending"]
    if reasons[:1] == ["Infeasible"]:
        yield {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}


# ------------------------------------------------------------------ values


def _filled(**fields: Any) -> Json:  # noqa: ANN401
    """Without what is empty, which an API server leaves out as well."""
    return {name: value for name, value in fields.items() if value}


def time_text(seconds: int) -> str:
    if not seconds:
        return ""
    try:
        moment = _EPOCH + dt.timedelta(seconds=seconds)
    except OverflowError:
        return ""  # a time that no calendar has, and no API server writes
    return moment.replace(tzinfo=None).isoformat() + "Z"


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
