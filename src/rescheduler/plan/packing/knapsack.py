"""The most that a node's room can be worth: knapsack tables over one to three resources.

Room is counted in cells. Where requests are coarse a cell is one unit and tables are exact; where
they are fine a cell is many units, and sizes are rounded: down for a bound, to the nearest for an
estimate. Copies are rounded several at a time, so that errors do not add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.plan.packing.problem import Real, Whole

Chunk = tuple[int, int, tuple[int, ...]]
"""Item, how many of it, and the cells that they take."""

_CELLS: Final = {1: 4_096, 2: 320, 3: 48}
"""By number of resources: cells along each of them at the most."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    resources: tuple[int, ...]
    cell: Whole
    """By resource of the grid: units in a cell."""
    size: tuple[int, ...]
    """Along each of its resources: cells, and one more for none."""

    @property
    def states(self) -> int:
        return int(np.prod(self.size))

    @property
    def exact(self) -> bool:
        return bool((self.cell == 1).all())

    def place(self, free: list[int]) -> int:
        """The same as `index`, of one room, where a cell is one unit."""
        flat = 0
        for resource, size in zip(self.resources, self.size, strict=True):
            flat = flat * size + min(max(free[resource], 0), size - 1)
        return flat

    def index(self, free: Whole) -> Whole:
        """Place in a flat table of room (the last axis: resources); too little counts as none."""
        flat = np.zeros(free.shape[:-1], np.int64)
        for axis, resource in enumerate(self.resources):
            cells = free[..., resource]
            if self.cell[axis] != 1:
                cells = cells // self.cell[axis]
            flat *= self.size[axis]
            flat += np.minimum(np.maximum(cells, 0), self.size[axis] - 1)
        return flat


def make_grid(capacity: Whole, asks: Whole, demand: Real, states: int) -> Grid:
    """Over the resources that will run out first, with at most so many states."""
    asked = demand @ asks
    there = np.maximum(capacity, 0).sum(axis=0)
    scarcity = np.where(asked > 0, asked / np.maximum(there, 1), 0)
    order = [int(each) for each in np.argsort(-scarcity, kind="stable") if scarcity[each] > 0]
    scarce = [each for each in order if scarcity[each] >= 0.6 * scarcity[order[0]]] or [0]
    resources = tuple(scarce[:2])
    room = np.maximum(capacity, 0).max(axis=0, initial=0)[list(resources)]
    cells = min(_CELLS[len(resources)], int(states ** (1 / len(resources))))
    # A resource that needs fewer cells than its share leaves them to the other.
    cell = np.maximum(-(-room // cells), 1)
    if len(resources) > 1:
        spare = states // (room // cell + 1)
        cell = np.maximum(-(-room // np.maximum(np.minimum(spare[::-1], _CELLS[1]), cells)), 1)
    return Grid(resources=resources, cell=cell, size=tuple(int(n) for n in room // cell + 1))


def chunks_of(
    grid: Grid, asks: Real, copies: Whole, items: Sequence[int], *, down: bool
) -> list[Chunk]:
    """So that every number of copies up to the limit can be put together."""
    found: list[Chunk] = []
    for item in items:
        wanted = asks[item, list(grid.resources)] / grid.cell
        left, size = int(copies[item]), 1
        while left > 0:
            number = min(size, left)
            cells = np.floor(wanted * number + 1e-9) if down else np.rint(wanted * number)
            if not down and not cells.any():
                cells[int(wanted.argmax())] = 1
            if (cells >= grid.size).any():
                break
            found.append((item, number, tuple(int(each) for each in cells)))
            left, size = left - number, size * 2
    return found


class Table:
    """Filled stage by stage, and stages are kept: each may have added one chunk."""

    def __init__(self, grid: Grid, chunks: Sequence[Chunk]) -> None:
        self.grid = grid
        self.chunks = chunks
        self._stages = np.zeros((len(chunks) + 1, *grid.size))

    @property
    def work(self) -> int:
        """Cells that a filling touches."""
        return int(self._stages.size)

    def fill(self, value: Real) -> Real:
        """By value of every item: what each room is worth at the most, flat."""
        for stage, (item, number, cells) in enumerate(self.chunks):
            add(self._stages[stage], self._stages[stage + 1], cells, number * value[item])
        flat: Real = self._stages[-1].reshape(-1)
        return flat

    def patterns(self, rooms: Whole, items: int) -> Real:
        """By item and room: how many of it the best filling has."""
        flat = self._stages.reshape(len(self._stages), -1)
        where = rooms.copy()
        chosen = np.zeros((items, len(rooms)))
        for stage in range(len(self.chunks) - 1, -1, -1):
            item, number, cells = self.chunks[stage]
            taken = flat[stage + 1, where] > flat[stage, where] + 1e-12
            if taken.any():
                chosen[item, taken] += number
                where[taken] -= int(np.ravel_multi_index(cells, self.grid.size))
        return chosen


def add(
    before: npt.NDArray[np.floating],
    after: npt.NDArray[np.floating],
    cells: tuple[int, ...],
    worth: float,
) -> None:
    """One more chunk that may be taken or left."""
    if after is not before:
        after[...] = before
    if worth > 0:
        upper = after[tuple(slice(each, None) for each in cells)]
        lower = before[
            tuple(slice(None, size - each) for each, size in zip(cells, before.shape, strict=True))
        ]
        np.maximum(upper, lower + worth, out=upper)
