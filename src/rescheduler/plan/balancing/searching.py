"""Which few of many offers lower the imbalance most: greedily first, then by taking some back and
choosing others for them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from rescheduler.plan.balancing.offers import Offers, Worth
from rescheduler.plan.balancing.spread import Places, Spread
from rescheduler.plan.loads import Figures, Mask

_BETTER: Final = 1e-9
_WORK: Final = 400_000
"""Offers and nodes that are looked at in all: on a large cluster, where exchanging gains little, it
is over soon.
"""
_LOOKS: Final = 250
"""However few offers there are."""
_WORSE: Final = 0.1
"""Of all that is gained, what may be lost again on the way to something better, at first."""
_FEWER: Final = 3
"""Moves that are saved at most by searching anew for fewer."""
_AT_ONCE: Final = 3
"""Moves that are taken back together, at most."""
_BEST: Final = 0.4
"""How often the very best offer is chosen while others are tried; the next best less and less."""
_PART: Final = 0.01
"""Of all that is gained: who adds less is of no use."""


class Limits(Protocol):
    """How long a search may go on; a desk keeps count."""

    steps: int

    def take_step(self) -> bool: ...

    def is_over(self) -> bool: ...


class Choice:
    """Offers taken so far, and the nodes as they would be then."""

    def __init__(self, points: Figures, offers: Offers, worth: Worth, limits: Limits) -> None:
        self.spread = Spread.of_some(points, offers.nodes)
        self.start = self.spread.imbalance
        self.taken: list[int] = []
        self.offers = offers
        self.worth = worth
        self._easy = replace(worth, margin=0.0, floor=0.0)
        """By which one is judged that need not be the last."""
        self._points = self.spread.points.copy()
        self.limits = limits
        self._of_pod = _rows_by(offers.pod)
        self._at = _rows_by(offers.target)
        self._free = offers.free.copy()
        self._open: Mask = np.ones(len(offers), np.bool_)
        """Its pod is not taken yet."""
        self._fits: Mask = np.ones(len(offers), np.bool_)
        """Also beside those that are to come to the same node."""

    def take(self, offer: int) -> None:
        self._do(offer, 1)
        self.taken.append(offer)

    def give_back(self, offer: int) -> None:
        self._do(offer, -1)
        self.taken.remove(offer)

    def _do(self, offer: int, sign: int) -> None:
        offers = self.offers
        pod, target = int(offers.pod[offer]), int(offers.target[offer])
        self.spread.move(
            int(offers.source[offer]),
            target,
            sign * offers.out[:, offer],
            sign * offers.into[:, offer],
        )
        self._open[self._of_pod[pod]] = sign < 0
        self._free[target] -= sign * offers.asks[pod]
        rivals = self._at[target]
        asks = offers.asks[offers.pod[rivals]]
        self._fits[rivals] = ((asks <= self._free[target]) | (asks == 0)).all(axis=1)

    def look(self, *, last: bool = False) -> tuple[Places, Figures]:
        """Offers that could be taken, and the score that each would leave. As the last one it has
        to be worth it when all others are done.
        """
        none: Figures = np.zeros(0)
        if not self.limits.take_step():
            return np.zeros(0, np.intp), none
        offers = self.offers
        worth = self.worth if last else self._easy
        rows = np.flatnonzero(self._open & self._fits & worth.offered(self.spread, offers))
        if not len(rows):
            return rows, none
        return rows, self.spread.scores_after(
            offers.source[rows], offers.target[rows], offers.out[:, rows], offers.into[:, rows]
        )

    def in_order(self) -> list[int] | None:
        """Those taken, so that each is worth it when its turn comes: the best first if that is
        possible, else the smallest, which are worth it only while much is left to do, else as they
        were taken.
        """
        return (
            self._ordered(best_first=True)
            or self._ordered(best_first=False)
            or self._ordered(best_first=None)
        )

    def _ordered(self, *, best_first: bool | None) -> list[int] | None:
        offers, points = self.offers, self._points.copy()
        waiting, ordered = np.array(self.taken, np.intp), []
        while len(waiting):
            source, target = offers.source[waiting], offers.target[waiting]
            out, into = offers.out[:, waiting], offers.into[:, waiting]
            gained = self.worth.of(points[:, source], points[:, target], out, into)
            size = out.sum(axis=0) + into.sum(axis=0)
            rank = np.where(gained > 0, -gained if best_first else size, np.inf)
            place = 0 if best_first is None else int(rank.argmin())
            if gained[place] <= 0:
                return None
            points[:, source[place]] -= out[:, place]
            points[:, target[place]] += into[:, place]
            ordered.append(int(waiting[place]))
            waiting = np.delete(waiting, place)
        return ordered

    def become(self, taken: list[int]) -> None:
        for offer in [each for each in self.taken if each not in taken]:
            self.give_back(offer)
        for offer in [each for each in taken if each not in self.taken]:
            self.take(offer)


def _rows_by(numbers: Places) -> Mapping[int, Places]:
    order = np.argsort(numbers, kind="stable")
    values, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True))


def search(
    choice: Choice, most: int, threshold: float, seed: int, *, is_last: bool = True
) -> list[int]:
    """The offers to take, at most so many, in order. Once the imbalance is not above the threshold,
    it is not worth more moves to lower it further, only better ones. Where it is not the last
    choice, what is found at once is good enough.
    """
    _grow(choice, most)
    _drop_idle(choice, threshold)
    if choice.spread.imbalance <= threshold:
        most = len(choice.taken)
    if is_last or choice.spread.imbalance <= threshold:
        luck = np.random.default_rng(seed)
        _exchange(choice, most, luck)
        _drop_idle(choice, threshold)
        _try_fewer(choice, threshold, luck)
    _prefer_low_priority(choice)
    return choice.in_order() or []


def _grow(choice: Choice, most: int) -> None:
    while len(choice.taken) < most:
        rows, scores = choice.look(last=True)
        if not len(rows) or scores.min() >= choice.spread.score - _BETTER:
            return
        choice.take(int(rows[scores.argmin()]))


def _exchange(choice: Choice, most: int, luck: np.random.Generator) -> None:
    """Takes some back and chooses others, what is a little worse too, but less and less so."""
    looks = min(_WORK // (len(choice.offers) + 2 * choice.spread.nodes + 1), _LOOKS)
    limits, first = choice.limits, choice.limits.steps
    best, best_score = list(choice.taken), choice.spread.score
    while choice.taken and (done := (limits.steps - first) / looks) < 1 and not limits.is_over():
        before, score = list(choice.taken), choice.spread.score
        many = min(int(luck.integers(1, _AT_ONCE + 1)), len(before))
        for place in luck.choice(len(before), size=many, replace=False).tolist():
            choice.give_back(before[place])
        _grow_by_luck(choice, most, len(before), luck)
        after = choice.spread.score
        bearable = score + _WORSE * (choice.start - best_score) * (1 - done) ** 2
        if after > bearable or choice.in_order() is None:
            choice.become(before)
        elif after < best_score - _BETTER:
            best, best_score = list(choice.taken), after
    choice.become(best)


def _grow_by_luck(choice: Choice, most: int, least: int, luck: np.random.Generator) -> None:
    """A step that makes nothing better may be one of two that do."""
    while len(choice.taken) < most:
        rows, scores = choice.look()
        if not len(rows):
            return
        nth = min(int(luck.geometric(_BEST)), len(rows)) - 1
        found = np.argpartition(scores, nth)[nth]
        if len(choice.taken) >= least and scores[found] >= choice.spread.score - _BETTER:
            return
        choice.take(int(rows[found]))


def _drop_idle(choice: Choice, threshold: float) -> None:
    """Gives back moves between nodes that do not differ by more than the threshold, unless the
    imbalance of all needs them.
    """
    price = choice.worth.margin
    while True:
        before, now = list(choice.taken), choice.spread.imbalance
        bearable = now + _PART * (choice.start - now)
        idle = []
        for offer in before:
            source, target = choice.offers.source[offer], choice.offers.target[offer]
            choice.give_back(offer)
            points = choice.spread.points
            gap = float(np.abs(points[:, source] - points[:, target]).max())
            without = choice.spread.imbalance
            choice.take(offer)
            needed = without > bearable and (without > threshold or without - now >= price)
            if gap <= threshold and not needed:
                idle.append((without, offer))
        if not idle:
            return
        choice.give_back(min(idle)[1])
        if choice.in_order() is None:
            choice.become(before)
            return


def _try_fewer(choice: Choice, threshold: float, luck: np.random.Generator) -> None:
    """One move less that leaves the same but for noise is better."""
    price = choice.worth.margin
    for _ in range(_FEWER):
        before, score = list(choice.taken), choice.spread.score
        if len(before) <= 1 or choice.spread.imbalance > threshold:
            return
        choice.give_back(_least_needed(choice))
        _exchange(choice, len(choice.taken), luck)
        too_many = choice.spread.imbalance > threshold or choice.spread.score - score >= price
        if too_many or choice.in_order() is None:
            choice.become(before)
            return


def _least_needed(choice: Choice) -> int:
    without = []
    for offer in list(choice.taken):
        choice.give_back(offer)
        without.append((choice.spread.score, offer))
        choice.take(offer)
    return min(without)[1]


def _prefer_low_priority(choice: Choice) -> None:
    """Where a pod of lower priority does at least half as much, it goes instead."""
    for offer in sorted(choice.taken, key=lambda each: -choice.offers.priority[each]):
        before, score = list(choice.taken), choice.spread.score
        choice.give_back(offer)
        half = (score + choice.spread.score) / 2
        rows, scores = choice.look()
        priority = choice.offers.priority[rows]
        low = (priority < choice.offers.priority[offer]) & (scores <= half)
        if low.any():
            best = np.lexsort((scores[low], priority[low]))[0]
            choice.take(int(rows[low][best]))
        if not low.any() or choice.in_order() is None:
            choice.become(before)
