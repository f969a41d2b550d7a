"""Going on from a good assignment: small changes, for better and, now and then, for worse.

The best of them closes one node and opens another of the same cost, whose pods may go home. When
to be lenient follows from the number of steps alone, since nobody knows when time is up: it cools
down again and again, each time more slowly.
"""

import random
from math import inf, log
from typing import Final

import numpy as np

from rescheduler.plan.packing.phases import Phases
from rescheduler.plan.packing.problem import Real, Whole

_HEAT: Final = 2.0
"""In grains."""
_PERIODS: Final = (1.0, 4.5)
"""Steps by node of the first two times of cooling down: if time is short, the first has to do."""
_LONGER: Final = 1.6
"""How much longer each of the others takes than the one before."""
_AGAIN: Final = 0.4
"""How hot each of the others begins, beside the first: what is good is not to be lost."""
_SHORTEST: Final = 200
_FORGOTTEN: Final = 10
"""Steps after which the hopes of nodes are looked at anew."""
_CANDIDATES: Final = 4
"""Nodes of which the most hopeful is closed: more of them would always find the same few."""
_HOME: Final = 0.2
"""Share of changes that bring one pod home."""
_PULL: Final = 0.15
"""Share of changes that bring one pod to a node that makes little of its room."""
_RARE: Final = 0.5
"""Share of those with a pod of a group whose limit binds."""
_DEARER: Final = 0.2
"""Share of exchanges of nodes in which the one that closes may cost more, or less."""
_DEEP: Final = 0.2
"""Share of them in which pods may send each other away twice in a row."""
_RARELY: Final = 0.05
"""How seldom nodes can be closed when there are hardly any left to close."""
_IN_EARNEST: Final = 0.02
"""Share of changes that are then judged by what is paid alone; more while that pays."""
_WITH_ANOTHER: Final = 0.6
"""Share of those in which another node is opened first."""
_TIDY: Final = 2_000
"""Steps after which all pods are looked at once more."""


class Annealing:
    def __init__(self, phases: Phases, chance: random.Random) -> None:
        self._phases = phases
        self._state = phases.state
        self._progress = phases.progress
        self._chance = chance
        self._hopes: Real = phases.hopes()
        self._looked_at = 0
        self._closing = 0.5
        """How often nodes could be closed of late."""
        self._of_home: dict[int, list[int]] = {}
        for pod, node in enumerate(self._state.home):
            self._of_home.setdefault(node, []).append(pod)
        self._rare = np.flatnonzero(self._state.slot_step[self._state.slot_of]).tolist()
        """Pods of groups whose limits bind."""
        nodes = len(self._state.cost)
        self._luck = 0.15
        """How often changes in earnest have paid of late."""
        self._patience = 600 + (5 if self._progress.is_limited else 40) * nodes

    def run(self, until: int) -> bool:
        """Up to that number of steps; whether there is a point in going on."""
        progress = self._progress
        if not self._of_home:
            return False
        while progress.steps < until:
            if progress.is_over() or progress.steps - progress.bettered_at > self._patience:
                return False
            lenience = -_HEAT * self._phases.grain * self._heat(progress.steps)
            change = self._one(lenience * log(self._chance.random() + 1e-12))
            if change not in {0.0, inf}:
                progress.note()
            if progress.steps % _TIDY == 0 and not progress.is_limited:
                self._phases.relocate()
                progress.note()
        return True

    @property
    def has_cooled_down(self) -> bool:
        return self._progress.steps >= sum(self._first_periods)

    @property
    def _first_periods(self) -> tuple[float, float]:
        nodes = len(self._state.cost)
        return _PERIODS[0] * nodes + _SHORTEST, _PERIODS[1] * nodes + _SHORTEST

    def _heat(self, steps: int) -> float:
        first, period = self._first_periods
        if steps < first:
            return max(1 - steps / first, 0.05)
        left, hottest = steps - first, 1.0
        while left >= period:
            left -= period
            period *= _LONGER
            hottest = _AGAIN
        return max(hottest * (1 - left / period), 0.05)

    def _one(self, lenience: float) -> float:
        """One change; what it added to the potential, infinite if it was taken back."""
        draw = self._chance.random()
        if self._closing < _RARELY and draw < _IN_EARNEST + 0.4 * self._luck:
            change = self._swap_in_earnest()
            self._luck += 0.05 * ((change < inf) - self._luck)
            return change
        draw = self._chance.random()
        close = 0.08 + 0.4 * self._closing
        if draw < close:
            change = self._close(lenience)
            self._closing += 0.1 * ((change < inf) - self._closing)
            return change
        if draw < close + _HOME:
            return self._pull_home(lenience)
        if draw < close + _HOME + _PULL:
            return self._pull_in(lenience)
        return self._swap(lenience)

    # ------------------------------------------------------------------ changes

    def _close(self, lenience: float) -> float:
        node = self._most_hopeful(np.flatnonzero(self._state.open_mask))
        if not self._phases.may_close(node):
            return inf
        return self._phases.try_empty(node, lenience, 1)

    def _swap_in_earnest(self) -> float:
        """One node for another, or for two, or one alone, and what counts is what is paid: hopes
        are for the many that are still to be emptied, and mislead when there are none left.
        """
        state = self._state
        mark, before = len(state.log), state.potential
        closed = np.flatnonzero(~state.open_mask)
        if len(closed) and self._chance.random() < _WITH_ANOTHER:
            opens = int(closed[self._chance.randrange(len(closed))])
            state.set_open(opens, wanted=True)
            state.refresh(opens)
            self._bring_home(opens)
        for _ in range(self._chance.choice((1, 2))):
            closes = self._most_hopeful(np.flatnonzero(state.open_mask), 1)
            if not self._phases.may_close(closes):
                break
            if self._phases.try_empty(closes, inf, 2) == inf:
                break
            if state.paid < self._progress.best - 1e-6:
                return state.potential - before
        state.rewind(mark)
        return inf

    def _swap(self, lenience: float) -> float:
        state = self._state
        closed = np.flatnonzero(~state.open_mask)
        if not len(closed):
            return inf
        opens = int(closed[self._chance.randrange(len(closed))])
        costs = state.problem.node_cost
        if self._chance.random() < _DEARER:
            alike = np.flatnonzero(state.open_mask)
        else:
            alike = np.flatnonzero(state.open_mask & (costs == costs[opens]))
        closes = self._most_hopeful(alike) if len(alike) else opens
        if not self._phases.may_close(closes):
            return inf
        mark, before = len(state.log), state.potential
        state.set_open(opens, wanted=True)
        state.refresh(opens)
        self._bring_home(opens)
        change = state.potential - before
        depth = 2 if self._chance.random() < _DEEP else 1
        change += self._phases.try_empty(closes, lenience - change, depth)
        if change == inf:
            state.rewind(mark)
        return change

    def _bring_home(self, node: int) -> None:
        """Pods that come from this node and gain by going back."""
        state = self._state
        for pod in self._of_home.get(node, ()):
            cost = state.cost_at(pod, node)
            at = state.place[pod]
            if at == node or cost == inf:
                continue
            mark, before = len(state.log), state.potential
            state.take(pod)
            state.refresh(at)
            if state.potential + cost < before:
                state.put(pod, node)
                state.refresh(node)
            else:
                state.rewind(mark)

    def _pull_home(self, lenience: float) -> float:
        """One pod that is away goes home, if need be in the place of another."""
        state = self._state
        for _ in range(20):
            pod = self._chance.randrange(len(state.place))
            home, node = state.home[pod], state.place[pod]
            if node != home and state.open[home]:
                break
        else:
            return inf
        mark, before = len(state.log), state.potential
        state.take(pod)
        state.refresh(node)
        gained = before - state.potential
        cost = state.cost_at(pod, home)
        if cost - gained <= lenience:
            state.put(pod, home)
            state.refresh(home)
        else:
            cost = self._phases.placer.push(pod, home, lenience + gained)
        if cost - gained > lenience or self._progress.too_many:
            state.rewind(mark)
            return inf
        return cost - gained

    def _pull_in(self, lenience: float) -> float:
        """A node that makes little of its room gets a pod from elsewhere in the place of others:
        often one that is hard to place, since for those the room may be meant.
        """
        state = self._state
        node = self._most_hopeful(np.flatnonzero(state.open_mask))
        rare = len(self._rare) and self._chance.random() < _RARE
        pod = self._chance.choice(self._rare) if rare else self._chance.randrange(len(state.place))
        source = state.place[pod]
        allowed = state.slot_allowed[state.slots[pod], node]
        if source == node or state.pinned[pod] or not allowed or not state.number[node]:
            return inf
        mark, before = len(state.log), state.potential
        state.take(pod)
        state.refresh(source)
        gained = before - state.potential
        cost = self._phases.placer.push(pod, node, lenience + gained, 2)
        if cost - gained > lenience or self._progress.too_many:
            state.rewind(mark)
            return inf
        return cost - gained

    def _most_hopeful(self, nodes: Whole, candidates: int = _CANDIDATES) -> int:
        if self._progress.steps - self._looked_at >= _FORGOTTEN:
            self._hopes = self._phases.hopes()
            self._looked_at = self._progress.steps
        few = [int(nodes[self._chance.randrange(len(nodes))]) for _ in range(candidates)]
        return max(few, key=lambda node: (self._hopes[node], -node))
