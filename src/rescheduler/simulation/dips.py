"""Workloads that have fewer Ready pods than they should: since when, and whose doing it is.

Judged by what the cluster shows, change by change, and by nothing that the product says of itself
but the records of its migrations, which name the pods that it takes in hand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from rescheduler.embedded.store import Change, Key, Store, key_of
from rescheduler.model import conditions, podmigration
from rescheduler.model.objects import Object, controller, is_active
from rescheduler.wire import (
    DEPLOYMENTS,
    NODES,
    POD_MIGRATIONS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
)

Workload = tuple[str, str, str]
"""Kind, namespace and name."""

_OWNERS: Final = {
    "Deployment": DEPLOYMENTS,
    "ReplicaSet": REPLICA_SETS,
    "StatefulSet": STATEFUL_SETS,
}


class Cause(StrEnum):
    MOVE = "Move"
    """A pod went that a migration had in hand, and none was Ready in its place: never to happen."""
    RECREATE = "Recreate"
    """The same by a migration that may recreate it, as it was told to."""
    EVICTION = "Eviction"
    """A pod went that somebody else evicted, such as a drain, and none was Ready in its place."""
    OTHER = "Other"
    """Whatever else happens in a cluster: a roll-out, a scaling, a node that fails."""


@dataclass(slots=True, kw_only=True)
class Dip:
    workload: Workload
    began: datetime
    wanted: int
    """When it began."""
    short: int
    """How many were missing, at most."""
    cause: Cause
    """The worst there is: who takes one pod more from a workload that lacks one already has its
    part in it.
    """
    ended: datetime | None = None
    pod_seconds: float = 0.0
    """Missing pods, times how long each was missing."""

    def __str__(self) -> str:
        kind, namespace, name = self.workload
        return (
            f"{self.began:%H:%M:%S} {kind} {namespace}/{name}: {self.short} of {self.wanted} short"
        )


@dataclass(slots=True)
class _State:
    wanted: int = 0
    ready: int = 0
    was_complete: bool = False
    """One that is just coming up has lost nothing."""
    dip: Dip | None = None
    since: datetime | None = None
    """When what is missing was last counted into the dip."""


@dataclass(frozen=True, slots=True)
class _InHand:
    """Pods that unfinished migrations name, by UID: whether they may be recreated."""

    pods: dict[str, dict[Key, bool]] = field(default_factory=dict)

    def hear(self, change: Change) -> None:
        key, record = key_of(change.object), change.object
        over = change.kind == "DELETED" or podmigration.is_over(record)
        uids = (podmigration.pod_uid(record), podmigration.new_pod_of(record).get("uid"))
        for uid in filter(None, uids):
            known = self.pods.setdefault(uid, {})
            if over:
                known.pop(key, None)
                if not known:
                    del self.pods[uid]
            else:
                goes_first = podmigration.is_recreated(record)
                known[key] = podmigration.may_recreate(record) and goes_first

    def cause(self, uid: str) -> Cause:
        known = self.pods.get(uid)
        if not known:
            return Cause.OTHER
        return Cause.RECREATE if all(known.values()) else Cause.MOVE


class Dips:
    """From its making on: what was missing by then counts for nothing until it was complete."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self.all: list[Dip] = []
        """In the order in which they began; the last of them may not have ended."""
        self._states: dict[Workload, _State] = {}
        self._workloads: dict[str, Workload | None] = {}
        """By UID of the controller of a pod."""
        self._in_hand = _InHand()
        listeners = {
            DEPLOYMENTS: self._hear_of_workload,
            STATEFUL_SETS: self._hear_of_workload,
            REPLICA_SETS: self._hear_of_workload,
            PODS: self._hear_of_pod,
            POD_MIGRATIONS: self._in_hand.hear,
        }
        for resource, listener in listeners.items():
            for item in store.all(resource):
                listener(Change(store.version, "ADDED", resource, item, None))
        self._ends = [store.listen(resource, each) for resource, each in listeners.items()]

    def end(self) -> None:
        """No further change is heard, and what is missing still is counted up to now."""
        for end in self._ends:
            end()
        for state in self._states.values():
            self._count(state)

    # ------------------------------------------------------------------ hearing

    def _hear_of_workload(self, change: Change) -> None:
        item = change.object
        if change.resource == REPLICA_SETS and controller(item) is not None:
            return  # its Deployment counts
        key = _key(change.resource, item)
        if change.kind == "DELETED":
            state = self._states.pop(key, None)
            if state is not None:
                self._end_dip(state)
            return
        state = self._states.setdefault(key, _State())
        wanted = (item.get("spec") or {}).get("replicas", 1)
        if wanted != state.wanted:
            self._count(state)
            state.wanted = wanted
            self._judge(key, state, Cause.OTHER)

    def _hear_of_pod(self, change: Change) -> None:
        before = change.before if change.before is not None and _counts(change.before) else None
        after = change.object if change.kind != "DELETED" and _counts(change.object) else None
        was = self._workload(before) if before is not None else None
        now = self._workload(after) if after is not None else None
        if was == now:
            return
        if was is not None:
            self._add(was, -1, self._cause(change))
        if now is not None:
            self._add(now, 1, Cause.OTHER)

    def _cause(self, change: Change) -> Cause:
        pod = change.object
        if change.kind != "DELETED" and is_active(pod):
            # Nobody has told it to go: it is not Ready by itself, or with its node.
            return Cause.OTHER
        node = self._store.find(NODES, None, pod["spec"].get("nodeName") or "")
        if node is None or not conditions.holds(node, "Ready"):
            return Cause.OTHER
        cause = self._in_hand.cause(pod["metadata"]["uid"])
        return Cause.EVICTION if cause is Cause.OTHER and _is_evicted(pod) else cause

    def _workload(self, pod: Object) -> Workload | None:
        reference = controller(pod)
        if reference is None:
            return None
        uid = reference["uid"]
        if uid not in self._workloads:
            self._workloads[uid] = self._found(pod["metadata"]["namespace"], reference)
        return self._workloads[uid]

    def _found(self, namespace: str, reference: Object) -> Workload | None:
        if reference["kind"] not in _OWNERS:
            return None
        if reference["kind"] == "ReplicaSet":
            owner = self._store.find(REPLICA_SETS, namespace, reference["name"])
            above = controller(owner) if owner is not None else None
            if above is not None and above["kind"] == "Deployment":
                return "Deployment", namespace, above["name"]
        return reference["kind"], namespace, reference["name"]

    # ------------------------------------------------------------------ counting

    def _add(self, key: Workload, change: int, cause: Cause) -> None:
        state = self._states.get(key)
        if state is None:
            return
        self._count(state)
        state.ready += change
        self._judge(key, state, cause if change < 0 else Cause.OTHER)

    def _judge(self, key: Workload, state: _State, cause: Cause) -> None:
        short = state.wanted - state.ready
        if short <= 0:
            state.was_complete = True
            self._end_dip(state)
            return
        if not state.was_complete:
            return
        if state.dip is None:
            now = self._now()
            state.dip, state.since = (
                Dip(workload=key, began=now, wanted=state.wanted, short=short, cause=cause),
                now,
            )
            self.all.append(state.dip)
            return
        state.dip.short = max(state.dip.short, short)
        if _WORSE.index(cause) > _WORSE.index(state.dip.cause):
            state.dip.cause = cause

    def _count(self, state: _State) -> None:
        if state.dip is None or state.since is None:
            return
        now = self._now()
        missing = max(state.wanted - state.ready, 0)
        state.dip.pod_seconds += missing * (now - state.since).total_seconds()
        state.since = now

    def _end_dip(self, state: _State) -> None:
        if state.dip is not None:
            self._count(state)
            state.dip.ended = self._now()
            state.dip = None


_WORSE: Final = (Cause.OTHER, Cause.EVICTION, Cause.RECREATE, Cause.MOVE)


def _key(resource: Resource, item: dict[str, Any]) -> Workload:
    kind = next(name for name, each in _OWNERS.items() if each == resource)
    namespace, name = key_of(item)
    return kind, namespace, name


def _is_evicted(pod: Object) -> bool:
    """By the API, and not by a taint or for another pod."""
    target = conditions.find(pod, "DisruptionTarget")
    return target is not None and target.get("reason") == "EvictionByEvictionAPI"


def _counts(pod: Object) -> bool:
    """It is Ready to serve, or its copy does in its place; and nobody has told it to end."""
    return is_active(pod) and conditions.is_well(pod)
