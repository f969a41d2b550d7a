"""A small dense linear programme that grows by columns: the master of a column generation."""

from collections.abc import Callable

import numpy as np

from rescheduler.plan.packing.problem import Real

_MOST_PIVOTS = 2_000
_REFRESH = 64
"""Pivots until the inverse is computed anew, since each of them adds a rounding error."""
_TINY = 1e-9
_PAYS = 1e-7


class Master:
    """Cover every demand at least cost with columns of which there is a supply.

    What is not covered costs `unmet`, so there is always a solution, and no price exceeds it.
    """

    def __init__(self, demand: Real, supply: Real, unmet: Real) -> None:
        items, models = len(demand), len(supply)
        size = items + models
        # A touch of unevenness keeps ties, and with them circles, away.
        self._right = np.concatenate([demand, supply]) * (1 + 1e-7 * np.arange(1, size + 1))
        self._items = items
        covering = np.eye(size)[:, :items]
        self._columns = np.concatenate([covering, -covering, np.eye(size)[:, items:]], axis=1)
        self._cost = np.concatenate([unmet, np.zeros(items), np.zeros(models)])
        self._basis = np.concatenate([np.arange(items), np.arange(2 * items, 2 * items + models)])
        self._inverse = np.eye(size)
        self._amounts = self._right.copy()
        self._pivots = 0

    def offer(self, columns: Real, costs: Real) -> bool:
        """Adds those that pay at the last prices; whether any does.

        Each column: how much of every item it has, and 1 at the model it is a pattern of.
        """
        prices = self._cost[self._basis] @ self._inverse
        pays = costs - prices @ columns < -1e-6 * (1 + np.abs(costs))
        if pays.any():
            self._columns = np.concatenate([self._columns, columns[:, pays]], axis=1)
            self._cost = np.concatenate([self._cost, costs[pays]])
        return bool(pays.any())

    @property
    def objective(self) -> float:
        return float(self._cost[self._basis] @ self._amounts)

    def solve(self, stop: Callable[[], bool]) -> tuple[Real, Real]:
        """The value of every item, and the rent of every model."""
        for _ in range(_MOST_PIVOTS):
            prices = self._cost[self._basis] @ self._inverse
            reduced = self._cost - prices @ self._columns
            enters = int(reduced.argmin())
            if reduced[enters] > -_PAYS or not self._pivot(enters) or stop():
                break
        prices = self._cost[self._basis] @ self._inverse
        return np.maximum(prices[: self._items], 0), np.maximum(-prices[self._items :], 0)

    def _pivot(self, enters: int) -> bool:
        direction = self._inverse @ self._columns[:, enters]
        grows = direction > _TINY
        if not grows.any():
            return False
        ratios = np.full(len(direction), np.inf)
        ratios[grows] = self._amounts[grows] / direction[grows]
        leaves = int(ratios.argmin())
        step = ratios[leaves]
        self._amounts -= step * direction
        self._amounts[leaves] = step
        self._basis[leaves] = enters
        self._pivots += 1
        if self._pivots % _REFRESH == 0:
            self._inverse = np.linalg.inv(self._columns[:, self._basis])
            self._amounts = np.maximum(self._inverse @ self._right, 0)
            return True
        row = self._inverse[leaves] / direction[leaves]
        direction[leaves] = 0
        self._inverse -= np.outer(direction, row)
        self._inverse[leaves] = row
        return True
