"""Which moves may be in flight at once: the limits per node, namespace and workload, and that none
of them waits for another to be done.

They do not make a plan shorter: a move that has to wait is of a later wave.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from rescheduler.model.columns import NONE, Amounts, Flag
from rescheduler.plan.desk import Desk, Planned

_FEW, _SOME = 4, 10


def waves(desk: Desk) -> Iterator[int]:
    """By move, in order. A wave begins when all of the one before are done."""
    wave, used = 0, _in_flight(desk)
    owners = desk.snapshot.pods.owner[desk.snapshot.rows]
    sizes = np.bincount(owners[owners != NONE], minlength=1)
    together: list[Planned] = []
    for planned in desk.moves:
        keys = list(_keys(desk, planned, sizes))
        if any(used[key] >= limit for key, limit in keys) or _needs_one_of(desk, planned, together):
            wave, used, together = wave + 1, Counter(), []
        used.update(key for key, _ in keys)
        together.append(planned)
        yield wave


def _needs_one_of(desk: Desk, planned: Planned, together: Iterable[Planned]) -> bool:
    """It may fit only because one of these has left, or may leave because one has come. Room that
    they take has been counted when it was planned; room that they leave is not there yet.
    """
    return any(
        planned.target == other.source or desk.placement.are_related(planned.row, other.row)
        for other in together
    )


def _keys(desk: Desk, planned: Planned, sizes: Amounts) -> Iterable[tuple[object, int]]:
    """What it is counted for, each with its limit; `sizes` are those of workloads."""
    limits = desk.configuration.in_flight
    if limits.per_node:
        for node in (planned.source, planned.target):
            yield ("node", node), limits.per_node
    if limits.per_namespace:
        yield ("namespace", _namespace(desk, planned.row)), limits.per_namespace
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
        used["namespace", _namespace(desk, row)] += 1
        used["workload", int(pods.owner[row])] += 1
    for row in rows[flags & Flag.ASSUMED != 0].tolist():
        used["node", int(desk.snapshot.place_of_pod[row])] += 1
    return used


def _namespace(desk: Desk, row: int) -> str:
    return desk.name(row).split("/", 1)[0]
