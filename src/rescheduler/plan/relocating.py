"""A place for a pod, or for all pods of its group at once: moves for every one of them, or none."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.plan.desk import NO_LIMIT, Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.nowhere import why_nowhere

STEPS: Final = 150
"""Beyond those that its moves need: who is not placed by then is tried in another order."""
_ORDERS: Final = 4
IN_VAIN: Final = 1_500
"""Such steps for one group in a whole plan: then only what works at once is found for it."""

_BREADTH: Final = 16
"""How many targets of one pod are tried: beyond the best, another choice rarely helps others."""

UNKNOWN: Final = 1e6
"""More per cent than any load: nodes of unknown load come last."""

OVERLOADED: Final = UNKNOWN / 10
"""Added to the load of a node: it is taken when no other is left, but before unknown ones."""

SPARE: Final = OVERLOADED / 10
"""The same, for one that an autoscaler would remove soon: before any is overloaded."""

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
    if desk.ended:
        return desk.ended
    whose = "" if len(members) == 1 else f"{desk.name(stuck)} of its group: "
    if not desk.targets(stuck).any():
        return whose + why_nowhere(desk, stuck)
    return f"{whose}no place beside the others" if whose else "no node that would help takes it"


def settle(
    desk: Desk, row: int, reason: Reason, *, asked: bool, prefer: Prefer | None = None
) -> int | None:
    """The same for whoever does not need words: the member that found no place; None: all did."""
    if desk.ended:
        return row
    prefer = prefer or lowest_load(desk)
    if len(desk.unit(row)) == 1:
        return _search(desk, [row], reason, asked=asked, prefer=prefer, limit=NO_LIMIT)
    members, needed = _hardest_first(desk, desk.unit(row))
    if not needed:
        return members[0]
    group, stuck = desk.groups.name(row), None
    put_first: set[int] = set()
    for _ in range(_ORDERS):
        first, left = desk.steps, max(IN_VAIN - desk.in_vain.get(group, 0), 0)
        limit = first + needed + min(STEPS, left)
        stuck = _search(desk, members, reason, asked=asked, prefer=prefer, limit=limit)
        taken = desk.steps - first - (needed if stuck is None else 0)
        desk.in_vain[group] = desk.in_vain.get(group, 0) + max(taken, 0)
        if stuck is None or not left or stuck in put_first or stuck == members[0]:
            break
        # Whoever found no place chooses first next time.
        put_first.add(stuck)
        members = [stuck, *(each for each in members if each != stuck)]
    return stuck


def _search(
    desk: Desk, members: list[int], reason: Reason, *, asked: bool, prefer: Prefer, limit: int
) -> int | None:
    """Depth first: who is placed stays so until one who comes later finds nothing.

    Gives the one who found nothing first.
    """
    start = desk.mark()
    stuck = None
    levels = [_Level(members, start, _choices(desk, members, prefer))]
    while levels and desk.steps < limit and not desk.ended:
        level = levels[-1]
        # Choices are judged where the level began, whatever was tried since.
        desk.rewind(level.mark)
        choice = next(level.choices, None)
        if choice is None:
            stuck = level.waiting[0] if stuck is None else stuck
            levels.pop()
            continue
        member, target = choice
        desk.move(member, target, words(reason, member, target), asked=asked)
        waiting = [each for each in level.waiting if each != member]
        if not waiting:
            return None
        levels.append(_Level(waiting, desk.mark(), _choices(desk, waiting, prefer)))
    desk.rewind(start)
    return members[0] if stuck is None else stuck


def _could_ever(desk: Desk, row: int, members: tuple[int, ...]) -> bool:
    """Some node would do, if all others of the group had left: else a search is in vain."""
    placement = desk.placement
    free = placement.free.copy()
    for member in members:
        free[placement.place[member]] += placement.asks(member)
    asks = placement.asks(row)
    would_do = placement.static_mask(row) & desk.usable
    would_do &= ((asks <= free) | (asks == 0)).all(axis=1)
    would_do[placement.place[row]] = False
    return bool(would_do.any())


def gently(desk: Desk) -> Prefer:
    """Nodes that stay below the thresholds and are not spare, then the lowest load, then nodes of
    unknown load.
    """
    thresholds = np.array(
        [
            desk.configuration.cpu_threshold_percent,
            desk.configuration.memory_threshold_percent,
        ]
    )

    def prefer(row: int) -> Figures:
        after = desk.loads.percent + desk.loads.percent_of(row)
        too_high = (after > thresholds).any(axis=1)  # never where it is unknown
        penalties = np.where(too_high, OVERLOADED, 0) + np.where(desk.spare, SPARE, 0)
        preference: Figures = load_after(desk, row) + penalties
        return preference

    return prefer


def lowest_load(desk: Desk) -> Prefer:
    """The load of a node with the pod, in per cent: of cpu or memory, whichever is higher."""
    return lambda row: load_after(desk, row)


def load_after(desk: Desk, row: int) -> Figures:
    """Where the load is unknown, nodes are in order of what is asked of them."""
    known: Figures = (desk.loads.percent + desk.loads.percent_of(row)).max(axis=1)
    unknown = np.isnan(known)
    return np.where(unknown, UNKNOWN + asked_after(desk, row), known) if unknown.any() else known


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
        return (
            f"the load of {name} is unknown, its requests at {asked_after(desk, row)[target]:.1f} %"
        )
    used = desk.loads.used[target] + desk.loads.of_pod[row]
    after = 100 * used / desk.loads.capacity[target]
    figures = zip(RESOURCES, after.tolist(), strict=True)
    return f"{name} then has " + ", ".join(f"{each} at {load:.1f} %" for each, load in figures)


@dataclass(frozen=True, slots=True)
class _Level:
    """A point of the search at which some have a place, and the others wait."""

    waiting: list[int]
    mark: int
    choices: Iterator[tuple[int, int]]


def _choices(desk: Desk, waiting: list[int], prefer: Prefer) -> Iterator[tuple[int, int]]:
    """Whom to move next, and where to. Who has no place yet may have one when another has left.

    To look for one is a step, and so is every place but the first.
    """
    tried = set()
    for member in waiting:
        if (alike := kind(desk, member)) in tried:
            continue  # what failed for its twin fails for it
        tried.add(alike)
        if not desk.take_step():
            return
        targets = best_of(desk.targets(member), prefer(member))
        for target in targets:
            if target != targets[0] and not desk.take_step():
                return
            yield member, target


def kind(desk: Desk, row: int) -> tuple[object, ...]:
    """The same for pods that any rule treats alike, where they are."""
    pods, place = desk.snapshot.pods, int(desk.placement.place[row])
    alike = int(pods.pod_class[row]), int(pods.request_set[row]), int(pods.own_labels[row])
    return *alike, pods.claims.get(row, ()), place


def best_of(targets: Mask, preference: Figures) -> list[int]:
    """Numbers of some, the best first; among equals, by name."""
    numbers = np.flatnonzero(targets & np.isfinite(preference))
    rank = preference[numbers]
    if len(numbers) > _BREADTH:
        # To sort thousands takes longer than to find out whether they take the pod.
        good = rank <= np.partition(rank, _BREADTH - 1)[_BREADTH - 1]
        numbers, rank = numbers[good], rank[good]
    ordered: list[int] = numbers[np.argsort(rank, kind="stable")][:_BREADTH].tolist()
    return ordered


def _hardest_first(desk: Desk, members: tuple[int, ...]) -> tuple[list[int], int]:
    """Those with the fewest places, then the biggest: what is left over suits the others. And the
    steps that it takes at least to move all; none: the first of them has no place, ever.
    """
    places: dict[tuple[object, ...], int] = {}
    for member in members:
        if (alike := kind(desk, member)) in places:
            continue
        if not desk.take_step():
            return [member], 0
        places[alike] = int(desk.targets(member).sum())
        if not places[alike] and not _could_ever(desk, member, members):
            return [member], 0
    ordered = sorted(members, key=lambda member: (places[kind(desk, member)], -size(desk, member)))
    # Who has none yet is asked again whenever another has left.
    return ordered, len(members) * (1 + sum(not count for count in places.values()))


def words(reason: Reason, row: int, target: int) -> str:
    return reason if isinstance(reason, str) else reason(row, target)


def _too_many(members: int, left: int) -> str:
    if members == 1:
        return "maxReschedulePods is reached"
    return f"its group moves as a whole: {members} pods, and maxReschedulePods leaves {left}"
