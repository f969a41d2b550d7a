"""TopologySpread: repairs rules of pods that hold no longer where they are.

The scheduler looks at node affinity, affinity, anti-affinity and topology spread once, when it
places a pod. Nodes are labelled anew, zones come back, neighbours come by other ways: nobody looks
again.
"""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Report
from rescheduler.model.strategies import TOPOLOGY_SPREAD
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import Figures
from rescheduler.plan.relocating import UNKNOWN, Reason, after_the_move, gently, kind, relocate
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = TOPOLOGY_SPREAD

_KINDS: Final = ("node affinity", "anti-affinity", "affinity", "topology spread")
"""What the reasons of `Placement.broken` begin with."""
_NAMED: Final = 3
"""Pods that the report names; the plan lists every one of them among its refusals."""
_CROWD: Final = 100 * UNKNOWN
"""One pod more in a domain counts for more than any load."""

Broken = Mapping[int, tuple[str, ...]]


def decide(desk: Desk) -> Report:
    leaving = _leaving(desk)
    found = {row: why for row, why in desk.placement.broken().items() if row not in leaving}
    before = _lasting(desk, found, leaving)
    start = desk.mark()
    _Repair(desk, before, leaving).go()
    moved = len(desk.moves) - start
    broken = desk.placement.broken(found)
    after = _lasting(desk, broken, leaving)
    settling = len(broken) - len(after)
    summary = _summary(desk, before, moved, after)
    if settling:
        summary += f"; those of {_pods(settling)} will when pods are gone that are leaving already"
    figures = {
        "broken": len(before),
        "moves": moved,
        "brokenAfter": len(after),
        "settling": settling,
    }
    return Report(strategy=NAME, acted=moved > 0, summary=summary, figures=figures)


def _leaving(desk: Desk) -> frozenset[int]:
    flags = desk.snapshot.pods.flags & (Flag.TERMINATING | Flag.LEAVING)
    return frozenset(np.flatnonzero(flags).tolist())


def _lasting(desk: Desk, broken: Broken, leaving: frozenset[int]) -> Broken:
    """What will be broken still when those pods are gone that are leaving already."""
    if not leaving:
        return broken
    return {row: why for row, why in broken.items() if _lasts(desk, row, why, leaving)}


def _lasts(desk: Desk, row: int, reasons: Sequence[str], leaving: frozenset[int]) -> bool:
    if any(reason.startswith(("node affinity", "affinity")) for reason in reasons):
        return True
    placement, pods = desk.placement, desk.snapshot.pods
    rules, here = placement.rules(row), placement.place[row]
    if not leaving.issuperset(placement.neighbours.unwanted(row, rules)):
        return True
    for spread, count, skew in placement.spreading.uneven(row, rules):
        less = sum(
            count.has(each, int(pods.pod_class[each]))
            and count.domain[placement.place[each]] == count.domain[here]
            for each in leaving
            if placement.place[each] != NONE
        )
        if skew - less > spread.max_skew:
            return True
    return False


class _Repair:
    """Low priority first, from the fullest domain; each pod once."""

    def __init__(self, desk: Desk, broken: Broken, leaving: frozenset[int]) -> None:
        self._desk = desk
        self._leaving = leaving
        self._queue = [(self._rank(row), row) for row in broken]
        self._hopeless: dict[tuple[object, ...], str] = {}
        """What was said to alike pods since the last move that was not taken back."""

    def go(self) -> None:
        heapq.heapify(self._queue)
        while self._queue and self._desk.left and self._desk.take_step():
            rank, row = heapq.heappop(self._queue)
            if not self._reasons(row):
                continue  # others made room
            if (now := self._rank(row)) != rank:
                heapq.heappush(self._queue, (now, row))
                continue
            self._repair(row)

    def _reasons(self, row: int) -> tuple[str, ...]:
        broken = self._desk.placement.broken([row])
        return _lasting(self._desk, broken, self._leaving).get(row, ())

    def _rank(self, row: int) -> tuple[int, int, int, str]:
        desk = self._desk
        uneven = desk.placement.spreading.uneven(row, desk.placement.rules(row))
        excess = max((skew - spread.max_skew for spread, _, skew in uneven), default=0)
        return desk.priority(row), -excess, -len(self._rivals(row)), desk.name(row)

    def _rivals(self, row: int) -> list[int]:
        """Pods that it must not be near to, and that do not leave anyway."""
        placement = self._desk.placement
        unwanted = placement.neighbours.unwanted(row, placement.rules(row))
        return sorted(set(unwanted) - self._leaving, key=self._desk.name)

    def _repair(self, row: int) -> None:
        """It leaves, or those do that it must not be near to."""
        desk = self._desk
        rivals = self._rivals(row)
        ways = [[row], rivals] if rivals else [[row]]
        if len(rivals) == 1 and desk.priority(rivals[0]) < desk.priority(row):
            ways.reverse()
        refusals = []
        for leaving in ways:
            refusal = self._move(row, leaving)
            if not refusal:
                self._hopeless.clear()
                # Others left, and that was not all that is broken.
                if self._reasons(row):
                    heapq.heappush(self._queue, (self._rank(row), row))
                return
            refusals += refusal
        desk.refuse(row, refusals)

    def _move(self, row: int, leaving: Sequence[int]) -> list[str]:
        """All of them, or none, if that does not help; then why."""
        desk = self._desk
        mark, before = desk.mark(), self._reasons(row)
        for each in leaving:
            # Once another has moved, what was said is no longer true, and what is said then will
            # not be if that move is taken back.
            said = self._hopeless if desk.mark() == mark else {}
            if refusal := self._why_stuck(each, row, before, said):
                desk.rewind(mark)
                return refusal
        if len(self._reasons(row)) < len(before):
            return []
        desk.rewind(mark)
        return ["no move that is possible would help"]

    def _why_stuck(
        self, leaving: int, row: int, broken: Sequence[str], said: dict[tuple[object, ...], str]
    ) -> list[str]:
        """Nothing: it has been moved, for the sake of the row."""
        desk = self._desk
        alike = kind(desk, leaving)
        reasons = list(desk.why_it_stays(leaving))
        if not reasons:
            why = said.get(alike) or relocate(
                desk, leaving, self._reason(row, broken), prefer=self._prefer
            )
            if not why:
                return []
            said[alike] = why
            reasons = [why]
        if leaving == row:
            return reasons
        return [f"{desk.name(leaving)}, which it must not be near to, stays: {reasons[0]}"]

    def _reason(self, row: int, broken: Sequence[str]) -> Reason:
        desk, words = self._desk, "; ".join(broken)

        def reason(leaving: int, target: int) -> str:
            whose = "" if leaving == row else f"for {desk.name(row)}: "
            return f"{whose}{words}; {after_the_move(desk, leaving, target)}"

        return reason

    def _prefer(self, row: int) -> Figures:
        """Out of domains that are too full, into the emptiest; then where the load stays low."""
        placement = self._desk.placement
        preference = gently(self._desk)(row)
        here = placement.place[row]
        for _, count, _ in placement.spreading.uneven(row, placement.rules(row)):
            preference += _CROWD * count.at(placement.facts.everywhere)
            preference[count.domain == count.domain[here]] = np.inf
        return preference


# ---------------------------------------------------------------------- telling


def _summary(desk: Desk, before: Broken, moved: int, after: Broken) -> str:
    if not before:
        return "the rules of all pods hold where they are"
    summary = f"{_count(before)}: {moved} {'moves' if moved == 1 else 'move'}"
    return summary + (f"; {_staying(desk, after)}" if after else ", then all hold")


def _count(broken: Broken) -> str:
    """By pod and kind of rule."""
    kinds = Counter(
        next(kind for kind in _KINDS if reason.startswith(kind))
        for reasons in broken.values()
        for reason in reasons
    )
    told = ", ".join(f"{kinds[each]} {each}" for each in _KINDS if kinds[each])
    return f"rules of {_pods(len(broken))} do not hold where they are ({told})"


def _staying(desk: Desk, after: Broken) -> str:
    rows = sorted(after, key=desk.name)
    named = [f"{desk.name(row)} ({_why(desk, row)})" for row in rows[:_NAMED]]
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return f"those of {_pods(len(rows))} still do not: " + ", ".join(named) + more


def _why(desk: Desk, row: int) -> str:
    unseen = desk.ended or "its turn did not come" if desk.left else "maxReschedulePods is reached"
    return next(iter(desk.refused.get(row, ())), unseen)


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


STRATEGY: Final = Strategy(name=NAME, decide=decide)
