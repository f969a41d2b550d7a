"""What a pod is worth by the room that it needs, and a bound below which no plan can get.

A linear programme over patterns (what a node may hold at once), solved by columns: the master
says what every item is worth now, the knapsack finds patterns that are worth more than their
node costs. Any values give a valid bound, so the search for better ones may end at any time.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.plan.packing.items import Items, items_of
from rescheduler.plan.packing.knapsack import Grid, Table, chunks_of, make_grid
from rescheduler.plan.packing.problem import Problem, Real, Whole
from rescheduler.plan.packing.simplex import Master

_MODELS: Final = 48
_WORK: Final = 3_000_000
"""Cells that one filling of all tables may touch: some milliseconds."""
_TOTAL_WORK: Final = 300_000_000
"""Cells that the whole programme may touch: less than a second."""
_SMOOTHING: Final = 0.7
"""How near to the best values so far new ones are tried: the master alone swings."""
_CLOSE: Final = 2e-4
"""Relative gap between master and bound that is not worth another round."""


@dataclass(frozen=True, kw_only=True)
class Prices:
    items: Items
    grid: Grid
    value: Real
    """By item."""
    bound: float
    rounds: int
    """How many the programme took."""

    def of_kind(self, problem: Problem) -> Real:
        """By kind: what its pods are worth, those of mixed sizes by their size."""
        items = self.items
        means = items.asks[items.of_kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(means > 0, problem.scaled_asks / means, np.nan)
        dims = list(self.grid.resources)
        known = ~np.isnan(shares[:, dims])
        relative = np.where(known, np.nan_to_num(shares[:, dims]), 0).sum(axis=1) / np.maximum(
            known.sum(axis=1), 1
        )
        return self.value[items.of_kind] * np.where(known.any(axis=1), relative, 1)


def find_prices(problem: Problem, rounds: int, stop: Callable[[], bool]) -> Prices:
    items = items_of(problem)
    grid, tables = _tables(problem, items)
    rounds = min(rounds, _TOTAL_WORK // max(sum(each.work for each in tables), 1) + 1)
    models = _models(problem, items, grid)
    program = _Program(problem, items, tables, models)
    taken = program.run(rounds, stop)
    prices = Prices(
        items=items,
        grid=grid,
        value=program.best,
        bound=0.0,
        rounds=taken,
    )
    return dataclasses.replace(prices, bound=lower_bound(problem, prices))


def _tables(problem: Problem, items: Items) -> tuple[Grid, list[Table]]:
    chunks = int(np.ceil(np.log2(items.copies + 1)).sum()) * items.in_pool.shape[1]
    states = int(np.clip(_WORK // max(chunks, 1), 512, 60_000))
    grid = make_grid(problem.scaled_capacity, problem.scaled_asks, problem.demand, states)
    return grid, [
        Table(
            grid,
            chunks_of(grid, items.asks, items.copies, np.flatnonzero(mask).tolist(), down=False),
        )
        for mask in items.in_pool.T
    ]


# ---------------------------------------------------------------------- the programme


@dataclass(frozen=True, kw_only=True)
class _Models:
    pool: Whole
    room: Whole
    """Place in the table."""
    cost: Real
    supply: Real


def _models(problem: Problem, items: Items, grid: Grid) -> _Models:
    """Nodes that are alike, or, where hardly any are, nearly so."""
    cost = np.where(problem.always_open, 0, problem.node_cost)
    cells = problem.scaled_capacity[:, list(grid.resources)] // grid.cell
    coarse, nearness = 1, 1e-9
    while True:
        near_cost = np.rint(cost / max(cost.max(initial=0) * nearness, 1e-12))
        keys = np.column_stack([items.pools, near_cost, np.clip(cells, 0, None) // coarse])
        found, numbers = np.unique(keys, axis=0, return_inverse=True)
        if len(found) <= _MODELS or coarse > max(grid.size):
            break
        coarse, nearness = coarse * 2, max(nearness * 2, 0.02)
    numbers = numbers.reshape(-1)
    supply = np.bincount(numbers).astype(np.float64)
    mean = np.zeros_like(problem.scaled_capacity, shape=(len(found), problem.asks.shape[1]))
    for column in range(mean.shape[1]):
        amounts = np.bincount(numbers, weights=problem.scaled_capacity[:, column])
        mean[:, column] = amounts / supply
    return _Models(
        pool=found[:, 0].astype(np.int64),
        room=grid.index(mean),
        cost=np.bincount(numbers, weights=cost) / supply,
        supply=supply,
    )


class _Program:
    def __init__(
        self, problem: Problem, items: Items, tables: list[Table], models: _Models
    ) -> None:
        self._items = items
        self._tables = tables
        self._models = models
        self.best: Real = items.asks @ _resource_prices(problem) + 1e-9
        self._bound = -np.inf
        # No pod is worth more than a node of its own, not even one that cannot be placed at all.
        unmet = np.maximum(1.1 * float(problem.node_cost.max()) + 1e-6, 2 * self.best)
        self._master = Master(items.demand, models.supply, unmet)

    def run(self, rounds: int, stop: Callable[[], bool]) -> int:
        value = self.best
        for taken in range(rounds):
            if stop():
                return taken
            trial = _SMOOTHING * self.best + (1 - _SMOOTHING) * value
            if not self._price(trial) and not self._price(value):
                return taken + 1
            value, _ = self._master.solve(stop)
            objective = self._master.objective
            if objective - self._bound <= _CLOSE * abs(objective):
                return taken + 1
        return rounds

    def _price(self, value: Real) -> bool:
        """Whether there are patterns that the master does not know and would like."""
        models, items = self._models, self._items
        worth = np.empty(len(models.cost))
        columns = np.zeros((len(items.demand) + len(models.cost), len(models.cost)))
        for pool, table in enumerate(self._tables):
            mine = np.flatnonzero(models.pool == pool)
            worth[mine] = table.fill(value)[models.room[mine]]
            columns[: len(items.demand), mine] = table.patterns(
                models.room[mine], len(items.demand)
            )
        rents = np.maximum(worth - models.cost, 0)
        bound = float(items.demand @ value - models.supply @ rents)
        if bound > self._bound:
            self._bound, self.best = bound, value
        columns[len(items.demand) + np.arange(len(models.cost)), np.arange(len(models.cost))] = 1
        return self._master.offer(columns, models.cost)


def _resource_prices(problem: Problem) -> Real:
    """By resource: what a unit costs, if pods could be cut at will."""
    cost = np.where(problem.always_open, 0, problem.node_cost)
    room = np.maximum(problem.scaled_capacity, 0).astype(np.float64)
    asked = problem.demand @ problem.scaled_asks
    most = np.maximum(room.sum(axis=0), asked)
    # Nodes that are nearly alike are one model, as large as all of them together.
    dear = cost / np.maximum((room / np.maximum(most, 1)).sum(axis=1), 1e-12)
    shares = room / np.maximum(room.sum(axis=1, keepdims=True), 1)
    ranks = np.column_stack(
        [np.argsort(np.argsort(each, kind="stable")) for each in (dear, *shares.T)]
    )
    keys = ranks * 6 // max(problem.nodes, 1)
    _, numbers = np.unique(keys, axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    models = int(numbers.max(initial=-1)) + 1
    columns = np.zeros((room.shape[1] + models, models))
    for resource in range(room.shape[1]):
        columns[resource] = np.bincount(numbers, weights=room[:, resource], minlength=models)
    columns[room.shape[1] + np.arange(models), np.arange(models)] = 1
    unmet = 10 * cost.sum() / np.maximum(most, 1) + 1e-9
    master = Master(asked.astype(np.float64), np.ones(models), unmet)
    costs = np.bincount(numbers, weights=cost, minlength=models).astype(np.float64)
    master.offer(columns, costs)
    prices, _ = master.solve(lambda: False)
    return prices


# ---------------------------------------------------------------------- the bound


def lower_bound(problem: Problem, prices: Prices, *, may_stay_broken: bool = False) -> float:
    """No assignment that keeps the rules costs less, whatever the prices are.

    What the pods are worth in all, less what the nodes could hold beyond what they cost: once by
    patterns of sizes rounded down, once by the bare resources, which is better where sizes are
    many and fine. Where a node may stay as broken as it is, it may hold all that it has now.
    """
    items, grid = prices.items, prices.grid
    rooms = grid.index(problem.scaled_capacity)
    worth = np.zeros(problem.nodes)
    for pool, mask in enumerate(items.in_pool.T):
        mine = items.pools == pool
        listed = np.flatnonzero(mask).tolist()
        chunks = chunks_of(grid, items.least, items.copies, listed, down=True)
        worth[mine] = Table(grid, chunks).fill(prices.value)[rooms[mine]]
    by_resource = _resource_prices(problem)
    bounds = [
        _bound(problem, prices.value[items.of_kind], worth, may_stay_broken),
        _bound(
            problem,
            problem.scaled_asks @ by_resource,
            np.maximum(problem.scaled_capacity, 0) @ by_resource,
            may_stay_broken,
        ),
    ]
    sunk = float(problem.node_cost[problem.always_open].sum())
    # A touch less, so that no rounding error makes more of it than it is.
    return (max(*bounds, 0.0) + sunk) * (1 - 1e-9)


def _bound(problem: Problem, value: Real, worth: Real, may_stay_broken: bool) -> float:  # noqa: FBT001
    """By value of each kind, and what each node can hold at the most."""
    cost = np.where(problem.always_open, 0, problem.node_cost)
    if may_stay_broken:
        held = np.bincount(problem.home, weights=value[problem.kind], minlength=problem.nodes)
        broken = problem.broken(problem.home)
        worth = np.where(broken, np.maximum(worth, held), worth)
    return float(problem.demand @ value - np.maximum(worth - cost, 0).sum())
