"""Places for all pods that have to leave, or for as many of them as possible."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rescheduler.plan.desk import Desk, Planned
from rescheduler.plan.relocating import (
    Prefer,
    Reason,
    asked_after,
    gently,
    settle,
    size,
    words,
)

_ATTEMPTS: Final = 10
"""Each with another order, until all have a place; the attempt that places most counts."""
_STEPS: Final = 50_000
"""After which no other order is begun: what is left of the budget is for other strategies."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that leave together: one, or a group."""

    row: int
    """The one of them that has to leave."""
    members: tuple[int, ...]
    priority: int
    size: float
    name: str


def units(desk: Desk, rows: Iterable[int]) -> list[Unit]:
    """Low priority first, then by name."""
    found: dict[tuple[int, ...], Unit] = {}
    for row in rows:
        members = desk.unit(row)
        if members not in found:
            found[members] = Unit(
                row=row,
                members=members,
                priority=max(map(desk.priority, members)),
                size=max(size(desk, member) for member in members),
                name=desk.name(row),
            )
    return sorted(found.values(), key=lambda unit: (unit.priority, unit.name))


def place_most(desk: Desk, leaving: Sequence[Unit], reason: Reason) -> list[Unit]:
    """Moves them, low priority first as far as each fits when its turn comes. Gives those for whom
    there is no place once the others have theirs.
    """
    start, enough = desk.mark(), desk.steps + _STEPS
    best: list[Planned] = []
    best_rank = (0, 0)
    failed: list[Unit] = []
    order = list(leaving)
    for attempt in range(_ATTEMPTS):
        if attempt:
            order = _another_order(order, failed, attempt)
        # Spread out at first; where not all have a place, no room may be wasted.
        failed = _attempt(desk, order, tightly(desk) if attempt > 1 else gently(desk), enough)
        placed = _without(leaving, failed)
        # As many as possible, and of as many those that matter most.
        rank = (len(placed), sum(unit.priority for unit in placed))
        if rank > best_rank:
            best, best_rank = desk.moves[start:], rank
        desk.rewind(start)
        if desk.ended or desk.steps >= enough:
            break
        if not any(_finds_a_place(desk, unit) for unit in failed):
            break  # nobody is left whom another order could help
    _carry_out(desk, leaving, best, reason)
    moved = {move.row for move in desk.moves[start:]}
    return [unit for unit in leaving if unit.row not in moved]


def _another_order(order: list[Unit], failed: list[Unit], attempt: int) -> list[Unit]:
    if attempt == 1:
        return sorted(order, key=lambda unit: (-unit.size, unit.priority, unit.name))
    if attempt == _ATTEMPTS - 1:
        # There is hardly room for all. Most have a place if the small ones do.
        return sorted(order, key=lambda unit: (unit.size, -unit.priority, unit.name))
    # Whoever found no place chooses first.
    return [*failed, *_without(order, failed)]


def _without(units: Iterable[Unit], others: Iterable[Unit]) -> list[Unit]:
    rows = {unit.row for unit in others}
    return [unit for unit in units if unit.row not in rows]


def _attempt(desk: Desk, order: Sequence[Unit], prefer: Prefer, enough: int) -> list[Unit]:
    """Those without a place, though they were asked once more when others had left."""
    waiting = list(order)
    while True:
        failed = [
            unit
            for unit in waiting
            if settle(desk, unit.row, "", asked=True, prefer=prefer) is not None
        ]
        if not failed or len(failed) == len(waiting) or desk.ended or desk.steps >= enough:
            return failed
        waiting = failed


def _finds_a_place(desk: Desk, unit: Unit) -> bool:
    """If it comes first."""
    mark = desk.mark()
    stuck = settle(desk, unit.row, "", asked=True, prefer=tightly(desk))
    desk.rewind(mark)
    return stuck is None


def tightly(desk: Desk) -> Prefer:
    """The fullest node that still takes it: what is large enough for others stays free."""
    return lambda row: -asked_after(desk, row)


def _carry_out(
    desk: Desk, leaving: Sequence[Unit], moves: Sequence[Planned], reason: Reason
) -> None:
    """Low priority first again, whatever the order in which they found their places."""
    start = desk.mark()
    unit_of = {member: number for number, unit in enumerate(leaving) for member in unit.members}
    waiting: dict[int, list[Planned]] = {}
    for move in moves:
        waiting.setdefault(unit_of[move.row], []).append(move)
    while waiting:
        in_time = {number for number in sorted(waiting) if _repeat(desk, waiting[number], reason)}
        if not in_time:
            # They hold each other up: then in the order that is known to work.
            desk.rewind(start)
            _repeat(desk, moves, reason)
            return
        waiting = {number: each for number, each in waiting.items() if number not in in_time}


def _repeat(desk: Desk, moves: Sequence[Planned], reason: Reason) -> bool:
    """All of them, or none, if one does not fit now."""
    mark = desk.mark()
    for move in moves:
        if not desk.placement.fits(move.row, move.target, move.way):
            desk.rewind(mark)
            return False
        desk.move(move.row, move.target, words(reason, move.row, move.target), asked=True)
    return True
