"""Which moves may be in flight at once, so that none waits for another to be done: for its room,
for what it decides by a rule, for what budgets and quotas have left, or as a pod of its workload is
missing meanwhile.

They do not make a plan shorter: a move that has to wait is of a later wave. How many are in flight
within a wave is for whoever carries it out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Way
from rescheduler.plan.desk import Desk, Planned


def waves(desk: Desk) -> Iterator[int]:
    """By move, in order. A wave begins when the pods of the one before serve elsewhere."""
    wave, together = 0, _Wave(desk, _in_flight(desk))
    for members in _units(desk.moves):
        if not together.takes(members):
            wave, together = wave + 1, _Wave(desk)
        for each in members:
            together.add(each)
            yield wave


def _units(moves: Iterable[Planned]) -> Iterator[list[Planned]]:
    """Of a group, no original leaves before all copies are there: it is in flight as a whole, and
    where that is more than a limit allows, alone.
    """
    for group, members in groupby(moves, key=lambda each: each.group):
        unit = list(members)
        yield from [unit] if group else ([each] for each in unit)


class _Wave:
    """Moves that are in flight together."""

    def __init__(self, desk: Desk, before: Iterable[int] = ()) -> None:
        """Beside those that are on their way already: rows of the pods that leave."""
        self._desk = desk
        self._used: Counter[object] = Counter()
        self._ledger = desk.movable.quotas.ledger()
        self._sources: set[int] = set()
        self._claims: set[str] = set()
        self._related = np.zeros(len(desk.snapshot.classes), np.bool_)
        """By class: one of these may decide where its pods may be."""
        for row in before:
            self._count(row, desk.way(row))
            # What a budget allows may not show it yet.
            self._used["missing", *self._budget_of(row)[0]] += desk.way(row) is not Way.RECREATE

    def takes(self, members: Sequence[Planned]) -> bool:
        """All of them, beside those that are in it. Of each other they need nothing."""
        if any(map(self._is_needed_by, members)):
            return False
        used, ledger = self._used.copy(), self._ledger.copy()
        fits = all(map(self._counts_in, members))
        self._used, self._ledger = used, ledger
        return fits

    def _counts_in(self, planned: Planned) -> bool:
        if self._is_full_for(planned):
            return False
        self._count(planned.row, planned.way)
        return True

    def add(self, planned: Planned) -> None:
        self._count(planned.row, planned.way)
        self._sources.add(planned.source)
        self._claims.update(self._claims_of(planned))
        self._related |= self._desk.placement.related_to(planned.row)

    def _count(self, row: int, way: Way) -> None:
        namespace, owner = _namespace(self._desk, row), int(self._desk.snapshot.pods.owner[row])
        self._used["workload", owner] += 1
        if way is Way.RECREATE:
            self._used["recreating", owner] += 1
            self._used["missing", *self._budget_of(row)[0]] += 1
        elif charged := self._desk.movable.charged(row):
            self._ledger.charge(namespace, charged)

    def _is_full_for(self, planned: Planned) -> bool:
        """By what quotas and budgets have left, and as a pod of its workload is missing."""
        row, is_recreated = planned.row, planned.way is Way.RECREATE
        owner = int(self._desk.snapshot.pods.owner[row])
        # While one of its pods is missing, no other takes any risk.
        together = self._used["workload" if is_recreated else "recreating", owner]
        if owner != NONE and together:
            return True
        if is_recreated:
            budget, allowed = self._budget_of(row)
            return bool(budget) and self._used["missing", *budget] >= max(allowed, 1)
        return self._is_beyond_quotas(row, _namespace(self._desk, row))

    def _budget_of(self, row: int) -> tuple[tuple[str, ...], int]:
        """Its namespace and name, empty for none, and how many of its pods may be missing."""
        name, allowed = self._desk.movable.budget_of(row)
        return (_namespace(self._desk, row), name) if name else (), allowed

    def _is_beyond_quotas(self, row: int, namespace: str) -> bool:
        charged = self._desk.movable.charged(row)
        return charged is not None and not self._ledger.has_room(namespace, charged)

    def _is_needed_by(self, planned: Planned) -> bool:
        """It may fit only because one of these has left, or may leave because one has come. Room
        that they take has been counted when it was planned; room that they leave is not there yet.
        """
        pods = self._desk.snapshot.pods
        return (
            planned.target in self._sources
            or bool(self._related[pods.pod_class[planned.row]])
            or not self._claims.isdisjoint(self._claims_of(planned))
        )

    def _claims_of(self, planned: Planned) -> Iterable[str]:
        pods = self._desk.snapshot.pods
        namespace = _namespace(self._desk, planned.row)
        return (f"{namespace}/{name}" for name in pods.claims.get(planned.row, ()))


def _in_flight(desk: Desk) -> set[int]:
    """Rows of pods whose copy is there, and of those that a record asks to move."""
    snapshot = desk.snapshot
    flags = snapshot.pods.flags[snapshot.rows]
    leaving = (flags & Flag.LEAVING != 0) & (flags & Flag.TERMINATING == 0)
    return {*snapshot.rows[leaving].tolist(), *desk.movable.records.moving()}


def _namespace(desk: Desk, row: int) -> str:
    return desk.name(row).split("/", 1)[0]
