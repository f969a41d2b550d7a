"""Snapshots that differ from another one in one thing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from rescheduler.model.cluster import Node
from rescheduler.model.columns import PHASES, UNAVAILABLE, Amounts, Flag, PodClass, Template
from rescheduler.model.objects import Object
from rescheduler.model.resources import Resources
from rescheduler.model.snapshot import Key, Snapshot
from rescheduler.model.usage import Usage

# ------------------------------------------------------------------ pods


def with_template(
    snapshot: Snapshot,
    row: int,
    *,
    spec: Object | None = None,
    priority: int | None = None,
    requests: Resources | None = None,
) -> Snapshot:
    """This pod alone, as if it had been made so."""
    pods, known = snapshot.pods, snapshot.template_of(row)
    request_set = known.request_set
    if requests is not None:
        request_set = len(snapshot.request_sets)
        amounts = _amounts(requests, snapshot.resource_names)
        snapshot = replace(
            snapshot,
            requests=np.vstack([snapshot.requests[:request_set], amounts]),
            request_sets=[*snapshot.request_sets, requests],
        )
        pods = replace(pods, request_set=_set(pods.request_set, row, request_set))
    made = Template(
        spec_json=known.spec_json if spec is None else msgspec.json.encode(spec, order="sorted"),
        request_set=request_set,
        priority=known.priority if priority is None else priority,
    )
    pod_class = replace(snapshot.class_of(row), template=len(snapshot.templates))
    snapshot = replace(snapshot, pods=pods, templates=[*snapshot.templates, made])
    return _of_class(snapshot, row, pod_class)


def without_label(snapshot: Snapshot, row: int, label: str) -> Snapshot:
    own = snapshot.own_labels_of(row)
    if label in own:
        left = tuple(sorted((key, value) for key, value in own.items() if key != label))
        numbers = _set(snapshot.pods.own_labels, row, len(snapshot.label_sets))
        pods = replace(snapshot.pods, own_labels=numbers)
        snapshot = replace(snapshot, pods=pods, label_sets=[*snapshot.label_sets, left])
    known = snapshot.class_of(row)
    labels = {key: value for key, value in known.labels.items() if key != label}
    return _of_class(snapshot, row, replace(known, labels=labels))


def without_annotation(snapshot: Snapshot, row: int, annotation: str) -> Snapshot:
    told = snapshot.pods.annotations
    left = {key: value for key, value in told[row].items() if key != annotation}
    pods = replace(snapshot.pods, annotations={**told, row: left})
    return replace(snapshot, pods=pods)


def as_ready(snapshot: Snapshot, row: int) -> Snapshot:
    pods = snapshot.pods
    flags = _set(pods.flags, row, int(pods.flags[row]) | int(Flag.READY))
    phases = _set(pods.phase, row, PHASES.index("Running"))
    return replace(snapshot, pods=replace(pods, flags=flags, phase=phases))


def _of_class(snapshot: Snapshot, row: int, pod_class: PodClass) -> Snapshot:
    numbers = snapshot.pods.pod_class
    classes = [*snapshot.classes, pod_class]
    if len(snapshot.rows_of_class(int(numbers[row]))) == 1:
        # Nobody is left of it, and its rules hold nobody any more.
        classes[int(numbers[row])] = None
    pods = replace(snapshot.pods, pod_class=_set(numbers, row, len(snapshot.classes)))
    return replace(snapshot, pods=pods, classes=classes)


def _set(column: Any, row: int, value: int) -> Any:  # noqa: ANN401 - of any kind of number
    made = column.copy()
    made[row] = value
    return made


# ------------------------------------------------------------------ nodes


def with_node(snapshot: Snapshot, node: Node) -> Snapshot:
    """In place of the one of this name."""
    slot = list(snapshot.slot_names).index(node.name)
    allocatable = snapshot.allocatable.copy()
    allocatable[slot] = _amounts(node.allocatable, snapshot.resource_names)
    slots = [node if number == slot else each for number, each in enumerate(snapshot.node_slots)]
    return replace(snapshot, node_slots=slots, allocatable=allocatable)


def with_new_node(snapshot: Snapshot, node: Node) -> Snapshot:
    """One more, on which nothing is."""
    count = len(snapshot.node_slots)
    amounts = _amounts(node.allocatable, snapshot.resource_names)
    made = replace(
        snapshot,
        node_slots=[*snapshot.node_slots, node],
        slot_names=[*snapshot.slot_names, node.name],
        allocatable=np.vstack([snapshot.allocatable[:count], amounts]),
    )
    if snapshot.usage is None:
        return made
    return replace(made, usage=_with_idle(snapshot.usage, made.node_numbers[node.name]))


def _with_idle(usage: Usage, number: int) -> Usage:
    unknown = {each + (each >= number): why for each, why in usage.unknown_nodes.items()}
    return replace(
        usage,
        node_cpu=np.insert(usage.node_cpu, number, 0.0),
        node_memory=np.insert(usage.node_memory, number, 0.0),
        node_since=np.insert(usage.node_since, number, usage.as_of),
        unknown_nodes=unknown,
    )


def _amounts(told: Resources, names: Iterable[str]) -> Amounts:
    """By resource, in the order of the snapshot; what no node has is in a column of its own."""
    columns = {name: number for number, name in enumerate(names)}
    amounts: Amounts = np.zeros(len(columns), np.int64)
    for name, amount in told.items():
        amounts[columns.get(name, columns[UNAVAILABLE])] += amount
    return amounts


# ------------------------------------------------------------------ other objects


def with_object(snapshot: Snapshot, resource: str, key: Key, made: Object | None) -> Snapshot:
    """None: without it."""
    known: Mapping[Key, Object] = snapshot.objects.get(resource, {})
    left = {each: told for each, told in known.items() if each != key}
    if made is not None:
        left[key] = made
    return replace(snapshot, objects={**snapshot.objects, resource: left})
