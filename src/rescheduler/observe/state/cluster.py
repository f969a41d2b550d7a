"""The live state of the whole cluster: batches of news in, immutable snapshots out. Pure.

Whatever the order of events, relists and reconnects, it ends as a fresh list would have it: a
listing names all that is there, and what it does not name is gone at its end.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rescheduler import wire
from rescheduler.model import daemons_to_come, names
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe.state.amounts import ResourceNames
from rescheduler.observe.state.nodes import NodeTable
from rescheduler.observe.state.objects import ObjectTable, key_of
from rescheduler.observe.state.pods import PodTable
from rescheduler.wire import (
    DAEMON_SETS,
    NODES,
    PODS,
    REPLICA_SETS,
    Batch,
    Malformed,
    Resource,
    View,
)

# What is computed with later is tried at once: here it is known which object is to blame.
_CHECKS: Final[Mapping[Resource, Callable[[Object], object]]] = {DAEMON_SETS: daemons_to_come.read}


@dataclass(slots=True)
class Unreadable:
    """Objects of one kind that are there and cannot be read."""

    problems: dict[str, str] = field(default_factory=dict)
    """By name, as long as they are there."""
    unheard: set[str] = field(default_factory=set)


class ClusterState:
    def __init__(self) -> None:
        self._resource_names = ResourceNames()
        self.nodes = NodeTable(self._resource_names)
        self.pods = PodTable(self.nodes, self._resource_names)
        self._others: dict[str, ObjectTable] = {}
        self._unreadable: dict[str, Unreadable] = {}

    def begin_listing(self, resource: Resource) -> None:
        """From here to the batch that is complete, everything that is there is named."""
        self._table(resource).begin_listing()
        self._unreadable_of(resource).unheard = set(self._unreadable_of(resource).problems)

    def take(self, resource: Resource, batch: Batch) -> list[Malformed]:
        """What could not be read of it and has not been told before."""
        new: list[Malformed] = []
        unreadable = self._unreadable_of(resource)
        put, remove = self._writers(resource)
        for view in batch.present:
            try:
                oddity = put(view)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
                new += self._note(resource, Malformed(_name(view), _words(problem)))
                remove(_name(view))
            else:
                if oddity:
                    new += self._note(resource, Malformed(_name(view), oddity))
                elif unreadable.problems:
                    unreadable.problems.pop(_name(view), None)
        gone_unread = [each.name for each in batch.malformed if each.gone]
        for name in (*map(_name, batch.gone), *gone_unread):
            remove(name)
            unreadable.problems.pop(name, None)
        for each in batch.malformed:
            new += [] if each.gone else self._note(resource, each)
            remove(each.name)
        if batch.complete:
            self._table(resource).end_listing()
            for name in unreadable.unheard:
                unreadable.problems.pop(name, None)
            unreadable.unheard = set()
        return new

    def forget(self, resource: Resource) -> None:
        """All of it is unknown from now on: nobody may look any more."""
        self.begin_listing(resource)
        self.take(resource, Batch(complete=True))

    def snapshot(
        self,
        gaps: Iterable[Gap] = (),
        *,
        taken_at: float = 0.0,
        heard_at: Mapping[str, float] | None = None,
    ) -> Snapshot:
        slots, slot_names, allocatable = self.nodes.share()
        pods = self.pods.share()
        classes, templates = self.pods.share_common()
        return Snapshot(
            pods=pods,
            node_slots=slots,
            slot_names=slot_names,
            allocatable=allocatable,
            requests=self.pods.share_requests(),
            request_sets=self.pods.share_request_sets(),
            resource_names=self._resource_names.all(),
            classes=classes,
            templates=templates,
            owners=self.pods.share_owners(),
            label_sets=self.pods.share_label_sets(),
            objects={name: table.share() for name, table in self._others.items()},
            taken_at=taken_at,
            heard_at=heard_at or {},
            gaps=tuple(gaps),
            unreadable=tuple(
                f"{kind} {name}: {problem}"
                for kind, unreadable in sorted(self._unreadable.items())
                for name, problem in sorted(unreadable.problems.items())
            ),
        )

    # ------------------------------------------------------------------ tables

    def _table(self, resource: Resource) -> NodeTable | PodTable | ObjectTable:
        if resource == PODS:
            return self.pods
        if resource == NODES:
            return self.nodes
        return self._others.setdefault(resource.plural, ObjectTable())

    def _writers(self, resource: Resource) -> tuple[Callable[[View], str], Callable[[str], None]]:
        """How to put a view into the table, which tells what is odd about it, and how to take a
        name out of it.
        """
        table = self._table(resource)
        if isinstance(table, PodTable):
            return table.put, table.remove
        if isinstance(table, NodeTable):
            return lambda view: table.put(wire.to_json(view)), table.remove
        check = _CHECKS.get(resource)

        def put(view: View) -> str:
            if resource == REPLICA_SETS and _is_left_behind(view):
                table.remove(_key(_name(view)))
                return ""
            raw = _reduced(wire.to_json(view))
            if check:
                check(raw)
            table.put(raw)
            return ""

        return put, lambda name: table.remove(_key(name))

    def _note(self, resource: Resource, malformed: Malformed) -> list[Malformed]:
        unreadable = self._unreadable_of(resource)
        unreadable.unheard.discard(malformed.name)
        known = malformed.name in unreadable.problems
        unreadable.problems[malformed.name] = malformed.problem
        return [] if known else [malformed]

    def _unreadable_of(self, resource: Resource) -> Unreadable:
        return self._unreadable.setdefault(resource.plural, Unreadable())


def _is_left_behind(replica_set: View) -> bool:
    """It wants no pods and has none: Deployments keep ten such each, to go back to."""
    spec, status = replica_set.spec, replica_set.status
    return wire.has(spec, "replicas") and not spec.replicas and not status.replicas


def _reduced(raw: Object) -> Object:
    """Without annotations that we do not read: some are large, and some are secret."""
    key_of(raw)  # a KeyError for what has no name
    metadata = raw["metadata"]
    kept = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key in names.READ_ON_OTHERS
    }
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**raw, "metadata": rest | ({"annotations": kept} if kept else {})}


def _name(view: View) -> str:
    metadata = view.metadata
    namespace: str = metadata.namespace
    return f"{namespace}/{metadata.name}" if namespace else str(metadata.name)


def _key(name: str) -> tuple[str, str]:
    namespace, _, own = name.rpartition("/")
    return namespace, own


def _words(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
