"""What was moved lately, as the moved pods themselves tell: who took part in it rests for a while.

There is no other memory: whoever plans next, after a crash or somewhere else, reads the same.
"""

from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.config.stability import Cooldown
from rescheduler.model import names
from rescheduler.model.columns import NONE
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.loads import Mask

_FASTER_CLOCK: Final = 60.0
"""Seconds by which another clock may be ahead of ours; what is later still is no history."""

NEVER: Final = -1.0


class History:
    def __init__(self, snapshot: Snapshot, cooldown: Cooldown) -> None:
        self._snapshot = snapshot
        self._cooldown = cooldown
        longest = max(cooldown.pod_seconds, cooldown.workload_seconds, cooldown.node_seconds)
        self._moved: dict[int, float] = {}
        """By row: how many seconds ago."""
        if snapshot.taken_at and longest:
            self._moved = {
                row: age
                for row in snapshot.pods.annotations
                if 0 <= (age := self._age(row)) < longest
            }

    def why_it_rests(self, row: int) -> tuple[str, ...]:
        """The pod, its workload, its node: each that has just taken part in a move."""
        if not self._moved:
            return ()
        snapshot, cooldown = self._snapshot, self._cooldown
        reasons = []
        if self._moved.get(row, cooldown.pod_seconds) < cooldown.pod_seconds:
            reasons.append("it was moved lately (stability.cooldown.pod)")
        owner = int(snapshot.pods.owner[row])
        if owner != NONE and owner in self._workloads:
            reasons.append("a pod of its workload was moved lately (stability.cooldown.workload)")
        node = int(snapshot.node_of_pod[row])
        if node != NONE and self.resting_nodes[node]:
            reasons.append("its node gave or took a pod lately (stability.cooldown.node)")
        return tuple(reasons)

    def source_within(self, row: int, seconds: float) -> int:
        """The node that it was moved from, unless that is longer ago; NONE: from none."""
        if row not in self._snapshot.pods.annotations:
            return NONE
        age = self._age(row) if self._snapshot.taken_at else 0.0
        return self._source(row) if age < seconds else NONE

    @cached_property
    def resting_nodes(self) -> Mask:
        """By node: it has just given or taken a pod, so that its load has not settled."""
        resting = np.zeros(len(self._snapshot.nodes), np.bool_)
        for row, age in self._moved.items():
            if age < self._cooldown.node_seconds:
                for node in (int(self._snapshot.node_of_pod[row]), self._source(row)):
                    if node != NONE:
                        resting[node] = True
        return resting

    @cached_property
    def _workloads(self) -> frozenset[int]:
        """Numbers of owners."""
        owners = self._snapshot.pods.owner
        return frozenset(
            int(owners[row])
            for row, age in self._moved.items()
            if age < self._cooldown.workload_seconds
        )

    def _age(self, row: int) -> float:
        """NEVER when nobody has moved it, or what it tells makes no sense."""
        told = self._snapshot.pods.annotations[row].get(names.MIGRATION_TIME)
        if not told:
            return NEVER
        try:
            moved_at = datetime.fromisoformat(told)
        except ValueError:
            return NEVER
        if moved_at.tzinfo is None:
            return NEVER
        age = self._snapshot.taken_at - moved_at.timestamp()
        return max(age, 0.0) if age > -_FASTER_CLOCK else NEVER

    def _source(self, row: int) -> int:
        """The node that it came from. The label is cut where the name is too long for one."""
        told = self._snapshot.pods.annotations[row].get(names.MIGRATED_FROM)
        name = told or self._snapshot.own_labels_of(row).get(names.MIGRATED_FROM, "")
        return self._snapshot.node_numbers.get(name, NONE)
