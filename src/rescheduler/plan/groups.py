"""Pods that belong together: they move in one plan, all of them, or none does."""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.columns import NONE, PodClass
from rescheduler.model.snapshot import Snapshot

_NATIVE: Final = "schedulingGroup"
"""Of a pod's specification, where the cluster serves it."""


class Groups:
    """Most pods are in none, and most clusters have none: only classes are looked at, then the
    pods of those that name a group.
    """

    def __init__(self, snapshot: Snapshot, configuration: Configuration) -> None:
        self._snapshot = snapshot
        own = configuration.pods.group_label
        self._labels = (own, *names.GROUPS) if own else names.GROUPS

    def members(self, row: int) -> tuple[int, ...]:
        """Rows of its group by name, itself among them, and those that still wait for a node."""
        return self._rows.get(self._group_by_row.get(row, ""), (row,))

    def name(self, row: int) -> str:
        """Namespace and group; empty when it moves alone."""
        return self._group_by_row.get(row, "")

    @cached_property
    def _rows(self) -> Mapping[str, tuple[int, ...]]:
        """By group, of those with more than one member: one alone is bound to nobody."""
        pods = self._snapshot.pods
        found: dict[str, list[int]] = {}
        for row, group in self._named.items():
            found.setdefault(f"{pods.names[row].split('/', 1)[0]}/{group}", []).append(row)
        return {
            group: tuple(sorted(rows, key=pods.names.__getitem__))
            for group, rows in found.items()
            if len(rows) > 1
        }

    @cached_property
    def _group_by_row(self) -> Mapping[int, str]:
        return {row: group for group, rows in self._rows.items() for row in rows}

    @cached_property
    def _named(self) -> Mapping[int, str]:
        """By row: the group that the pod names."""
        snapshot = self._snapshot
        groups = {
            number: group
            for number, each in enumerate(snapshot.classes)
            if each is not None and (group := self._of_class(each))
        }
        if not groups:
            return self._named_by_own_labels()
        classes = snapshot.pods.pod_class[snapshot.rows]
        rows = snapshot.rows[np.isin(classes, list(groups))].tolist()
        named = {row: groups[int(snapshot.pods.pod_class[row])] for row in rows}
        return {**named, **self._named_by_own_labels()}

    def _of_class(self, pod_class: PodClass) -> str:
        if group := self._in_labels(pod_class.labels):
            return group
        return self._native_groups.get(pod_class.template, "")

    def _named_by_own_labels(self) -> Mapping[int, str]:
        """A configured label may be one that is kept apart from the classes, such as a Job's."""
        if not set(self._labels) & (names.OF_ONE_POD | names.OF_ONE_PLACE):
            return {}
        snapshot = self._snapshot
        groups = {
            number: group
            for number, pairs in enumerate(snapshot.label_sets)
            if pairs is not None and (group := self._in_labels(dict(pairs)))
        }
        numbers = snapshot.pods.own_labels[snapshot.rows]
        rows = snapshot.rows[(numbers != NONE) & np.isin(numbers, list(groups))].tolist()
        return {row: groups[int(snapshot.pods.own_labels[row])] for row in rows}

    def _in_labels(self, labels: Mapping[str, str]) -> str:
        if labels.keys().isdisjoint(self._labels):
            return ""
        return next((labels[label] for label in self._labels if labels.get(label)), "")

    @cached_property
    def _native_groups(self) -> Mapping[int, str]:
        """By row of the snapshot's templates."""
        quoted = f'"{_NATIVE}":'.encode()
        found = {
            number: (template.spec().get(_NATIVE) or {}).get("podGroupName") or ""
            for number, template in enumerate(self._snapshot.templates)
            if template is not None and quoted in template.spec_json
        }
        return {number: group for number, group in found.items() if group}
