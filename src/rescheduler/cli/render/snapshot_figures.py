"""The figures of a snapshot that people ask for: how full the nodes are, and how uneven. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rescheduler.model import resources
from rescheduler.model.columns import Flag, Small
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.plan.fitting.nodes import why_no_target

RESOURCES = (resources.CPU, resources.MEMORY, resources.PODS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Of a node, or of all of them."""

    requested: Mapping[str, int]
    """By resource, of `RESOURCES`; terminating pods included, for they hold it still."""
    allocatable: Mapping[str, int]
    used: Mapping[str, float] | None
    """CPU and memory; None when nobody knows."""

    def percent(self, resource: str) -> float | None:
        return _percent(self.requested[resource], self.allocatable[resource])

    def used_percent(self, resource: str) -> float | None:
        if self.used is None:
            return None
        return _percent(self.used[resource], self.allocatable[resource])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    name: str
    ready: bool
    cordoned: bool
    load: Load
    usage_unknown: str = ""
    """Why its usage is not known, while that of others is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """Between the nodes that can take pods, without pods on their way out."""

    most: str
    most_percent: float
    least: str
    least_percent: float

    @property
    def points(self) -> float:
        return self.most_percent - self.least_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    taken_at: str
    nodes: tuple[NodeLoad, ...]
    total: Load
    pods: int
    leaving: int
    pending: tuple[str, ...]
    """namespace/name of pods that the scheduler may bind at any moment."""
    unschedulable: int
    """Of the pending ones: those that it found no node for."""
    gated: int
    can_take_pods: int
    """Nodes."""
    imbalance: Mapping[str, Imbalance]
    """By resource; empty when fewer than two nodes can take pods."""
    usage_source: str
    """Empty when nobody measures."""
    usage_outage: str
    gaps: tuple[Gap, ...]
    unreadable: tuple[str, ...]


def of(snapshot: Snapshot, taken_at: str = "") -> Figures:
    nodes = tuple(_node(snapshot, number) for number in range(len(snapshot.nodes)))
    flags, rows = snapshot.pods.flags, snapshot.rows
    targets = [number for number, node in enumerate(snapshot.nodes) if not why_no_target(node)]
    usage = snapshot.measured
    return Figures(
        taken_at=taken_at,
        nodes=nodes,
        total=_total(nodes),
        pods=len(rows),
        leaving=_count(flags[rows], Flag.TERMINATING | Flag.LEAVING),
        pending=tuple(sorted(snapshot.pods.names[row] for row in snapshot.pending)),
        unschedulable=_count(flags[snapshot.pending], Flag.UNSCHEDULABLE),
        gated=_count(flags[rows], Flag.GATED),
        can_take_pods=len(targets),
        imbalance=_imbalances(snapshot, targets),
        usage_source=usage.source if usage else "",
        usage_outage=usage.outage if usage else "",
        gaps=snapshot.gaps,
        unreadable=snapshot.unreadable,
    )


def _node(snapshot: Snapshot, number: int) -> NodeLoad:
    node = snapshot.nodes[number]
    columns = {name: snapshot.resource_names.index(name) for name in RESOURCES}
    usage = snapshot.measured
    used = None
    if usage is not None and not math.isnan(usage.node_cpu[number]):
        figures = (float(usage.node_cpu[number]), float(usage.node_memory[number]))
        used = dict(zip((resources.CPU, resources.MEMORY), figures, strict=True))
    return NodeLoad(
        name=node.name,
        ready=node.ready,
        cordoned=node.unschedulable,
        load=Load(
            requested={
                name: int(snapshot.requested[number, column]) for name, column in columns.items()
            },
            allocatable={name: node.allocatable.get(name, 0) for name in RESOURCES},
            used=used,
        ),
        usage_unknown=usage.unknown_nodes.get(number, "") if usage else "",
    )


def _total(nodes: tuple[NodeLoad, ...]) -> Load:
    # The usage of all is known when that of each is.
    all_used = [node.load.used for node in nodes if node.load.used is not None]
    used = None
    if nodes and len(all_used) == len(nodes):
        used = {name: sum(each[name] for each in all_used) for name in all_used[0]}
    return Load(
        requested={name: sum(node.load.requested[name] for node in nodes) for name in RESOURCES},
        allocatable={
            name: sum(node.load.allocatable[name] for node in nodes) for name in RESOURCES
        },
        used=used,
    )


def _imbalances(snapshot: Snapshot, targets: list[int]) -> Mapping[str, Imbalance]:
    if len(targets) < 2:  # noqa: PLR2004
        return {}
    found = {}
    for resource in RESOURCES:
        column = snapshot.resource_names.index(resource)
        percents = {
            snapshot.nodes[number].name: percent
            for number in targets
            if (
                percent := _percent(snapshot.staying[number, column], snapshot.room[number, column])
            )
            is not None
        }
        if percents:
            # By name among equals, so that the same snapshot always gives the same answer.
            ordered = sorted(percents, key=lambda name: (percents[name], name))
            least, most = ordered[0], ordered[-1]
            found[resource] = Imbalance(
                most=most,
                most_percent=percents[most],
                least=least,
                least_percent=percents[least],
            )
    return found


def _percent(part: float, whole: float) -> float | None:
    return 100 * float(part) / float(whole) if whole else None


def _count(flags: Small, wanted: Flag) -> int:
    return int(np.count_nonzero(flags & int(wanted)))
