"""Which moves may be in flight at once: the limits per node, namespace and workload, and that none
of them waits for another to be done.

They do not make a plan shorter: a move that has to wait is of a later wave.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from rescheduler.model import names
from rescheduler.model.columns import NONE, Amounts, Flag
from rescheduler.model.moves import Way
from rescheduler.plan.desk import Desk, Planned


def waves(desk: Desk) -> Iterator[int]:
    """By move, in order. A wave begins when all of the one before are done."""
    owners = desk.snapshot.pods.owner[desk.snapshot.rows]
    sizes = np.bincount(owners[owners != NONE], minlength=1)
    wave, together = 0, _Wave(desk, sizes, _in_flight(desk))
    for members in _units(desk.moves):
        if not together.takes(members):
            wave, together = wave + 1, _Wave(desk, sizes)
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


@dataclass(frozen=True, slots=True)
class _InFlight:
    """What is on its way already: it counts for the first wave."""

    rows: list[int]
    """Of the pods that leave."""
    nodes: list[int]
    """Where a copy is, or comes to: one for each."""


class _Wave:
    """Moves that are in flight together."""

    def __init__(self, desk: Desk, sizes: Amounts, before: _InFlight | None = None) -> None:
        self._desk = desk
        self._sizes = sizes
        """By number of the owner: how many pods it has."""
        self._used: Counter[object] = Counter()
        self._ledger = desk.movable.quotas.ledger()
        self._sources: set[int] = set()
        self._claims: set[str] = set()
        self._related = np.zeros(len(desk.snapshot.classes), np.bool_)
        """By class: one of these may decide where its pods may be."""
        if before is not None:
            self._begin_beside(before)

    def _begin_beside(self, before: _InFlight) -> None:
        for row in before.rows:
            self._count(row, self._desk.way(row))
            self._used["interrupted", _namespace(self._desk, row)] += 1
        places = self._desk.snapshot.place_of_pod
        for node in (*map(int, places[before.rows]), *before.nodes):
            self._used["node", node] += 1

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
        self._count_move(planned)
        return True

    def add(self, planned: Planned) -> None:
        self._count_move(planned)
        self._sources.add(planned.source)
        self._claims.update(self._claims_of(planned))
        self._related |= self._desk.placement.related_to(planned.row)

    def _count_move(self, planned: Planned) -> None:
        for node in (planned.source, planned.target):
            self._used["node", node] += 1
        self._count(planned.row, planned.way)

    def _count(self, row: int, way: Way) -> None:
        namespace, owner = _namespace(self._desk, row), int(self._desk.snapshot.pods.owner[row])
        self._used["namespace", namespace] += 1
        self._used["workload", owner] += 1
        if way is Way.RESTART:
            self._used["interrupted", namespace] += 1
            self._used["interrupted workload", owner] += 1
        elif charged := self._desk.movable.charged(row):
            self._ledger.charge(namespace, charged)

    def _is_full_for(self, planned: Planned) -> bool:
        """By the limits, and by what quotas and budgets have left."""
        limits, used = self._desk.configuration.in_flight, self._used
        namespace = _namespace(self._desk, planned.row)
        owner = int(self._desk.snapshot.pods.owner[planned.row])
        return (
            any(
                0 < limits.per_node <= used["node", node]
                for node in (planned.source, planned.target)
            )
            or 0 < limits.per_namespace <= used["namespace", namespace]
            or (owner != NONE and self._is_full_for_workload(planned, owner))
            or (
                # What a budget allows was judged for one: the next may need it again.
                used["interrupted", namespace] > 0
                if planned.way is Way.RESTART
                else self._is_beyond_quotas(planned.row, namespace)
            )
        )

    def _is_full_for_workload(self, planned: Planned, owner: int) -> bool:
        # While one of its pods is missing, no other takes any risk.
        alone = planned.way is Way.RESTART or self._used["interrupted workload", owner] > 0
        limit = self._desk.configuration.in_flight.of_workload(int(self._sizes[owner]))
        return self._used["workload", owner] >= (1 if alone else limit)

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


def _in_flight(desk: Desk) -> _InFlight:
    """Pods whose copy is there, and the copies; and what a record asks for."""
    snapshot, records = desk.snapshot, desk.movable.records
    pods, rows = snapshot.pods, snapshot.rows
    flags = pods.flags[rows]
    leaving = (flags & Flag.LEAVING != 0) & (flags & Flag.TERMINATING == 0)
    found = _InFlight(rows[leaving].tolist(), [])
    for row in _copies(desk):
        found.nodes.append(int(snapshot.place_of_pod[row]))
    begun = set(found.rows)
    for row, target in records.moving():
        if row not in begun:
            found.rows.append(row)
            found.nodes.append(snapshot.node_numbers.get(target, NONE))
    return found


def _copies(desk: Desk) -> Iterable[int]:
    """Assumed, or seen and not done."""
    snapshot = desk.snapshot
    yield from snapshot.rows[snapshot.pods.flags[snapshot.rows] & Flag.ASSUMED != 0].tolist()
    for row, told in snapshot.pods.annotations.items():
        status = snapshot.own_labels_of(row).get(names.MIGRATION_STATUS)
        if names.ORIGINAL_POD in told and status == names.STATUS_IN_PROGRESS:
            yield row


def _namespace(desk: Desk, row: int) -> str:
    return desk.name(row).split("/", 1)[0]
