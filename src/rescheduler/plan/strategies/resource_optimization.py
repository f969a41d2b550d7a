"""ResourceOptimization: moves pods off nodes that use more cpu or memory than the threshold, until
they use no more than the target, which is lower: so a node that was relieved stays so for a while.

No other node is lifted above the threshold less `stability.margin`. Where no pod can go under these
terms, the node stays as it is, and the plan says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from rescheduler.model.moves import Report
from rescheduler.model.strategies import RESOURCE_OPTIMIZATION
from rescheduler.plan.balancing import pace
from rescheduler.plan.balancing.patience import is_hot_soon
from rescheduler.plan.balancing.taking_part import (
    ceiling,
    full_words,
    left_out_words,
    may_take,
    not_judged,
    taking_load,
    thresholds,
    unknown_words,
    why_too_few_are_known,
)
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.nowhere import why_nowhere
from rescheduler.plan.relocating import SPARE, load_after, relocate
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = RESOURCE_OPTIMIZATION

_BELOW: Final = 10.0
"""Points below the threshold to which a node is relieved, where nothing else is set."""
_TRIED: Final = 100
"""Nodes that are tried in one pass: on a cluster that is full, hundreds may be in vain."""
_NAMED: Final = 3
"""Pods that a note names."""


def decide(desk: Desk) -> Report:
    if too_few := why_too_few_are_known(desk):
        return Report(strategy=NAME, acted=False, summary=too_few)
    limits = thresholds(desk)
    hot = overloaded(desk, limits)
    if not hot:
        summary = f"{_highest(desk, limits)}{unknown_words(desk)}{full_words(desk)}"
        return Report(strategy=NAME, acted=False, summary=summary, figures={"overloaded": 0})
    start = desk.mark()
    part = taking_load(desk)
    for node in hot[:_TRIED]:
        if not desk.left or not desk.take_step():
            break
        _Relief(desk, node, part).go()
    moved = len(desk.moves) - start
    still = overloaded(desk, limits)
    figures = {"overloaded": len(hot), "overloadedAfter": len(still), "moves": moved}
    more = 0
    if not desk.left and still:
        more = pace.moves_for(desk, pace.above(desk, still, targets(desk)))
        figures["passesLeft"] = pace.passes_for(desk, more)
    summary = f"{_summary(desk, hot, still, moved, more)}{left_out_words(desk)}{full_words(desk)}"
    return Report(strategy=NAME, acted=moved > 0, summary=summary, figures=figures)


def overloaded(desk: Desk, limits: Figures) -> list[int]:
    """Numbers of nodes, the one that is furthest above its threshold first. What an autoscaler has
    packed to the brim by requests is no more than it wants; only what is measured tells.
    """
    ready = np.array([node.ready for node in desk.nodes], np.bool_)
    over = np.nan_to_num(desk.loads.percent - limits, nan=-1.0).max(axis=1, initial=-1.0)
    found = np.flatnonzero((over > 0) & desk.in_scope & ~desk.closed & ready & ~not_judged(desk))
    ordered: list[int] = found[np.argsort(-over[found], kind="stable")].tolist()
    return ordered


def targets(desk: Desk) -> Figures:
    """By resource: the load at which a node is relieved enough."""
    settings = desk.configuration.resource_optimization
    given = {"cpu": settings.cpu_target_percent, "memory": settings.memory_target_percent}
    found = []
    for name, threshold in zip(RESOURCES, thresholds(desk).tolist(), strict=True):
        own = given[name]
        found.append(max(threshold - _BELOW, threshold / 2) if own is None else own)
    return np.array(found)


@dataclass(slots=True)
class _Held:
    """Pods of one node that do not help, by why."""

    too_big: list[int] = field(default_factory=list)
    stay: list[int] = field(default_factory=list)
    nowhere: list[int] = field(default_factory=list)


class _Relief:
    """Of one node."""

    def __init__(self, desk: Desk, node: int, part: Mask) -> None:
        self._desk = desk
        self._node = node
        self._others = part.copy()
        self._others[node] = False
        self._limits = thresholds(desk)
        self._ceiling = ceiling(desk)
        self._held = _Held()
        points = desk.loads.percent[node]
        over = points > self._limits
        self._goal: Figures = np.where(over, targets(desk), np.inf)
        """By resource; infinite where there is nothing to relieve."""

    def go(self) -> None:
        desk, start = self._desk, self._desk.mark()
        before = desk.loads.percent[self._node]
        waiting = self._who_could_go()
        while desk.left and waiting and self._need().any() and desk.take_step():
            row = self._best(waiting)
            waiting.remove(row)
            self._move(row)
            # It may have taken others of its group along.
            waiting = [each for each in waiting if desk.placement.place[each] == self._node]
        after = desk.loads.percent[self._node]
        if not (after > self._limits).any():
            return
        share = desk.configuration.stability.move_cost_percent / 100
        over = before > self._limits
        gained = float(((before - after) / (before - self._goal))[over].max())
        if desk.mark() > start and desk.left and gained < share:
            desk.rewind(start)
            after = before
        held = self._held
        # What only waits for its turn is told of all nodes together.
        if desk.left or desk.ended or held.too_big or held.nowhere:
            desk.note(self._why_not_relieved(after))

    def _need(self) -> Figures:
        """By resource: the points that are still too many."""
        need: Figures = np.maximum(self._desk.loads.percent[self._node] - self._goal, 0.0)
        return need

    def _who_could_go(self) -> list[int]:
        desk = self._desk
        found, short = [], self._need() > 0
        for row in desk.movable_on(self._node):
            if (desk.loads.of_pod[row][short] > 0).any():
                found.append(row)
            else:
                desk.refuse(row, ["it uses nothing of what its node is short of"])
        free = set(found)
        self._held.stay = [row for row in desk.placement.rows_on(self._node) if row not in free]
        return found

    def _best(self, rows: list[int]) -> int:
        """Who is enough alone, else who helps most; low priority first among those who help at
        least half as much.
        """
        desk, need = self._desk, self._need()
        short = need > 0
        points = 100 * desk.loads.of_pod[rows] / desk.loads.capacity[self._node]
        shares = np.minimum(points[:, short] / need[short], 1.0).mean(axis=1)
        half, owns = shares.max() / 2, points.sum(axis=1)

        def rank(place: int) -> tuple[bool, int, bool, float, str]:
            row, share = rows[place], float(shares[place])
            own = float(owns[place])
            # Of those who are enough, the smallest; of the others, the largest.
            enough = share >= 1
            return (
                share < half,
                desk.priority(row),
                not enough,
                own if enough else -own,
                desk.name(row),
            )

        return rows[min(range(len(rows)), key=rank)]

    def _move(self, row: int) -> None:
        desk = self._desk
        if len(desk.unit(row)) > 1:
            why = relocate(desk, row, self._reason, prefer=self._preference)
            if why:
                desk.refuse(row, [why])
                self._held.nowhere += [] if desk.ended else [row]
            return
        takes = may_take(desk, row, self._others)
        preference = np.where(takes, self._preference(row), np.inf)
        if np.isfinite(preference).any():
            target = int(preference.argmin())
            desk.move(row, target, self._reason(row, target))
        elif takes.any():
            self._held.too_big.append(row)
            desk.refuse(row, [f"no node can take it and stay {self._low_enough()}"])
        else:
            self._held.nowhere.append(row)
            desk.refuse(row, [why_nowhere(desk, row, balancing=True)])

    def _preference(self, row: int) -> Figures:
        """The load of every node with it; infinite where that is too much. Those come last that
        will be overloaded soon by themselves, and then those that would have to be kept for it.
        """
        desk = self._desk
        after = desk.loads.percent + desk.loads.percent_of(row)
        with np.errstate(invalid="ignore"):
            allowed = self._others & (after <= self._ceiling).all(axis=1)
        load = load_after(desk, row) + np.where(desk.spare, SPARE, 0)
        load += np.where(is_hot_soon(desk, row), SPARE / 2, 0)
        preference: Figures = np.where(allowed, load, np.inf)
        return preference

    # ------------------------------------------------------------------ words

    def _reason(self, row: int, target: int) -> str:
        desk, node = self._desk, self._node
        points = desk.loads.percent
        column = int((points[node] - self._limits).argmax())
        less = desk.loads.percent_of(row)
        return (
            f"{RESOURCES[column]} {desk.loads.word}: {desk.nodes[node].name} "
            f"{points[node, column]:.1f} %, threshold {self._limits[column]:g}; "
            f"{points[node, column] - less[node, column]:.1f} % after the move, "
            f"{desk.nodes[target].name} then {points[target, column] + less[target, column]:.1f} %"
        )

    def _low_enough(self) -> str:
        margin = self._desk.configuration.stability.margin_points
        loads = " and ".join(
            f"{limit:g} % of {name}" for name, limit in zip(RESOURCES, self._ceiling, strict=True)
        )
        return f"at or below {loads} (the thresholds less stability.margin, {margin:g} points)"

    def _why_not_relieved(self, after: Figures) -> str:
        desk, held = self._desk, self._held
        over = [
            f"{name} {desk.loads.word} {load:.1f} %, threshold {limit:g}"
            for name, load, limit in zip(
                RESOURCES, after.tolist(), self._limits.tolist(), strict=True
            )
            if load > limit
        ]
        name: Callable[[int], str] = desk.name
        causes = []
        if not desk.left:
            causes.append("maxReschedulePods is reached")
        if desk.ended:
            causes.append(desk.ended)
        if held.too_big:
            causes.append(
                f"no node can take {_few(list(map(name, held.too_big)))} and stay "
                f"{self._low_enough()}"
            )
        if held.nowhere:
            causes.append(f"no node takes {_few(list(map(name, held.nowhere)))}")
        if held.stay:
            causes.append(
                f"{len(held.stay)} of its pods may not move"
                if len(held.stay) > 1
                else f"{name(held.stay[0])} may not move"
            )
        why = "; ".join(causes) or "it has no other pods that could go"
        return f"{desk.nodes[self._node].name} stays overloaded ({', '.join(over)}): {why}"


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _highest(desk: Desk, limits: Figures) -> str:
    judged = desk.in_scope & desk.loads.known & ~not_judged(desk)
    points = np.where(judged[:, None], desk.loads.percent, -1.0)
    if not len(points) or (points < 0).all():
        return "there is no node to look at"
    tops = [
        f"{name} {points[:, column].max():.1f} % on {desk.nodes[points[:, column].argmax()].name}, "
        f"threshold {limits[column]:g}"
        for column, name in enumerate(RESOURCES)
    ]
    return f"no node is overloaded: the highest {desk.loads.word} are {' and '.join(tops)}"


def _summary(desk: Desk, hot: list[int], still: list[int], moved: int, more: int) -> str:
    """`more`: moves that are left to later passes."""
    limits = thresholds(desk)
    names = _few([desk.nodes[node].name for node in hot])
    bounds = " or ".join(
        f"{limit:g} % of {name}" for name, limit in zip(RESOURCES, limits.tolist(), strict=True)
    )
    nodes = "1 node is" if len(hot) == 1 else f"{len(hot)} nodes are"
    moves = "1 move relieves" if moved == 1 else f"{moved} moves relieve"
    whom = "it" if len(hot) == 1 else "them"
    done = f"{moves} {whom}" if moved else desk.ended or "no pod can be moved"
    left = f"; {len(still)} still above it" if still and moved else ""
    if more:
        counted = "1 move" if moved == 1 else f"{moved} moves"
        done = f"{counted} now, about {more:,} more to come" if moved else "no more moves now"
        left = f": {pace.words(desk, more)}"
    ended = f"; {desk.ended}" if desk.ended and moved else ""
    return f"{nodes} above {bounds} ({desk.loads.word}): {names}; {done}{left}{ended}"


STRATEGY: Final = Strategy(name=NAME, decide=decide, by_load=True)
