"""How far a search may go, how far it has come, and the best that it has met on the way."""

from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np

from rescheduler.plan.packing.problem import Whole
from rescheduler.plan.packing.state import State

_LONG: Final = 200_000
"""Entries in the log of a state, from which on the best assignment is kept as a copy."""


class Progress:
    def __init__(self, budget: int, stop: Callable[[], bool], most_moves: int) -> None:
        self.steps = 0
        self.most_moves = most_moves
        self.best = inf
        self.bettered_at = 0
        self._budget = budget
        self._stop = stop
        self._state: State | None = None
        self._copy: Whole | None = None
        """Of the best assignment; None: it is where the log began."""

    def is_over(self) -> bool:
        """Asked before every step."""
        if self.steps >= self._budget or self._stop():
            return True
        self.steps += 1
        return False

    def extend(self, steps: int) -> None:
        """So many more, whatever the time."""
        self._budget = self.steps + steps
        self._stop = _never

    @property
    def state(self) -> State:
        if self._state is None:
            raise ValueError("nothing has begun")
        return self._state

    @property
    def is_limited(self) -> bool:
        return self.most_moves < self.state.problem.pods

    @property
    def too_many(self) -> bool:
        return self.state.away > self.most_moves

    def begin(self, state: State) -> None:
        """This state as it is now is the first that counts: from here on it only gets better."""
        self._state = state
        self.best = inf
        self.note()

    def note(self) -> None:
        """Called between changes only, since the log before it is given up."""
        state = self.state
        paid = state.paid
        if paid - self.best < max(state.cost, default=0):
            idle = state.open_mask & (state.number == 0) & ~state.problem.always_open
            paid -= float(state.problem.node_cost[idle].sum())
        if paid < self.best - 1e-9:
            self.best = paid
            self.bettered_at = self.steps
            self._copy = None
            state.log.clear()
        elif len(state.log) > _LONG:
            self.best_place()

    def best_place(self) -> Whole:
        if self._copy is None:
            self._copy = np.array(self.state.place, np.int64)
            for pod, source, target in reversed(self.state.log):
                if pod >= 0 and target < 0:
                    self._copy[pod] = source
        self.state.log.clear()
        return self._copy


def _never() -> bool:
    return False
