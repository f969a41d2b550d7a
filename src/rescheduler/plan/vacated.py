"""Places that pods of a group leave. All copies of a group come before the first original goes, so
none of the group can have the place of another.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.columns import NONE, Amounts
from rescheduler.plan.fitting import Placement


@dataclass(slots=True)
class _Left:
    """Of one group, from one node."""

    held: Amounts
    classes: Counter[int] = field(default_factory=Counter)


class Vacated:
    """Kept true as a plan goes on, and taken back with it."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._left: defaultdict[str, dict[int, _Left]] = defaultdict(dict)
        """By group, and by node."""

    def __len__(self) -> int:
        """Groups that were looked at; mostly there is none."""
        return len(self._left)

    def note(self, group: str, node: int, row: int, times: int) -> None:
        """That it leaves this node, or, with -1, that it does not after all."""
        if not group or node == NONE:
            return
        nothing = np.zeros(self._placement.free.shape[1], np.int64)
        left = self._left[group].setdefault(node, _Left(nothing))
        pods = self._placement.snapshot.pods
        left.held += times * self._placement.snapshot.requests[pods.request_set[row]]
        left.classes[int(pods.pod_class[row])] += times

    def closed_to(self, row: int, group: str) -> list[int]:
        """Nodes that would take this pod of the group only without those that are to leave."""
        left = self._left.get(group, {})
        return [node for node, each in left.items() if self._is_closed(row, node, each)]

    def _is_closed(self, row: int, node: int, left: _Left) -> bool:
        asks = self._placement.asks(row)
        if ((self._placement.free[node] - left.held < asks) & (asks > 0)).any():
            return True
        related = self._placement.related_to(row)
        return any(related[each] for each, count in left.classes.items() if count)
