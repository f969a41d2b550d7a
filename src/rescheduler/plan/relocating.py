"""A place for a pod, or for all pods of its group at once: moves for every one of them, or none."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.nowhere import why_nowhere

STEPS: Final = 500
"""Beyond one for each member: a group that is not placed by then is tried in another order."""
_ORDERS: Final = 4

_BREADTH: Final = 16
"""How many targets of one pod are tried: beyond the best, another choice rarely helps others."""

UNKNOWN: Final = 1e6
"""More per cent than any load: nodes of unknown load come last."""

OVERLOADED: Final = UNKNOWN / 10
"""Added to the load of a node: it is taken when no other is left, but before unknown ones."""

Prefer = Callable[[int], Figures]
"""Row -> by node: the lower, the better; infinite: not there."""
Reason = str | Callable[[int, int], str]
"""For every pod the same, or given its row and its target."""


def relocate(
    desk: Desk, row: int, reason: Reason, *, asked: bool = False, prefer: Prefer | None = None
) -> str:
    """Moves it, and its group with it. Otherwise nothing has changed, and the answer says why.

    Whoever calls has asked `desk.why_it_stays`.
    """
    members = desk.unit(row)
    if not asked and len(members) > desk.left:
        return _too_many(len(members), desk.left)
    stuck = settle(desk, row, reason, asked=asked, prefer=prefer)
    if stuck is None:
        return ""
    whose = "" if len(members) == 1 else f"{desk.name(stuck)} of its group: "
    if not desk.targets(stuck).any():
        return whose + why_nowhere(desk, stuck)
    return f"{whose}no place beside the others" if whose else "no node that would help takes it"


def settle(
    desk: Desk, row: int, reason: Reason, *, asked: bool, prefer: Prefer | None = None
) -> int | None:
    """The same for whoever does not need words: the member that found no place; None: all did."""
    prefer = prefer or lowest_load(desk)
    members = _hardest_first(desk, desk.unit(row))
    if len(members) > 1:
        hopeless = (each for each in members if not _could_ever(desk, each, members))
        if (first := next(hopeless, None)) is not None:
            return first
    stuck = None
    put_first: set[int] = set()
    for _ in range(_ORDERS):
        stuck = _search(desk, members, reason, asked=asked, prefer=prefer)
        if stuck is None or stuck in put_first or stuck == members[0]:
            break
        # Whoever found no place chooses first next time.
        put_first.add(stuck)
        members = [stuck, *(each for each in members if each != stuck)]
    return stuck


def _search(
    desk: Desk, members: list[int], reason: Reason, *, asked: bool, prefer: Prefer
) -> int | None:
    """Depth first: who is placed stays so until one who comes later finds nothing.

    Gives the one who found nothing first.
    """
    start, limit = desk.mark(), desk.steps + len(members) + STEPS
    stuck = None
    levels = [_Level(members, start, _choices(desk, members, prefer))]
    while levels and desk.steps < limit:
        level = levels[-1]
        # Choices are judged where the level began, whatever was tried since.
        desk.rewind(level.mark)
        choice = next(level.choices, None)
        if choice is None:
            stuck = level.waiting[0] if stuck is None else stuck
            levels.pop()
            continue
        member, target = choice
        desk.steps += 1
        desk.move(member, target, words(reason, member, target), asked=asked)
        waiting = [each for each in level.waiting if each != member]
        if not waiting:
            return None
        levels.append(_Level(waiting, desk.mark(), _choices(desk, waiting, prefer)))
    desk.rewind(start)
    return members[0] if stuck is None else stuck


def _could_ever(desk: Desk, row: int, members: list[int]) -> bool:
    """Some node would do, if all others of the group had left: else a search is in vain."""
    if desk.targets(row).any():
        return True
    placement = desk.placement
    free = placement.free.copy()
    for member in members:
        free[placement.place[member]] += placement.asks(member)
    asks = placement.asks(row)
    would_do = placement.static_mask(row) & desk.in_scope & ~desk.closed
    would_do &= ((asks <= free) | (asks == 0)).all(axis=1)
    would_do[placement.place[row]] = False
    return bool(would_do.any())


def gently(desk: Desk) -> Prefer:
    """Nodes that stay below the thresholds, then the lowest load, then nodes of unknown load."""
    thresholds = np.array(
        [
            desk.configuration.cpu_threshold_percent,
            desk.configuration.memory_threshold_percent,
        ]
    )

    def prefer(row: int) -> Figures:
        after = desk.loads.percent + desk.loads.percent_of(row)
        too_high = (after > thresholds).any(axis=1)  # never where it is unknown
        preference: Figures = load_after(desk, row) + np.where(too_high, OVERLOADED, 0)
        return preference

    return prefer


def lowest_load(desk: Desk) -> Prefer:
    """The load of a node with the pod, in per cent: of cpu or memory, whichever is higher."""
    return lambda row: load_after(desk, row)


def load_after(desk: Desk, row: int) -> Figures:
    """Where the load is unknown, nodes are in order of what is asked of them."""
    known = (desk.loads.percent + desk.loads.percent_of(row)).max(axis=1)
    return np.where(np.isnan(known), UNKNOWN + asked_after(desk, row), known)


def asked_after(desk: Desk, row: int) -> Figures:
    """By node, in per cent: the scarcest resource with the pod, by what pods ask for."""
    room = desk.snapshot.room.astype(np.float64)
    taken = room - desk.placement.free + desk.placement.asks(row)
    with np.errstate(divide="ignore", invalid="ignore"):
        percents: Figures = np.where(room > 0, 100 * taken / room, 0).max(axis=1)
    return percents


def size(desk: Desk, row: int) -> float:
    """What it asks for, as the largest share of all that nodes have of one resource."""
    total = desk.snapshot.room.sum(axis=0)
    shares = desk.placement.asks(row)[total > 0] / total[total > 0]
    return float(shares.max(initial=0))


def after_the_move(desk: Desk, row: int, target: int) -> str:
    """What a move does to its target, in numbers; asked before it is made."""
    name = desk.nodes[target].name
    if not desk.loads.known[target]:
        return f"the load of {name} is unknown, {asked_after(desk, row)[target]:.1f} % asked for"
    after = desk.loads.percent[target] + desk.loads.percent_of(row)[target]
    figures = zip(RESOURCES, after.tolist(), strict=True)
    return f"{name} then has " + ", ".join(f"{each} at {load:.1f} %" for each, load in figures)


@dataclass(frozen=True, slots=True)
class _Level:
    """A point of the search at which some have a place, and the others wait."""

    waiting: list[int]
    mark: int
    choices: Iterator[tuple[int, int]]


def _choices(desk: Desk, waiting: list[int], prefer: Prefer) -> Iterator[tuple[int, int]]:
    """Whom to move next, and where to. Who has no place yet may have one when another has left."""
    tried = set()
    for member in waiting:
        if (alike := kind(desk, member)) in tried:
            continue  # what failed for its twin fails for it
        tried.add(alike)
        for target in in_order(desk.targets(member), prefer(member))[:_BREADTH]:
            yield member, target


def kind(desk: Desk, row: int) -> tuple[object, ...]:
    """The same for pods that any rule treats alike, where they are."""
    pods, place = desk.snapshot.pods, int(desk.placement.place[row])
    alike = int(pods.pod_class[row]), int(pods.asks[row]), int(pods.own_labels[row])
    return *alike, pods.claims.get(row, ()), place


def in_order(targets: Mask, preference: Figures) -> list[int]:
    """Their numbers, the best first; among equals, by name."""
    numbers = np.flatnonzero(targets & np.isfinite(preference))
    ordered: list[int] = numbers[np.argsort(preference[numbers], kind="stable")].tolist()
    return ordered


def _hardest_first(desk: Desk, members: tuple[int, ...]) -> list[int]:
    """Those with the fewest places, then the biggest: what is left over suits the others."""
    if len(members) == 1:
        return list(members)
    return sorted(members, key=lambda row: (int(desk.targets(row).sum()), -size(desk, row)))


def words(reason: Reason, row: int, target: int) -> str:
    return reason if isinstance(reason, str) else reason(row, target)


def _too_many(members: int, left: int) -> str:
    if members == 1:
        return "maxReschedulePods is reached"
    return f"its group moves as a whole: {members} pods, and maxReschedulePods leaves {left}"
