"""What is to be packed: room, pods by kind, and the rules that are plain numbers by node."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int32]

NO_LIMIT: Final = 2**30
ANYTHING: Final = -(2**60)
"""What is needed of a resource that is not asked for: even a node that is too full has that."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Pods that are alike in everything that counts here are of one kind."""

    capacity: Whole
    """By node and resource: room for pods that may move, below zero where there is too little."""
    node_cost: Real
    """By node, as long as a pod is on it."""
    asks: Whole
    """By kind and resource."""
    needs: Whole | None = None
    """By kind and resource: room without which it must not come, if that is more than it asks."""
    kind: Whole
    """By pod."""
    home: Whole
    """By pod: the node that it is on now."""
    allowed_sets: Mask
    """By number and node: where pods may go; several kinds share one."""
    allowed: Whole
    """By kind: number of its allowed set."""
    groups: tuple[tuple[int, ...], ...]
    """By kind: the groups that its pods count in."""
    limit: Whole
    """By group: how many of it a node may hold."""
    extra_cost: Real
    """By group: of each pod on a node beyond its first."""
    present: dict[tuple[int, int], int] = field(default_factory=dict)
    """By group and node: pods of it that cannot move."""
    always_open: Mask
    """By node: it is paid for whatever moves."""
    move_cost: float

    @property
    def nodes(self) -> int:
        return len(self.capacity)

    @property
    def pods(self) -> int:
        return len(self.kind)

    @property
    def kinds(self) -> int:
        return len(self.asks)

    @cached_property
    def demand(self) -> Real:
        """By kind: how many pods."""
        return np.bincount(self.kind, minlength=self.kinds).astype(np.float64)

    @cached_property
    def units(self) -> Whole:
        """By resource: the greatest common divisor of all that is asked for."""
        return (
            np.maximum(np.gcd.reduce(self.asks, axis=0), 1)
            if self.kinds
            else np.ones(self.capacity.shape[1], np.int64)
        )

    @cached_property
    def scaled_asks(self) -> Whole:
        return self.asks // self.units

    @cached_property
    def scaled_needs(self) -> Whole:
        """What has to be free where a pod comes to; of what it does not ask for there is enough
        anywhere.
        """
        needs = self.scaled_asks if self.needs is None else -(-self.needs // self.units)
        return np.where(self.scaled_asks > 0, needs, ANYTHING)

    @cached_property
    def scaled_capacity(self) -> Whole:
        """Rounded down: what is left of a unit is of no use to any pod."""
        return self.capacity // self.units

    @cached_property
    def pools(self) -> Whole:
        """By node: number of its pool; nodes of a pool are open to the same kinds."""
        _, numbers = np.unique(self.allowed_sets, axis=1, return_inverse=True)
        return numbers.reshape(-1).astype(np.int64)

    # ------------------------------------------------------------------ judging an assignment

    def used(self, place: Whole) -> Whole:
        """By node and resource, in units."""
        total = np.zeros_like(self.scaled_capacity)
        np.add.at(total, place, self.scaled_asks[self.kind])
        return total

    def counts(self, place: Whole) -> Counts:
        """By group and node."""
        total = np.zeros((len(self.limit), self.nodes), np.int32)
        for (group, node), number in self.present.items():
            total[group, node] += number
        width = max(map(len, self.groups), default=0)
        table = np.full((self.kinds, width), -1, np.int64)
        for kind, groups in enumerate(self.groups):
            table[kind, : len(groups)] = groups
        for column in range(width):
            group = table[self.kind, column]
            np.add.at(total, (group[group >= 0], place[group >= 0]), 1)
        return total

    def cost(self, place: Whole) -> float:
        """Of an assignment: nodes in use, moves, and pods that are not alone of their group."""
        in_use = self.always_open.copy()
        in_use[place] = True
        beyond = np.maximum(self.counts(place) - 1, 0).sum(axis=1)
        moves = np.count_nonzero(place != self.home)
        return float(
            self.node_cost[in_use].sum() + self.move_cost * moves + self.extra_cost @ beyond
        )

    def broken(self, place: Whole) -> Mask:
        """By node: it holds more than it may."""
        over = (self.used(place) > self.scaled_capacity) & (self.used(place) > 0)
        crowded = self.counts(place) > self.limit[:, None]
        return np.asarray(over.any(axis=1) | crowded.any(axis=0))
