"""LoadBalancing: moves pods from nodes with much load to nodes with little, while these are further
apart than the threshold.

What is lowered is the imbalance, the most minus the least used node in points of allocatable, of
cpu or memory, whichever is more; and among moves that leave the same imbalance, the spread of all
nodes. A move has to narrow the gap between its two nodes even if that gap were measured wrongly by
`stability.margin`, and by `stability.moveCost` of what its pod weighs there. Moves between nodes
that do not differ by more than the threshold are made only if the imbalance needs them. Once it is
not above half the threshold, nothing moves: in between, noise sets nothing off.

Where the hours to come are known, all this is asked of them, too: see `balancing.patience`.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rescheduler.model.moves import Report
from rescheduler.model.strategies import LOAD_BALANCING
from rescheduler.plan.balancing import pace, patience
from rescheduler.plan.balancing.candidates import Looking
from rescheduler.plan.balancing.offers import Worth
from rescheduler.plan.balancing.searching import Choice, search
from rescheduler.plan.balancing.taking_part import (
    ceiling,
    not_evened_words,
    taking_part,
    why_too_few_are_known,
)
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.relocating import load_after, relocate
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = LOAD_BALANCING

_TWO: Final = 2
_AT_ONCE: Final = 32
"""Moves that are chosen together; where more are allowed, again from there."""
_GROUPS: Final = 10
"""Pod groups that are tried: each takes a search of its own."""


def decide(desk: Desk) -> Report:
    if too_few := why_too_few_are_known(desk):
        return _rest(too_few)
    part = taking_part(desk)
    if part.sum() < _TWO:
        return _rest(_too_few_nodes(desk, part))
    before = _imbalances(desk, part)
    threshold = desk.configuration.imbalance_threshold_percent
    words = _words(desk, part)
    figures = {f"{name}Before": round(gap, 3) for name, gap in _by_resource(before)}
    figures["threshold"] = threshold
    if patience.pressing(desk, part) <= threshold:
        summary = f"{words}, not above the threshold of {threshold:g}{not_evened_words(desk)}"
        return Report(strategy=NAME, acted=False, summary=summary, figures=figures)
    if why := patience.goes_by_itself(desk, part, threshold):
        summary = f"{words}; {why}{not_evened_words(desk)}"
        return Report(strategy=NAME, acted=False, summary=summary, figures=figures)
    start, why = desk.mark(), patience.comes_soon(desk, part, threshold)
    _Balancing(desk, part).go()
    if desk.mark() == start and desk.loads.moments > 1 and patience.cannot_wait(desk, part):
        desk.loads.forget_ahead()
        _Balancing(desk, part).go()
    moved = len(desk.moves) - start
    after = _imbalances(desk, part)
    figures |= {f"{name}After": round(gap, 3) for name, gap in _by_resource(after)}
    figures["moves"] = moved
    why = why or f"above the threshold of {threshold:g}"
    summary = f"{words}, {why}; {_outcome(desk, after, moved)}"
    if not desk.left and after.max() > threshold:
        more = pace.moves_for(desk, pace.apart(desk, part, threshold))
        figures["passesLeft"] = pace.passes_for(desk, more)
        summary = f"{summary}; {pace.words(desk, more)}"
    return Report(
        strategy=NAME,
        acted=moved > 0,
        summary=f"{summary}{not_evened_words(desk)}",
        figures=figures,
    )


class _Balancing:
    def __init__(self, desk: Desk, part: Mask) -> None:
        configuration = desk.configuration
        self._desk = desk
        self._part = part
        self._threshold = configuration.imbalance_threshold_percent
        self._worth = Worth(
            margin=configuration.stability.margin_points,
            share=configuration.stability.move_cost_percent / 100,
            floor=self._threshold / 2,
            ceiling=desk.loads.of_all_moments(ceiling(desk)),
        )

    def go(self) -> None:
        desk = self._desk
        groups: dict[int, None] = {}
        while desk.left and desk.take_step():
            done = desk.mark()
            groups |= dict.fromkeys(self._move_some())
            # What did not fit when its turn came leaves room for another choice.
            if desk.mark() == done or patience.pressing(desk, self._part) <= self._threshold:
                break
        self._move_groups(list(groups))

    def _move_some(self) -> Iterable[int]:
        """Gives the pods that it has met which would take others with them."""
        desk = self._desk
        most = min(desk.left, _AT_ONCE)
        looking = Looking(desk, self._part, self._worth, most)
        found = looking.look()
        offers = found.offers
        if offers is None:
            return found.groups
        choice = Choice(looking.points, offers, self._worth, desk)
        taken = search(
            choice, most, self._threshold, desk.search.seed, is_last=desk.left <= _AT_ONCE
        )
        chosen = [
            (found.rows[offers.pod[offer]], int(looking.nodes[offers.nodes[offers.target[offer]]]))
            for offer in taken
        ]
        self._carry_out(chosen)
        self._refuse_the_rest(found.rows)
        return found.groups

    def _carry_out(self, chosen: list[tuple[int, int]]) -> None:
        """Low priority first, but for those that fit only when others have gone."""
        desk = self._desk
        waiting = sorted(chosen, key=lambda each: desk.priority(each[0]))
        while waiting:
            for row, target in waiting:
                if self._gained(row, target) > 0 and desk.placement.fits(
                    row, target, desk.way(row)
                ):
                    desk.move(row, target, self._reason(row, target))
                    waiting = [each for each in waiting if each[0] != row]
                    break
            else:
                return

    def _gained(self, row: int, target: int) -> float:
        desk = self._desk
        source = int(desk.placement.place[row])
        points, of_pod = desk.loads.series, desk.loads.series_percent_of(row)
        gained = self._worth.of(points[source], points[target], of_pod[source], of_pod[target])
        return float(gained)

    def _reason(self, row: int, target: int) -> str:
        """Of the resource in which it brings the two nodes closer together."""
        desk = self._desk
        source = int(desk.placement.place[row])
        points, of_pod = desk.loads.series, desk.loads.series_percent_of(row)
        gaps = np.abs(points[source] - points[target])
        after = np.abs(points[source] - of_pod[source] - points[target] - of_pod[target])
        column = int((gaps - after).argmax())
        return (
            f"{patience.label(desk, column)}: "
            f"{desk.nodes[source].name} {points[source, column]:.1f} %, "
            f"{desk.nodes[target].name} {points[target, column]:.1f} %, "
            f"gap {gaps[column]:.1f} points; {after[column]:.1f} points after the move"
        )

    def _refuse_the_rest(self, rows: list[int]) -> None:
        desk = self._desk
        moved = {planned.row for planned in desk.moves}
        why = desk.ended or "other moves lower the imbalance more"
        if not desk.left:
            why += ", and maxReschedulePods is reached"
        for row in rows:
            if row not in moved and row not in desk.refused:
                desk.refuse(row, [why])

    # ------------------------------------------------------------------ groups

    def _move_groups(self, rows: list[int]) -> None:
        """Each as a whole, if that is worth it."""
        desk = self._desk
        tried: set[str] = set()
        for row in rows:
            before = patience.pressing(desk, self._part)
            name, size = desk.groups.name(row), len(desk.unit(row))
            if name in tried or len(tried) >= _GROUPS or before <= self._threshold:
                continue
            if not desk.take_step():
                desk.refuse(row, [desk.ended])
                continue
            tried.add(name)
            mark, loads = desk.mark(), desk.loads.series[self._part].T
            if why := relocate(desk, row, self._reason, prefer=self._prefer):
                desk.refuse(row, [why])
                continue
            if not self._worth.of_all(loads, desk.loads.series[self._part].T):
                gained = before - patience.pressing(desk, self._part)
                desk.rewind(mark)
                desk.refuse(
                    row, [f"moving its group of {size} would gain {max(gained, 0):.1f} points"]
                )

    def _prefer(self, row: int) -> Figures:
        """The least loaded of the nodes that take part and would not be overloaded."""
        desk = self._desk
        after = desk.loads.series + desk.loads.series_percent_of(row)
        with np.errstate(invalid="ignore"):
            below = self._part & (after <= self._worth.ceiling).all(axis=1)
        below &= ~desk.movable.cooldowns.resting_nodes
        preferred: Figures = np.where(below, load_after(desk, row), np.inf)
        return preferred


# ---------------------------------------------------------------------- words


def _imbalances(desk: Desk, part: Mask) -> Figures:
    points = desk.loads.percent[part]
    gaps: Figures = points.max(axis=0) - points.min(axis=0)
    return gaps


def _by_resource(figures: Figures) -> Iterable[tuple[str, float]]:
    return zip(RESOURCES, figures.tolist(), strict=True)


def _words(desk: Desk, part: Mask) -> str:
    column = int(_imbalances(desk, part).argmax())
    numbers = np.flatnonzero(part)
    points = desk.loads.percent[numbers, column]
    most, least = int(points.argmax()), int(points.argmin())
    return (
        f"{RESOURCES[column]} {desk.loads.word}: "
        f"{desk.nodes[numbers[most]].name} {points[most]:.1f} %, "
        f"{desk.nodes[numbers[least]].name} {points[least]:.1f} %, "
        f"imbalance {points[most] - points[least]:.1f} points"
    )


def _outcome(desk: Desk, after: Figures, moved: int) -> str:
    if not moved:
        if not desk.left:
            return "maxReschedulePods is reached"
        return desk.ended or "no move would last and lower it"
    moves = "1 move brings" if moved == 1 else f"{moved} moves bring"
    left = ", ".join(f"{name} to {gap:.1f}" for name, gap in _by_resource(after))
    ended = f"; {desk.ended}" if desk.ended else ""
    return f"{moves} the imbalance of {left} points{ended}"


def _too_few_nodes(desk: Desk, part: Mask) -> str:
    known = int((desk.in_scope & desk.placement.nodes_open).sum())
    if known >= _TWO and part.sum() < (desk.eligible & ~desk.spare & ~desk.packed).sum():
        found = f"{int(part.sum())} nodes have pods that could move"
    elif (desk.eligible & desk.packed).any():
        found = f"{int(part.sum())} of {int(desk.in_scope.sum())} nodes in scope may be evened out"
    else:
        found = (
            f"{int(part.sum())} of {int(desk.in_scope.sum())} nodes in scope can take pods and "
            f"have known {desk.loads.word}"
        )
    return f"{found}: 2 are needed{not_evened_words(desk)}"


def _rest(summary: str) -> Report:
    return Report(strategy=NAME, acted=False, summary=summary)


STRATEGY: Final = Strategy(name=NAME, decide=decide, by_load=True)
