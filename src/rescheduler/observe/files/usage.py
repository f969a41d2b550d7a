"""Usage among the objects of a file, as metrics.k8s.io has it."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rescheduler import wire
from rescheduler.model import quantities, resources
from rescheduler.model.columns import Flag
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Figures, Usage
from rescheduler.observe.files.exporting import time_text
from rescheduler.wire import NODE_METRICS, POD_METRICS, Resource, View

KINDS = {NODE_METRICS: "NodeMetrics", POD_METRICS: "PodMetrics"}
METRICS = {(resource.group_version, kind): resource for resource, kind in KINDS.items()}
"""By apiVersion and kind."""
_THOUSANDTHS = 10**6
"""Billionths of a core in a thousandth of one."""


def each_metric(snapshot: Snapshot) -> Iterator[Object]:
    """What is known and measured, nodes first, by name."""
    usage = snapshot.measured
    if usage is None:
        return
    when = "" if math.isnan(usage.as_of) else time_text(round(usage.as_of))
    for node, cpu, memory in zip(snapshot.nodes, usage.node_cpu, usage.node_memory, strict=True):
        if not math.isnan(cpu):
            metadata = {"name": node.name}
            yield _metric(NODE_METRICS, metadata, when) | {"usage": _amounts(cpu, memory)}
    assumed = snapshot.pods.flags & Flag.ASSUMED != 0
    names = snapshot.pods.names
    rows = (row for row in snapshot.rows.tolist() if usage.pod_measured[row] and not assumed[row])
    for row in sorted(rows, key=lambda row: names[row].split("/", 1)):
        namespace, name = names[row].split("/", 1)
        amounts = _amounts(usage.pod_cpu[row], usage.pod_memory[row])
        # All containers together: nobody asks for one of them.
        containers = [{"name": "all", "usage": amounts}]
        metadata = {"namespace": namespace, "name": name}
        yield _metric(POD_METRICS, metadata, when) | {"containers": containers}


def _metric(resource: Resource, metadata: Object, when: str) -> dict[str, Any]:
    head: dict[str, Any] = {
        "apiVersion": resource.group_version,
        "kind": KINDS[resource],
        "metadata": metadata,
    }
    # Without a window: how the figures came about is told by their source, not by them.
    return head | ({"timestamp": when} if when else {})


def _amounts(cpu: float, memory: float) -> Object:
    return {"cpu": f"{round(float(cpu) * _THOUSANDTHS)}n", "memory": str(round(float(memory)))}


class Metrics:
    """Gathered from files object by object, and put in the order of their snapshot."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[float, float]] = {}
        self._pods: dict[str, tuple[float, float]] = {}
        self._newest = 0

    def add(self, resource: Resource, view: View) -> None:
        """Raises ValueError for what is no quantity."""
        self._newest = max(self._newest, wire.seconds(view.timestamp))
        if resource == NODE_METRICS:
            self._nodes[view.metadata.name] = _total([view.usage])
        else:
            name = f"{view.metadata.namespace}/{view.metadata.name}"
            self._pods[name] = _total([each.usage for each in view.containers])

    def usage(self, snapshot: Snapshot, source: str) -> Usage | None:
        """Nothing, when there is no figure of any node: nobody has measured."""
        nodes = np.array([self._nodes.get(each.name, _UNKNOWN) for each in snapshot.nodes])
        if not len(nodes) or np.all(np.isnan(nodes)):
            return None
        measured = np.array([each in self._pods for each in snapshot.pods.names], np.bool_)
        figures = np.stack(
            [_requested(snapshot, resources.CPU), _requested(snapshot, resources.MEMORY)], 1
        )
        for row in np.flatnonzero(measured).tolist():
            figures[row] = self._pods[snapshot.pods.names[row]]
        return Usage(
            source=source,
            as_of=float(self._newest) if self._newest else math.nan,
            node_cpu=nodes[:, 0].copy(),
            node_memory=nodes[:, 1].copy(),
            pod_cpu=figures[:, 0].copy(),
            pod_memory=figures[:, 1].copy(),
            pod_measured=measured,
            unknown_nodes={
                int(row): "the file has no figure of it"
                for row in np.flatnonzero(np.isnan(nodes[:, 0]))
            },
            node_since=np.full(len(nodes), float(self._newest) if self._newest else math.nan),
        )


_UNKNOWN = (math.nan, math.nan)


def _total(usages: list[View]) -> tuple[float, float]:
    cpu = memory = 0
    for usage in map(wire.quantities, usages):
        if not {"cpu", "memory"} <= usage.keys():
            return _UNKNOWN
        cpu += quantities.nanos(usage["cpu"])
        memory += quantities.units(usage["memory"])
    return cpu / _THOUSANDTHS, float(memory)


def _requested(snapshot: Snapshot, resource: str) -> Figures:
    """By row: what a pod that nobody measured is taken to use."""
    if not len(snapshot.requests):
        return np.zeros(len(snapshot.pods), np.float64)
    column = snapshot.resource_names.index(resource)
    requested: Figures = snapshot.requests[snapshot.pods.request_set, column].astype(np.float64)
    requested[snapshot.pods.request_set < 0] = 0.0
    return requested
