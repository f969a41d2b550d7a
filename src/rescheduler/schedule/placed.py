"""Pods that were given a node a moment ago, and are in no table yet: so that bursts spread. Pure.

A scheduler asks about the next pod before anybody has heard of the last one. Who was scored best
is taken for the choice, until a table shows what came of it.
"""

from collections import OrderedDict
from typing import Final

import numpy as np

from rescheduler.schedule.newcomers import Newcomer
from rescheduler.schedule.table import Figures, NodeTable

_KEPT_SECONDS: Final = 1.0
"""A table that is newer by that has heard of it, if it was bound at all."""
_MOST: Final = 10_000


class PlacedSince:
    def __init__(self) -> None:
        self._placed: OrderedDict[str, tuple[float, str, tuple[float, float]]] = OrderedDict()
        self._table: NodeTable | None = None
        self._sum: Figures = np.zeros((0, 2))

    def __len__(self) -> int:
        return len(self._placed)

    def note(self, pod: Newcomer, node: str, table: NodeTable, now: float) -> None:
        """It may be asked about again, and go elsewhere then."""
        self._know(table)
        self.forget(pod.uid)
        self._placed[pod.uid] = now, node, pod.weighs
        self._add(node, pod.weighs, 1)
        while len(self._placed) > _MOST:
            self.forget(next(iter(self._placed)))

    def forget(self, uid: str) -> None:
        _, node, weighs = self._placed.pop(uid, (0.0, "", (0.0, 0.0)))
        self._add(node, weighs, -1)

    def on(self, table: NodeTable, besides: Newcomer) -> Figures:
        """By node: what they weigh, less this pod, which is about to be placed anew."""
        self._know(table)
        self.forget(besides.uid)
        return self._sum

    def sum_on(self, node: str, table: NodeTable) -> tuple[float, float]:
        """What those weigh that came to this node."""
        self._know(table)
        number = table.numbers.get(node)
        if number is None:
            return 0.0, 0.0
        cpu, memory = self._sum[number].tolist()
        return cpu, memory

    def _know(self, table: NodeTable) -> None:
        if table is self._table:
            return
        heard_of = table.taken_at - _KEPT_SECONDS
        while self._placed and next(iter(self._placed.values()))[0] <= heard_of:
            self._placed.popitem(last=False)
        # Those that the table counts already: of a fast burst, nearly all of the last second.
        for uid in self._placed.keys() & table.arrived:
            del self._placed[uid]
        self._table, self._sum = table, np.zeros_like(table.capacity)
        for _, node, weighs in self._placed.values():
            self._add(node, weighs, 1)

    def _add(self, node: str, weighs: tuple[float, float], sign: int) -> None:
        number = self._table.numbers.get(node) if self._table is not None else None
        if number is not None:
            self._sum[number] += np.multiply(weighs, sign)
