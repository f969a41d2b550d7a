"""Which moves may be in flight at once: the limits per node, namespace and workload, and that none
of them waits for another to be done.

They do not make a plan shorter: a move that has to wait is of a later wave.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from rescheduler.model import names
from rescheduler.model.columns import NONE, Amounts, Flag
from rescheduler.model.moves import Way
from rescheduler.plan.desk import Desk, Planned

_FEW, _SOME = 4, 10


def waves(desk: Desk) -> Iterator[int]:
    """By move, in order. A wave begins when all of the one before are done."""
    wave, used = 0, _in_flight(desk)
    owners = desk.snapshot.pods.owner[desk.snapshot.rows]
    sizes = np.bincount(owners[owners != NONE], minlength=1)
    together = _Wave(desk)
    for planned in desk.moves:
        keys = list(_keys(desk, planned, sizes))
        if any(used[key] >= limit for key, limit in keys) or together.is_needed_by(planned):
            wave, used, together = wave + 1, Counter(), _Wave(desk)
        used.update(key for key, _ in keys)
        together.add(planned)
        yield wave


class _Wave:
    """Moves that are in flight together."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sources: set[int] = set()
        self._claims: set[str] = set()
        self._related = np.zeros(len(desk.snapshot.classes), np.bool_)
        """By class: one of these may decide where its pods may be."""

    def add(self, planned: Planned) -> None:
        self._sources.add(planned.source)
        self._claims.update(self._claims_of(planned))
        self._related |= self._desk.placement.related_to(planned.row)

    def is_needed_by(self, planned: Planned) -> bool:
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


def _keys(desk: Desk, planned: Planned, sizes: Amounts) -> Iterable[tuple[object, int]]:
    """What it is counted for, each with its limit; `sizes` are those of workloads."""
    limits = desk.configuration.in_flight
    if limits.per_node:
        for node in (planned.source, planned.target):
            yield ("node", node), limits.per_node
    namespace = _namespace(desk, planned.row)
    if limits.per_namespace:
        yield ("namespace", namespace), limits.per_namespace
    # Head-room of a quota and of a budget was judged for one: the next may need it again.
    if planned.way is Way.RESTART:
        yield ("interrupted", namespace), 1
    elif desk.movable.quotas.apply_in(namespace):
        yield ("quota", namespace), 1
    owner = int(desk.snapshot.pods.owner[planned.row])
    if owner != NONE:
        yield ("workload", owner), limits.per_workload or _by_size(int(sizes[owner]))


def _by_size(size: int) -> int:
    """One of a few, two of some, a tenth of many."""
    if size < _FEW:
        return 1
    return 2 if size <= _SOME else size // 10


def _in_flight(desk: Desk) -> Counter[object]:
    """What is on its way already: pods whose copy is there, and the copies."""
    used: Counter[object] = Counter()
    pods, rows = desk.snapshot.pods, desk.snapshot.rows
    flags = pods.flags[rows]
    leaving = (flags & Flag.LEAVING != 0) & (flags & Flag.TERMINATING == 0)
    for row in rows[leaving].tolist():
        used["node", int(desk.snapshot.place_of_pod[row])] += 1
        for what in ("namespace", "quota", "interrupted"):
            used[what, _namespace(desk, row)] += 1
        used["workload", int(pods.owner[row])] += 1
    for row in _copies(desk):
        used["node", int(desk.snapshot.place_of_pod[row])] += 1
    return used


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
