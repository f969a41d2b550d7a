"""A view of the cluster as columns of small integers. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import podmigration, resources
from rescheduler.model.cluster import Node, Owner
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.moves import NodeLoad, Plan
from rescheduler.model.objects import controller
from rescheduler.model.snapshot import Snapshot
from rescheduler.serve.dashboard.rights import Rights
from rescheduler.serve.dashboard.view import Loads, View

Ints = npt.NDArray[np.int32]
Places = npt.NDArray[np.integer[Any]]
"""As numpy finds them."""
Mask = npt.NDArray[np.bool_]

CORDONED, MAINTENANCE, NOT_READY, NOT_ELIGIBLE, GONE, DELETED, OVERLOADED = 1, 2, 4, 8, 16, 32, 64
READY, NOT_YET, ENDING, COPY, LEAVING, WAITING = range(6)

STATES: Final = ("ready", "notReady", "ending", "copy", "leaving", "waiting")
UNKNOWN: Final = -1
_THOUSAND: Final = 1000
_MOST: Final = 30_000
"""Of a share: pods may ask for more than their node has."""
_MIB: Final = 2**20
_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_POOLS: Final = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)

NODE_COLUMNS: Final = (
    "zone",
    "pool",
    "flags",
    "cpu",
    "memory",
    "capacity",
    "cpu_load",
    "memory_load",
    "cpu_planned",
    "memory_planned",
    "other_pods",
    "other_cpu",
    "other_memory",
)
"""Of what is kept of nodes, in this order."""
_FLAGS: Final = NODE_COLUMNS.index("flags")
_LOADS: Final = slice(NODE_COLUMNS.index("cpu_load"), NODE_COLUMNS.index("memory_load") + 1)


class Names:
    """A number for each, which it keeps."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self.all)
            self.all.append(name)
        return found


def zone_of(node: Node) -> str:
    return _first(node.labels, _ZONES)


def pool_of(node: Node) -> str:
    return _first(node.labels, _POOLS)


def _first(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if labels.get(key)), "")


# ---------------------------------------------------------------------- workloads


def workload_of(snapshot: Snapshot, namespace: str, owner: Owner | None) -> tuple[str, str, str]:
    """Namespace, kind and name of what people know its pods by: of a ReplicaSet its Deployment."""
    if owner is None:
        return namespace, "Pod", ""
    if owner.kind == "Node":  # static pods: one for each node
        return namespace, owner.kind, ""
    if owner.kind == "ReplicaSet":
        replica_set = snapshot.find("replicasets", namespace, owner.name)
        above = controller(replica_set) if replica_set is not None else None
        if above is not None:
            return namespace, str(above["kind"]), str(above["name"])
    return namespace, owner.kind, owner.name


class Workloads:
    """Which of them each pod belongs to, by number."""

    def __init__(self) -> None:
        self.namespaces, self.kinds = Names(), Names()
        self.rows: list[tuple[int, int, str]] = []
        """Namespace, kind, name."""
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._owners: list[Owner | None] = []
        self._of_owner = np.empty(0, np.int32)

    def number(self, workload: tuple[str, str, str]) -> int:
        found = self._numbers.get(workload)
        if found is None:
            namespace, kind, name = workload
            found = self._numbers[workload] = len(self.rows)
            self.rows.append((self.namespaces.number(namespace), self.kinds.number(kind), name))
        return found

    def of(self, snapshot: Snapshot, rows: Ints) -> Ints:
        """By place in `rows`."""
        self._forget_others(snapshot)
        owners = snapshot.pods.owner[rows]
        found = np.where(owners == NONE, NONE, self._of_owner[owners])
        for place in np.flatnonzero((found == NONE) & (owners != NONE)).tolist():
            number = int(owners[place])
            if self._of_owner[number] == NONE:
                namespace = snapshot.class_of(rows[place]).namespace
                workload = workload_of(snapshot, namespace, snapshot.owners[number])
                self._of_owner[number] = self.number(workload)
            found[place] = self._of_owner[number]
        bare = np.flatnonzero(owners == NONE)
        if bare.size:
            classes = snapshot.pods.pod_class[rows[bare]]
            for each in np.unique(classes).tolist():
                pod_class = snapshot.classes[each]
                assert pod_class is not None  # noqa: S101 - it has pods
                number = self.number(workload_of(snapshot, pod_class.namespace, None))
                found[bare[classes == each]] = number
        return found.astype(np.int32)

    def _forget_others(self, snapshot: Snapshot) -> None:
        """Numbers of owners are given to others when they are gone."""
        owners = list(snapshot.owners)
        if len(owners) > len(self._of_owner):
            more = np.full(len(owners) + 1, NONE, np.int32)
            more[: len(self._of_owner)] = self._of_owner
            self._of_owner = more
        # One of an unknown Deployment may be known by now, so a change of the object is enough.
        for number, (before, now) in enumerate(zip(self._owners, owners, strict=False)):
            if before is not now:
                self._of_owner[number] = NONE
        self._owners = owners


# ---------------------------------------------------------------------- nodes and pods


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRows:
    """By row of the snapshot's pods; `node` is -2 where there is none that is seen."""

    node: Ints
    workload: Ints
    cpu: Ints
    memory: Ints
    state: Ints


ABSENT: Final = -2


def shares(loads: Loads, rows: Ints, places: Ints) -> tuple[Ints, Ints]:
    """In tenths of a per cent of their nodes."""
    capacity = np.vstack([loads.capacity, np.full((1, 2), np.nan)])[places]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nan_to_num(_THOUSAND * loads.of_pod[rows] / capacity, posinf=0.0)
    whole = np.minimum(np.rint(found), _MOST).astype(np.int32)
    return whole[:, 0], whole[:, 1]


def states(snapshot: Snapshot, rows: Ints, places: Ints) -> Ints:
    flags = snapshot.pods.flags[rows]
    found = np.where(flags & int(Flag.READY), READY, NOT_YET)
    found[flags & int(Flag.LEAVING | Flag.LEFT) != 0] = LEAVING
    found[flags & int(Flag.ASSUMED) != 0] = COPY
    found[np.isin(rows, list(snapshot.pods.pinned))] = COPY
    found[flags & int(Flag.TERMINATING) != 0] = ENDING
    found[places == NONE] = WAITING
    return found.astype(np.int32)


def seen(snapshot: Snapshot, rights: Rights, rows: Ints) -> Mask:
    """By place in `rows`."""
    if rights.sees_everything:
        return np.ones(len(rows), np.bool_)
    of_class = np.array(
        [each is not None and rights.sees(each.namespace) for each in snapshot.classes]
    )
    found: Mask = of_class[snapshot.pods.pod_class[rows]]
    return found


def percents(loads: Loads) -> Ints:
    """By node: cpu and memory in tenths of a per cent; -1: unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.rint(_THOUSAND * loads.used / loads.capacity)
    found = np.where(loads.known[:, None], found, UNKNOWN)
    return np.nan_to_num(found, nan=UNKNOWN, posinf=UNKNOWN).astype(np.int32)


def ends_of_moves(view: View) -> set[str]:
    """Nodes that pods are yet to leave or to come to, by the latest plan or by what is under way.

    The others stay as they are, whatever they were measured at when it was made.
    """
    records = view.records.values()
    known = {podmigration.pod_uid(each) for each in records}
    found = set()
    for each in view.decided.plan.moves if view.decided else ():
        if each.uid not in known:
            found |= {each.source, each.target}
    for record in records:
        if podmigration.is_unfinished(record):
            found |= {podmigration.source_of(record), podmigration.target_of(record)}
    return found


class NodeTable:
    """The rows of nodes. Most of them are what they were a second ago."""

    def __init__(self, zones: Names, pools: Names) -> None:
        self._zones = zones
        self._pools = pools
        self._nodes: tuple[Node, ...] = ()
        self._plan: Plan | None = None
        self._rows = np.zeros((0, len(NODE_COLUMNS)), np.int32)

    def rows(self, view: View, loads: Loads) -> Ints:
        """By node of the snapshot, and `NODE_COLUMNS`; the last three are not filled in."""
        nodes = view.snapshot.nodes
        plan = view.decided.plan if view.decided else None
        if plan is not self._plan or len(nodes) != len(self._nodes):
            self._nodes, self._plan = (), plan
            self._rows = np.zeros((len(nodes), len(NODE_COLUMNS)), np.int32)
            changed = [*range(len(nodes))]
        else:
            pairs = enumerate(zip(nodes, self._nodes, strict=True))
            changed = [number for number, (now, before) in pairs if now is not before]
        if changed:
            planned = {each.node: each for each in plan.nodes} if plan else {}
            for number in changed:
                self._rows[number, :10] = self._row(nodes[number], planned)
        self._nodes = nodes
        found, load = self._rows.copy(), percents(loads)
        found[:, _LOADS] = load
        configuration = view.configuration
        limits = (configuration.cpu_threshold_percent, configuration.memory_threshold_percent)
        is_above = np.asarray((load > 10 * np.array(limits)).any(axis=1))
        found[is_above, _FLAGS] |= OVERLOADED
        return found

    def _row(self, node: Node, planned: Mapping[str, NodeLoad]) -> tuple[int, ...]:
        plan = planned.get(node.name)
        return (
            self._zones.number(zone_of(node)),
            self._pools.number(pool_of(node)),
            _flags(node, plan),
            int(node.allocatable.get(resources.CPU, 0)),
            int(node.allocatable.get(resources.MEMORY, 0)) // _MIB,
            int(node.allocatable.get(resources.PODS, 0)),
            UNKNOWN,
            UNKNOWN,
            _planned(plan, resources.CPU),
            _planned(plan, resources.MEMORY),
        )


def _flags(node: Node, plan: NodeLoad | None) -> int:
    return (
        (CORDONED if node.unschedulable else 0)
        | (MAINTENANCE if is_in_maintenance(node.labels) else 0)
        | (0 if node.ready else NOT_READY)
        | (0 if plan is None or plan.eligible else NOT_ELIGIBLE)
        | (DELETED if node.deleted_at else 0)
    )


def _planned(plan: NodeLoad | None, resource: str) -> int:
    percent = plan.after.get(resource) if plan is not None else None
    return UNKNOWN if percent is None or np.isnan(percent) else round(10 * percent)
