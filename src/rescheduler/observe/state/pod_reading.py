"""One pod as the server sent it -> the facts that its row holds.

This is the hot path: 150,000 times at the first sync, then once an event. What pods have in common
is therefore not decoded again: the bytes of a specification, and of a set of labels, are looked up
first, and only those never seen before are taken apart.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from rescheduler import wire
from rescheduler.model import controllers, names, pins, resources
from rescheduler.model.columns import PHASES, Flag
from rescheduler.model.objects import Object
from rescheduler.observe.state import canonical
from rescheduler.wire import View

K = TypeVar("K")
V = TypeVar("V")

Pairs = tuple[tuple[str, str], ...]
OwnerKey = tuple[str, str, str]
"""Kind, name and UID."""

# Plain numbers: the operators of an enumeration cost as much as reading a pod.
_READY: Final = int(Flag.READY)
_LEFT: Final = int(Flag.READY | Flag.LEFT)
_TERMINATING: Final = int(Flag.TERMINATING)
_GATED: Final = int(Flag.GATED)
_UNSCHEDULABLE: Final = int(Flag.UNSCHEDULABLE)

FINISHED: Final = ("Succeeded", "Failed")
_PHASE_NUMBERS: Final = {phase: number for number, phase in enumerate(PHASES)}
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - what Kubernetes calls it
_OWN_LABELS: Final = names.OF_ONE_POD | names.OF_ONE_PLACE
# How many more than are in use a cache may hold before it is emptied.
_SLACK: Final = 4096


_RESIZE_PENDING: Final = "PodResizePending"
_ABOUT_RESIZING: Final = (
    "containerStatuses",
    "initContainerStatuses",
    "resources",
    "allocatedResources",
)


class PodFacts(NamedTuple):
    name: str
    """namespace/name"""
    namespace: str
    uid: str
    node: str
    phase: int
    flags: int
    created: int
    started: int
    owner: OwnerKey | None
    labels: bytes
    """Those that alike pods have in common, as JSON."""
    own_labels: Pairs
    spec_json: bytes
    resized: "Resized | None"
    annotations: Mapping[str, str] | None
    claims: tuple[str, ...]
    nominated: str
    pinned: str
    deleting: int

    @property
    def has_more(self) -> bool:
        """Than most pods have."""
        return bool(
            self.annotations
            or self.claims
            or self.nominated
            or self.pinned
            or self.deleting
            or self.resized
        )


class Resized(NamedTuple):
    """What a pod holds when that is not what its specification says: during and after a resize."""

    requests: resources.Resources
    status_json: bytes
    """By which it is known."""


class _Spec(NamedTuple):
    canonical: bytes
    ephemeral: tuple[str, ...]
    """Names of the volumes for which each pod gets a claim of its own."""


class PodReader:
    def __init__(self, in_use: Callable[[], int]) -> None:
        self._in_use = in_use
        self._labels: dict[bytes, tuple[bytes, Pairs]] = {}
        self._specs: dict[bytes, _Spec] = {}
        self._resized: dict[tuple[bytes, ...], Resized | None] = {}

    def _remember(self, cache: dict[K, V], key: K, value: V) -> V:
        """Templates come and go with every rollout; who is asked for again comes in again."""
        if len(cache) >= 2 * self._in_use() + _SLACK:
            cache.clear()
        cache[key] = value
        return value

    def read(self, pod: View) -> PodFacts:
        """The view is used up by it. Raises ValueError for what no API server would send."""
        metadata, spec, status = pod.metadata, pod.spec, pod.status
        namespace, name, uid = metadata.namespace, metadata.name, metadata.uid
        if not namespace or not name or not uid:
            raise ValueError("it has no namespace, name or uid")
        annotations = _annotations(metadata.annotations)
        owner = _owner(metadata.ownerReferences)
        labels, own_labels = self._split(metadata.labels)
        node = spec.nodeName
        spec.nodeName = ""
        pinned = ""
        if owner is not None and owner[0] == "DaemonSet":
            canonical.take_out_daemon_pin(spec)
        elif _is_copy(name, owner, annotations):
            pinned = canonical.take_out_our_pin(spec)
        spec_json, claims = self._read_spec(name, spec)
        flags, resizing = _conditions(status.conditions)
        deleting = wire.seconds(metadata.deletionTimestamp)
        if deleting:
            flags |= _TERMINATING
        if not node and spec.schedulingGates:
            flags |= _GATED
        return PodFacts(
            f"{namespace}/{name}",
            namespace,
            uid,
            node,
            _PHASE_NUMBERS.get(status.phase, 0),
            flags,
            wire.seconds(metadata.creationTimestamp),
            wire.seconds(status.startTime),
            owner,
            labels,
            own_labels,
            spec_json,
            # As long as it has no node, what it asks for is what counts.
            self._read_resized(spec_json, status, resizing) if node else None,
            annotations,
            claims,
            status.nominatedNodeName,
            "" if node else pinned,
            deleting,
        )

    def _split(self, labels: Any) -> tuple[bytes, Pairs]:  # noqa: ANN401 - part of a view
        key = wire.opaque_key(labels)
        known = self._labels.get(key)
        if known is not None:
            return known
        pairs = wire.opaque_strings(labels)
        shared = {key: value for key, value in pairs.items() if key not in _OWN_LABELS}
        own = tuple(sorted(pair for pair in pairs.items() if pair[0] in _OWN_LABELS))
        split = msgspec.json.encode(shared, order="sorted"), own
        if pairs.keys() & names.OF_ONE_POD:
            return split  # nobody else has these, so nobody will ask for them
        return self._remember(self._labels, key, split)

    def _read_spec(self, pod: str, spec: Any) -> tuple[bytes, tuple[str, ...]]:  # noqa: ANN401
        """Its canonical form, and the claims that the pod mounts."""
        volumes = spec.volumes
        _take_out_token(volumes)
        key = wire.fingerprint(spec)
        known = self._specs.get(key)
        if known is None:
            claims = _take_out_claims(pod, volumes)
            if claims:
                key = wire.fingerprint(spec)
            known = self._specs.get(key)
            if known is None:
                known = _Spec(canonical.encode(wire.to_json(spec)), _ephemeral(volumes))
                self._remember(self._specs, key, known)
            return known.canonical, claims
        if known.ephemeral:
            return known.canonical, tuple(f"{pod}-{name}" for name in known.ephemeral)
        return known.canonical, ()

    def _read_resized(
        self,
        spec_json: bytes,
        status: Any,  # noqa: ANN401
        resizing: bytes,
    ) -> Resized | None:
        # Each between its own borders, so that none is taken for part of another.
        prints = [wire.fingerprint(each) for each in status.containerStatuses]
        prints += [b"init" + wire.fingerprint(each) for each in status.initContainerStatuses]
        if wire.has(status, "resources"):
            prints.append(b"pod" + wire.fingerprint(status.resources))
        if allocated := wire.opaque_key(status.allocatedResources):
            prints.append(b"allocated" + allocated)
        if not prints:
            return None
        key = (spec_json, resizing, *prints)
        if key not in self._resized:
            self._remember(self._resized, key, _resized(spec_json, wire.to_json(status)))
        return self._resized[key]


def _resized(spec_json: bytes, status: Object) -> Resized | None:
    spec: Object = msgspec.json.decode(spec_json)
    actual = resources.of_pod(spec, status)
    if actual == resources.of_pod(spec):
        return None
    relevant = {key: status[key] for key in _ABOUT_RESIZING if key in status}
    pending = [
        {key: each[key] for key in ("type", "status", "reason") if key in each}
        for each in status.get("conditions", ())
        if each.get("type") == _RESIZE_PENDING
    ]
    if pending:
        relevant["conditions"] = pending
    return Resized(actual, msgspec.json.encode(relevant, order="sorted"))


def _annotations(annotations: Mapping[str, str]) -> Mapping[str, str] | None:
    found = [key for key in annotations if key in names.READ_ON_PODS]
    return {key: annotations[key] for key in found} if found else None


def _owner(references: Any) -> OwnerKey | None:  # noqa: ANN401
    for each in references:
        if each.controller:
            return controllers.known_as(each.kind, each.apiVersion), each.name, each.uid
    return None


def _is_copy(name: str, owner: OwnerKey | None, annotations: Mapping[str, str] | None) -> bool:
    if annotations is not None and names.ORIGINAL_POD in annotations:
        return True
    return pins.is_name_of_copy(name, owner[1] if owner is not None else "")


def _conditions(conditions: Any) -> tuple[int, bytes]:  # noqa: ANN401
    """Flags, and what is said about a resize."""
    flags, resizing = 0, b""
    for each in conditions:
        kind = each.type
        if kind == "Ready":
            if each.status == "True":
                flags |= _READY
            elif each.reason == names.LEAVING:
                flags |= _LEFT
        elif kind == "PodScheduled":
            if each.status == "False" and each.reason == "Unschedulable":
                flags |= _UNSCHEDULABLE
        elif kind == _RESIZE_PENDING:
            resizing += f"{each.status} {each.reason};".encode()
    return flags, resizing


def _take_out_token(volumes: Any) -> None:  # noqa: ANN401
    """The volume with the token of the service account: every pod's has a name of its own."""
    for index in reversed(range(len(volumes))):
        if volumes[index].name.startswith(_TOKEN_VOLUME):
            del volumes[index]


def _take_out_claims(pod: str, volumes: Any) -> tuple[str, ...]:  # noqa: ANN401
    claims: list[str] = []
    for volume in volumes:
        source = volume.volumeSource
        if wire.has(source, "persistentVolumeClaim"):
            claims.append(source.persistentVolumeClaim.claimName)
            source.persistentVolumeClaim.claimName = ""
        elif wire.has(source, "ephemeral"):
            claims.append(f"{pod}-{volume.name}")
    return tuple(claims)


def _ephemeral(volumes: Any) -> tuple[str, ...]:  # noqa: ANN401
    return tuple(each.name for each in volumes if wire.has(each.volumeSource, "ephemeral"))
