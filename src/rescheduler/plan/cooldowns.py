"""What was moved lately, as the moved pods themselves tell: who took part in it rests until what
came of it is known, and for no longer than `stability.cooldown` says.

There is no other memory: whoever plans next, after a crash or somewhere else, reads the same.
"""

from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.config.stability import Cooldown
from rescheduler.model import names
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.loads import Mask

_FASTER_CLOCK: Final = 60.0
"""Seconds by which another clock may be ahead of ours; what is later still is no history."""

NEVER: Final = -1.0

UNSETTLED: Final = "gave or received a pod recently, not measured since (stability.cooldown.node)"
"""Of a node, in words."""


class Cooldowns:
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

    def why_it_rests(self, row: int, *, recreates: bool = False) -> tuple[str, ...]:
        """The pod, its workload, its node: each that has just taken part in a move. `recreates`: a
        move of this pod would.
        """
        if not self._moved:
            return ()
        snapshot, cooldown = self._snapshot, self._cooldown
        reasons = []
        if self._moved.get(row, cooldown.pod_seconds) < cooldown.pod_seconds:
            reasons.append("it was moved lately (stability.cooldown.pod)")
        owner = int(snapshot.pods.owner[row])
        if owner != NONE and owner in self._workloads:
            if recreates:
                why = "a pod of its workload was moved lately, and it would be recreated"
                reasons.append(f"{why} (stability.cooldown.workload)")
            elif owner in self._unsettled_workloads:
                why = "a pod of its workload that was moved lately is not Ready"
                reasons.append(f"{why} (stability.cooldown.workload)")
        node = int(snapshot.node_of_pod[row])
        if node != NONE and self.resting_nodes[node]:
            reasons.append(f"its node {UNSETTLED}")
        return tuple(reasons)

    def source_within(self, row: int, seconds: float) -> int:
        """The node that it was moved from, unless that is longer ago; NONE: from none."""
        if row not in self._snapshot.pods.annotations:
            return NONE
        age = self._age(row) if self._snapshot.taken_at else 0.0
        return self._source(row) if age < seconds else NONE

    @cached_property
    def resting_nodes(self) -> Mask:
        """By node: it gave or took a pod, and its load has not been measured often enough since.
        What pods ask for is known at once.
        """
        snapshot = self._snapshot
        resting = np.zeros(len(snapshot.nodes), np.bool_)
        usage = snapshot.measured
        if usage is None:
            return resting
        for row, age in self._moved.items():
            if age < self._cooldown.node_seconds:
                # It is no load before its node has taken it.
                changed = max(snapshot.taken_at - age, float(snapshot.pods.started[row]))
                for node in (int(snapshot.node_of_pod[row]), self._source(row)):
                    if node != NONE and not usage.node_since[node] > changed:
                        resting[node] = True
        return resting

    @cached_property
    def _workloads(self) -> frozenset[int]:
        """Numbers of owners that had a pod moved."""
        owners = self._snapshot.pods.owner
        return frozenset(
            int(owners[row])
            for row, age in self._moved.items()
            if age < self._cooldown.workload_seconds
        )

    @cached_property
    def _unsettled_workloads(self) -> frozenset[int]:
        """Numbers of owners of pods that do not serve, or not yet, where they were moved to."""
        pods = self._snapshot.pods
        return frozenset(
            int(pods.owner[row])
            for row, age in self._moved.items()
            if age < self._cooldown.workload_seconds
            and not pods.flags[row] & int(Flag.READY | Flag.TERMINATING | Flag.LEAVING)
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
