"""The whole cluster at one moment, immutable: what planning decides by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rescheduler.model import daemons_to_come, resources
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.columns import (
    NONE,
    PHASES,
    Amounts,
    Flag,
    LabelSets,
    Numbers,
    Owners,
    PodClass,
    PodColumns,
    Template,
)
from rescheduler.model.objects import Object
from rescheduler.model.resources import Resources
from rescheduler.model.usage import Usage
from rescheduler.model.usage_sources import REQUESTS

Key = tuple[str, str]
"""Namespace (empty for what has none) and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that a snapshot may be wrong about."""

    source: str
    """The resource that is not, or not freshly, known: `pods`, `replicasets`, ..."""
    reason: str
    """In words, with the time since when."""
    forbidden: bool = False
    """We have no permission to look: waiting does not help."""
    left_out: bool = False
    """Nobody looked: the file given has none of it. Taken as if there were none, and told."""


def grouped(rows: Numbers, by: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Rows in the order of their numbers in `by`, and where those of each number begin."""
    # Numbers of 16 bits are sorted by radix, several times faster.
    keys = by.astype(np.uint16) if size <= np.iinfo(np.uint16).max else by
    order = np.argsort(keys, kind="stable")
    starts = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(by, minlength=size), out=starts[1:])
    return rows[order], starts


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    pods: PodColumns
    node_slots: Sequence[Node | None]
    """Slots keep their number while a node lives; None where a pod names a node that is not there,
    or nobody does.
    """
    slot_names: Sequence[str | None]
    allocatable: Amounts
    """By slot and resource."""
    requests: Amounts
    """Distinct requests, by resource; pods and templates name a row."""
    request_sets: Sequence[Resources | None]
    """The same rows in words, also of resources that no node has."""
    resource_names: tuple[str, ...]
    """Of the columns of `allocatable` and `requests`."""
    classes: Sequence[PodClass | None]
    templates: Sequence[Template | None]
    owners: Owners
    label_sets: LabelSets
    objects: Mapping[str, Mapping[Key, Object]] = field(default_factory=dict)
    """All other kinds, by resource, reduced to the fields that we read."""
    usage: Usage | None = None
    """By place in `nodes`, and by row of `pods`; None: nobody asked for it."""
    taken_at: float = 0.0
    """In Unix seconds; 0: nobody knows."""
    heard_at: Mapping[str, float] = field(default_factory=dict)
    """By resource: when the server last said something, if only that nothing has changed."""
    gaps: tuple[Gap, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Kind and name of objects that could not be read, and are left out, or that make no sense."""

    def with_usage(self, usage: Usage) -> "Snapshot":
        made = replace(self, usage=usage)
        # What has been worked out so far is about nodes and pods, and not about what they use.
        vars(made).update({name: each for name, each in vars(self).items() if name != "usage"})
        return made

    @property
    def measured(self) -> Usage | None:
        """Usage, unless nobody has measured it, and it is what pods ask for."""
        return None if self.usage is None or self.usage.source == REQUESTS else self.usage

    # ------------------------------------------------------------------ nodes

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """By name, so that the same cluster always gives the same order."""
        present = [node for node in self.node_slots if node is not None]
        return tuple(sorted(present, key=lambda node: node.name))

    @cached_property
    def node_numbers(self) -> Mapping[str, int]:
        """Name -> place in `nodes`, and row of what is counted by node."""
        return {node.name: number for number, node in enumerate(self.nodes)}

    @cached_property
    def _number_by_slot(self) -> Numbers:
        # One more than there are slots: the last is for pods on no node, whose slot is NONE (-1).
        known = self.node_numbers
        numbers = [NONE if node is None else known[node.name] for node in self.node_slots]
        return np.array([*numbers, NONE], np.int32)

    @cached_property
    def room(self) -> Amounts:
        """What the nodes can hold, by node and resource."""
        numbers = self._number_by_slot[:-1]
        present = np.flatnonzero(numbers != NONE)
        slots = np.empty(len(self.nodes), np.int32)
        slots[numbers[present]] = present
        return self.allocatable[slots]

    # ------------------------------------------------------------------ pods

    @cached_property
    def rows(self) -> Numbers:
        """Of `pods`, without the free ones."""
        return np.flatnonzero(self.pods.pod_class != NONE).astype(np.int32)

    @cached_property
    def node_of_pod(self) -> Numbers:
        """By row of `pods`: place in `nodes`; NONE for a pod on no node that is there."""
        return self._number_by_slot[self.pods.node]

    @cached_property
    def place_of_pod(self) -> Numbers:
        """The same, with copies of ours that are not bound yet where they are meant to be."""
        meant = {
            row: self.node_numbers[target]
            for row, target in self.pods.pinned.items()
            if target in self.node_numbers
        }
        if not meant:
            return self.node_of_pod
        places = self.node_of_pod.copy()
        places[list(meant)] = list(meant.values())
        return places

    @cached_property
    def _by_node(self) -> tuple[Numbers, Numbers]:
        """Rows in order of their node, and where each node's begin."""
        bound = self.rows[self.node_of_pod[self.rows] != NONE]
        return grouped(bound, self.node_of_pod[bound], len(self.nodes))

    @cached_property
    def _by_class(self) -> tuple[Numbers, Numbers]:
        return grouped(self.rows, self.pods.pod_class[self.rows], len(self.classes))

    def rows_of_class(self, pod_class: int) -> Numbers:
        ordered, starts = self._by_class
        return ordered[starts[pod_class] : starts[pod_class + 1]]

    def rows_of_owner(self, owner: int) -> list[int]:
        """Of the pods that are there: not of copies that are only assumed."""
        rows = self.rows[self.pods.owner[self.rows] == owner]
        found: list[int] = rows[self.pods.flags[rows] & int(Flag.ASSUMED) == 0].tolist()
        return found

    def rows_on(self, node: str) -> Numbers:
        ordered, starts = self._by_node
        number = self.node_numbers[node]
        return ordered[starts[number] : starts[number + 1]]

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """By name."""
        return self.pods_of(self.rows_on(node))

    def pods_of(self, rows: Iterable[int]) -> tuple[Pod, ...]:
        return tuple(sorted(map(self.pod, rows), key=lambda pod: pod.full_name))

    @cached_property
    def pending(self) -> Numbers:
        """Rows of pods on no node that the scheduler may bind at any moment."""
        gated = self.pods.flags[self.rows] & Flag.GATED != 0
        waiting: Numbers = self.rows[(self.pods.node[self.rows] == NONE) & ~gated]
        return waiting

    def pod(self, row: int) -> Pod:
        pods, row = self.pods, int(row)
        pod_class = self.class_of(row)
        template = self.template_of(row)
        namespace, name = pods.names[row].split("/", 1)
        slot, owner, flags = int(pods.node[row]), int(pods.owner[row]), int(pods.flags[row])
        terminating = bool(flags & Flag.TERMINATING)
        return Pod(
            namespace=namespace,
            name=name,
            uid=pods.uids[row],
            node=(self.slot_names[slot] or "") if slot != NONE else "",
            phase=PHASES[pods.phase[row]],
            ready=bool(flags & Flag.READY),
            terminating=terminating,
            labels={**pod_class.labels, **self.own_labels_of(row)},
            annotations=pods.annotations.get(row, {}),
            owner=self.owners[owner] if owner != NONE else None,
            requests=self.requests_of(row),
            priority=template.priority,
            spec=template.spec(),
            usage=self._usage_of(row),
            leaving=terminating or bool(flags & Flag.LEAVING),
        )

    def class_of(self, row: int) -> PodClass:
        found: PodClass | None = self.classes[self.pods.pod_class[row]]
        if found is None:
            raise LookupError(f"row {row} is free")
        return found

    def template_of(self, row: int) -> Template:
        found = self.templates[self.class_of(row).template]
        if found is None:
            raise LookupError(f"the template of row {row} is not there")
        return found

    def own_labels_of(self, row: int) -> Mapping[str, str]:
        number = self.pods.own_labels[row]
        return dict(self.label_sets[number] or ()) if number != NONE else {}

    def lasting_claims_of(self, row: int) -> tuple[str, ...]:
        """Those that it mounts, without those that are made for it: its successor gets others."""
        claims = self.pods.claims.get(row, ())
        template = self.template_of(row)
        if not claims or b'"ephemeral":' not in template.spec_json:
            return claims
        volumes = template.spec().get("volumes") or ()
        own = self.pods.names[row].split("/", 1)[1]
        made = {f"{own}-{each['name']}" for each in volumes if each.get("ephemeral") is not None}
        return tuple(name for name in claims if name not in made)

    def requests_of(self, row: int) -> Resources:
        requests = self.request_sets[self.pods.request_set[row]] or {}
        return {name: amount for name, amount in requests.items() if amount}

    def _usage_of(self, row: int) -> Mapping[str, float]:
        if self.usage is None or self.usage.outage:
            return {}
        return {
            resources.CPU: float(self.usage.pod_cpu[row]),
            resources.MEMORY: float(self.usage.pod_memory[row]),
        }

    # ------------------------------------------------------------------ sums

    @cached_property
    def requested(self) -> Amounts:
        """By node and resource: what its pods hold, until they are gone."""
        return self._sum(self.rows)

    @cached_property
    def staying(self) -> Amounts:
        """The same without pods that are on their way out: what balance is judged by."""
        leaving = self.pods.flags[self.rows] & (Flag.TERMINATING | Flag.LEAVING) != 0
        return self.requested - self._sum(self.rows[leaving])

    @cached_property
    def promised(self) -> Amounts:
        """By node and resource: room that is spoken for. DaemonSets will put their pods on a new
        node, and the scheduler may be making room there for a pod that waits.
        """
        total = np.zeros((len(self.nodes), len(self.resource_names)), np.int64)
        for node, amounts in self._daemons_to_come().items():
            for name, amount in amounts.items():
                # What no node has and no pod asks for is of no concern.
                if name in self.resource_names:
                    column = self.resource_names.index(name)
                    total[self.node_numbers[node], column] += amount
        for row, node in self.pods.nominated.items():
            if self.place_of_pod[row] == NONE and node in self.node_numbers:
                total[self.node_numbers[node]] += self.requests[self.pods.request_set[row]]
        return total

    def _daemons_to_come(self) -> Mapping[str, Resources]:
        overheads = {
            name: (each.get("overhead") or {}).get("podFixed") or {}
            for (_, name), each in self.objects.get("runtimeclasses", {}).items()
        }
        sets = self.objects.get("daemonsets", {}).values()
        at_work = [
            daemons_to_come.read(each, overheads)
            for each in sets
            if daemons_to_come.is_at_work(each)
        ]
        if not at_work:
            return {}
        uids = {each.uid for each in at_work}
        bound = self.rows[self.pods.node[self.rows] != NONE]
        owners, slots = self.pods.owner[bound], self.pods.node[bound]
        present = {
            owner.uid: {self.slot_names[slot] or "" for slot in slots[owners == number].tolist()}
            for number, owner in enumerate(self.owners)
            if owner is not None and owner.uid in uids
        }
        return daemons_to_come.reserved(at_work, self.nodes, present)

    def _sum(self, rows: Numbers) -> Amounts:
        nodes = self.place_of_pod[rows]
        rows, nodes = rows[nodes != NONE], nodes[nodes != NONE]
        request_sets = self.pods.request_set[rows]
        total = np.empty((len(self.nodes), len(self.resource_names)), np.int64)
        for column in range(total.shape[1]):
            # In float64, which bincount counts in, whole numbers are exact up to 9e15: 8 PiB.
            amounts = self.requests[request_sets, column]
            total[:, column] = np.bincount(nodes, weights=amounts, minlength=len(self.nodes))
        return total

    # ------------------------------------------------------------------ other objects

    def find(self, resource: str, namespace: str, name: str) -> Object | None:
        return self.objects.get(resource, {}).get((namespace, name))
