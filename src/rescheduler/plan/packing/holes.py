"""What free room is good for: the value of the pods that would fit into it.

Room of one node is worth more than another's of the same size if a group that is hard to place
may still go there, so for the groups whose limits bind most, how many of them a node may still
take is a part of the question.
"""

from typing import Final

import numpy as np

from rescheduler.plan.packing.items import Items
from rescheduler.plan.packing.knapsack import Grid, add, chunks_of
from rescheduler.plan.packing.prices import Prices
from rescheduler.plan.packing.problem import Problem, Real, Whole

_COMBINATIONS: Final = 81
_ENTRIES: Final = 3_000_000
_MATTERS: Final = 2e-4
"""Share of the value of all room that a limit takes away, from which on it is modelled."""


class Holes:
    """One table for each pool and each combination of what binding groups may still have."""

    def __init__(self, problem: Problem, prices: Prices) -> None:
        self.grid: Grid = prices.grid
        items = prices.items
        self.pools: Whole = items.pools
        self.binding: list[int] = _binding(problem, prices)
        """Groups, in the order of their digits in a combination."""
        self.rest: list[int] = [int(problem.limit[group]) for group in self.binding]
        """By binding group: the most that a node may take."""
        self.step: list[int] = []
        """By binding group: how far apart combinations are that differ by one of it."""
        step = self.grid.states
        for most in reversed(self.rest):
            self.step.insert(0, step)
            step *= most + 1
        self.pool_step = step
        self.table: Real = np.concatenate(
            [self._of_pool(items, prices.value, pool) for pool in range(items.in_pool.shape[1])]
        )

    def _of_pool(self, items: Items, value: Real, pool: int) -> Real:
        open_to = items.in_pool[:, pool]
        plain = [int(i) for i in np.flatnonzero(open_to) if items.group[i] not in self.binding]
        tables = [np.zeros(self.grid.size)]
        for item, number, cells in chunks_of(
            self.grid, items.asks, items.copies, plain, down=False
        ):
            add(tables[0], tables[0], cells, number * value[item])
        for group, most in zip(self.binding, self.rest, strict=True):
            mine = [int(i) for i in np.flatnonzero(open_to & (items.group == group))]
            ones = chunks_of(self.grid, items.asks, np.minimum(items.copies, 1), mine, down=False)
            longer = []
            for table in tables:
                longer.append(table)
                for _ in range(most):
                    longer.append(longer[-1].copy())
                    for item, _, cells in ones:
                        one_more = np.empty_like(table)
                        add(longer[-2], one_more, cells, value[item])
                        np.maximum(longer[-1], one_more, out=longer[-1])
            tables = longer
        return np.concatenate([table.reshape(-1) for table in tables])


def _binding(problem: Problem, prices: Prices) -> list[int]:
    """Groups whose limits cost most: without one, the same room would be worth that much more."""
    items, grid = prices.items, prices.grid
    rooms = grid.index(problem.scaled_capacity)
    room_for = np.where(problem.always_open, 0, problem.node_cost)

    def worth(copies: Whole) -> float:
        total = 0.0
        for pool, mask in enumerate(items.in_pool.T):
            table = np.zeros(grid.size)
            listed = np.flatnonzero(mask).tolist()
            for item, number, cells in chunks_of(grid, items.asks, copies, listed, down=False):
                add(table, table, cells, number * prices.value[item])
            total += float(table.reshape(-1)[rooms[items.pools == pool]].sum())
        return total

    base = worth(items.copies)
    gains: list[tuple[float, int]] = []
    for group in sorted({int(each) for each in items.group if each >= 0}):
        copies = items.copies.copy()
        mine = items.group == group
        copies[mine] = np.maximum(copies[mine] * 4, 8)
        gains.append((worth(copies) - base, group))
    chosen: list[int] = []
    combinations = 1
    for gain, group in sorted(gains, key=lambda each: (-each[0], each[1])):
        factor = int(problem.limit[group]) + 1
        entries = combinations * factor * grid.states * items.in_pool.shape[1]
        if gain < _MATTERS * max(base, float(room_for.sum())):
            break
        if combinations * factor <= _COMBINATIONS and entries <= _ENTRIES:
            chosen.append(group)
            combinations *= factor
    return chosen
