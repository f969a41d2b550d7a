"""The cluster as evictions are judged by: a snapshot, and the records of moves by pod. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rescheduler.config import Configuration, permits
from rescheduler.documents import durations
from rescheduler.model import controllers, names, podmigration, taints
from rescheduler.model.cluster import Owner, is_part_of_its_node
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.objects import Object, annotations, labels, spec
from rescheduler.model.snapshot import Snapshot

NEEDED: Final = ("nodes", "pods", "namespaces", "statefulsets", podmigration.PLURAL)
"""What has to be observed for it."""
_STALE_SECONDS: Final = 30.0
_LONGEST_PATIENCE: Final = 24 * durations.HOUR / durations.SECOND
_OFF: Final = "off"
_READY: Final = int(Flag.READY | Flag.LEFT)
_TERMINATING: Final = int(Flag.TERMINATING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How evictions are judged."""

    configuration: Configuration
    ourselves: frozenset[str] = frozenset()
    """The users whose evictions are our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTable:
    snapshot: Snapshot
    find: Callable[[str], int | None]
    """By namespace/name: the row in which the pod may be. Another may be there by now."""
    records: Mapping[str, Sequence[Object]]
    """By UID of the pod, in order of their attempts."""
    rules: Rules
    by_name: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    """By namespace/name of the pod, those that evictions asked for. The names of StatefulSets' pods
    are those of their successors.
    """
    taken_at: float
    """By the clock of whoever answers."""
    is_paused: bool = False
    """Nothing is begun, because somebody has paused us."""
    not_asked: Mapping[str, str] = field(default_factory=dict)
    """By UID: why no move of that pod can be asked for."""

    def is_stale(self, now: float) -> bool:
        """What is so old is no ground to hold anybody."""
        return now - self.taken_at > _STALE_SECONDS

    # ------------------------------------------------------------------ pods

    def row(self, full_name: str) -> int | None:
        row, pods = self.find(full_name), self.snapshot.pods
        if row is None or row >= len(pods) or pods.names[row] != full_name:
            return None
        return None if int(pods.flags[row]) & int(Flag.ASSUMED) else row

    def uid(self, row: int) -> str:
        return self.snapshot.pods.uids[row]

    def node(self, row: int) -> str:
        """Empty while it is not bound."""
        slot = int(self.snapshot.pods.node[row])
        return (self.snapshot.slot_names[slot] or "") if slot != NONE else ""

    def is_terminating(self, row: int) -> bool:
        return bool(int(self.snapshot.pods.flags[row]) & _TERMINATING)

    def is_ready(self, row: int) -> bool:
        """Also one that we have taken out of its Services ourselves."""
        return bool(int(self.snapshot.pods.flags[row]) & _READY)

    def owner(self, row: int) -> Owner | None:
        number = int(self.snapshot.pods.owner[row])
        return self.snapshot.owners[number] if number != NONE else None

    def original_of(self, row: int) -> str:
        """The UID of the pod of which this is a copy; empty: of none."""
        return self._annotations(row).get(names.ORIGINAL_POD, "")

    def takes_pods(self, row: int) -> bool:
        """Its node: nobody is emptying it. One that has none yet will not get such a one."""
        slot = int(self.snapshot.pods.node[row])
        if slot == NONE:
            return True
        node = self.snapshot.node_slots[slot]
        if node is None or node.unschedulable:
            return False
        return not any(taint.get("key") in taints.REMOVING for taint in node.taints)

    # ------------------------------------------------------------------ whether it is ours to move

    def why_not_moved(self, row: int) -> str:
        """By its kind, or by the configuration; empty: it may be. The planner knows more reasons,
        and the record that it refuses says them.
        """
        owner, own = self.owner(row), self._annotations(row)
        if owner is None:
            return "nobody would make it anew"
        if is_part_of_its_node(owner, own) or owner.kind == "Node":
            return "it is part of its node"
        if not self.node(row):
            return "it has no node yet"
        rules = self.rules.configuration.pods
        if owner.kind == "Job" and not permits(rules.jobs, asked=True):
            return "it belongs to a Job (pods.jobs)"
        if controllers.is_foreign(owner.kind) and not permits(rules.other_controllers, asked=True):
            return f"it belongs to a {owner.kind} (pods.otherControllers)"
        return self._why_excluded(row)

    def _why_excluded(self, row: int) -> str:
        configuration, namespace = self.rules.configuration, self._namespace_name(row)
        if not configuration.scope.covers(namespace):
            return "its namespace is not in scope.namespaces"
        if namespace in configuration.excluded_namespaces:
            return "its namespace is in excludedNamespaces"
        node = self.snapshot.node_slots[int(self.snapshot.pods.node[row])]
        if node is not None and not configuration.scope.node_selector.matches(node.labels):
            return "its node is not in scope.nodeSelector"
        own = self._labels(row)
        if configuration.excluded_pod_selector.matches(own):
            return "excludedPodSelector matches it"
        found = self._namespace(row)
        if _keeps_out(own) or (found and (_keeps_out(labels(found), annotations(found)))):
            return f"{names.RESCHEDULING} keeps it out"
        return ""

    def who_opted_out(self, row: int) -> str:
        """Who says that evictions pass at once; empty: nobody does."""
        if _is_off(self._labels(row), self._annotations(row)):
            return "the pod"
        namespace = self._namespace(row)
        if namespace and _is_off(labels(namespace), annotations(namespace)):
            return "its namespace"
        node = self.snapshot.node_slots[int(self.snapshot.pods.node[row])]
        return "its node" if node and _is_off(node.labels, node.annotations) else ""

    def patience_seconds(self, row: int) -> float:
        namespace = self._namespace(row)
        for told in (self._annotations(row), annotations(namespace) if namespace else {}):
            if (seconds := _seconds(told.get(names.GUARD_PATIENCE, ""))) is not None:
                return seconds
        return self.rules.configuration.guard.patience_seconds

    # ------------------------------------------------------------------ its workload

    def siblings(self, row: int) -> list[int]:
        """All pods of its workload, itself included."""
        return self.snapshot.rows_of_owner(int(self.snapshot.pods.owner[row]))

    def why_not_whole(self, row: int) -> str:
        """Who of its workload is away, besides itself; empty: nobody."""
        siblings, owner = self.siblings(row), self.owner(row)
        for each in siblings:
            if each == row or (self.is_ready(each) and not self.is_terminating(each)):
                continue
            state = "terminating" if self.is_terminating(each) else "not Ready"
            return f"{self._name(each)} is {state}"
        if owner is not None and owner.kind == "StatefulSet":
            found = self.snapshot.find("statefulsets", self._namespace_name(row), owner.name)
            if found is not None and len(siblings) < spec(found).get("replicas", 1):
                return f"one of its {spec(found).get('replicas', 1)} pods is missing"
        return ""

    # ------------------------------------------------------------------ parts

    def _name(self, row: int) -> str:
        return self.snapshot.pods.names[row].rpartition("/")[2]

    def _namespace_name(self, row: int) -> str:
        return self.snapshot.class_of(row).namespace

    def _namespace(self, row: int) -> Object | None:
        return self.snapshot.find("namespaces", "", self._namespace_name(row))

    def _labels(self, row: int) -> Mapping[str, str]:
        return {**self.snapshot.class_of(row).labels, **self.snapshot.own_labels_of(row)}

    def _annotations(self, row: int) -> Mapping[str, str]:
        return self.snapshot.pods.annotations.get(row, {})


def by_pod(records: Mapping[tuple[str, str], Object]) -> Mapping[str, Sequence[Object]]:
    """By UID of the pod, in order of their attempts."""
    found: dict[str, list[Object]] = {}
    for record in records.values():
        found.setdefault(podmigration.pod_uid(record), []).append(record)
    for each in found.values():
        each.sort(key=podmigration.attempt_of)
    return found


def by_name(records: Mapping[tuple[str, str], Object]) -> Mapping[str, Sequence[Object]]:
    """By namespace/name of the pod: of those that evictions asked for."""
    found: dict[str, list[Object]] = {}
    for record in evicted([*records.values()]):
        full_name = f"{record['metadata']['namespace']}/{podmigration.pod_name(record)}"
        found.setdefault(full_name, []).append(record)
    return found


def evicted(records: Sequence[Object]) -> Iterator[Object]:
    """Those that were asked for because somebody wanted the pod evicted."""
    return filter(podmigration.evicted_by, records)


def _keeps_out(*told: Mapping[str, str]) -> bool:
    """Any value but a plain "enabled": who writes it wants to be left alone."""
    return any(each.get(names.RESCHEDULING, "enabled") != "enabled" for each in told)


def _is_off(*told: Mapping[str, str]) -> bool:
    return any(each.get(names.GUARD, "").lower() == _OFF for each in told)


def _seconds(text: str) -> float | None:
    """None: not told, or not to be understood."""
    try:
        found = durations.parse_nanoseconds(text) / durations.SECOND
    except ValueError:
        return None
    return min(found, _LONGEST_PATIENCE) if found >= 0 else None
