"""Where every pod is during the search, what it costs to put one anywhere, and the way back."""

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from rescheduler.plan.packing.holes import Holes
from rescheduler.plan.packing.items import near_sizes
from rescheduler.plan.packing.prices import Prices
from rescheduler.plan.packing.problem import Mask, Problem, Real, Whole

NOWHERE: Final = -1
_SLOTS: Final = 192
"""Sizes that are told apart when it is asked what a pod costs anywhere."""


@dataclass(frozen=True)
class Start:
    place: Whole
    pinned: Mask
    """By pod: it stays where it is, though others of its kind may move."""


class State:
    def __init__(
        self, problem: Problem, prices: Prices, holes: Holes, weight: float, start: Start
    ) -> None:
        self.problem = problem
        self.pinned = start.pinned
        self.holes = holes
        self.weight = weight
        """Of what holes are worth, beside what is really paid."""
        kind = problem.kind
        self.place: list[int] = start.place.tolist()
        self.home: list[int] = problem.home.tolist()
        self.groups: list[tuple[int, ...]] = [problem.groups[each] for each in kind.tolist()]
        self.limit: list[int] = problem.limit.tolist()
        self.extra: list[float] = problem.extra_cost.tolist()
        self.cost: list[float] = problem.node_cost.tolist()
        always = problem.always_open.copy()
        always[start.place[start.pinned]] = True
        self.always: list[bool] = always.tolist()
        self.move = problem.move_cost
        self.value: Real = weight * prices.of_kind(problem)[kind]
        """By pod: what it is worth."""
        self.value_of: list[float] = self.value.tolist()
        self._make_slots(problem)
        self.asks: Whole = problem.scaled_asks[kind]
        self.needs: Whole = problem.scaled_needs[kind]
        self.need_lists: list[list[int]] = self.needs.tolist()
        self.ask_lists: list[list[int]] = self.asks.tolist()
        self.free: Whole = problem.scaled_capacity - problem.used(start.place)
        self.count = problem.counts(start.place)
        levels = np.where(self.count > 0, problem.extra_cost[:, None], 0.0)
        self.crowd: Real = np.where(self.count >= problem.limit[:, None], inf, levels)
        """By group and node: what one more of the group costs there."""
        self._make_lists(start.place)
        self.open: list[bool] = [
            bool(n) or a for n, a in zip(self.number.tolist(), self.always, strict=True)
        ]
        self.open_mask = np.array(self.open)
        self.home_of = problem.home
        self.group_table = _table(self.groups)
        sizes = self.asks[:, holes.grid.resources[0]]
        self.is_large: list[bool] = (sizes * len(sizes) > sizes.sum()).tolist()
        """By pod: more than one may have to go where it comes to."""
        self.combination = np.zeros(problem.nodes, np.int64)
        self.worths: list[float] = [0.0] * problem.nodes
        self.stale: dict[int, None] = {}
        self.insertion: Real = np.full((len(self.slot_asks), problem.nodes), inf)
        self.log: list[tuple[int, int, int]] = []
        """Pod, from, to; or ~node, opened, 0."""
        self.paid = problem.cost(start.place)
        self.hoped = 0.0
        self.away = int(np.count_nonzero(start.place != problem.home))
        """Pods that are not at home."""
        self._value_all()

    # ------------------------------------------------------------------ making

    def _value_all(self) -> None:
        holes, problem = self.holes, self.problem
        self._axes = [
            (resource, size, int(cell))
            for resource, size, cell in zip(
                holes.grid.resources, holes.grid.size, holes.grid.cell, strict=True
            )
        ]
        for node in range(problem.nodes):
            self.refresh(node)
        for part in np.array_split(np.arange(problem.nodes), max(problem.nodes // 256, 1)):
            self.refresh_many(part)
        self.stale.clear()

    def _make_slots(self, problem: Problem) -> None:
        """Kinds that cost the same wherever they are put share a slot; where there are too many,
        so do kinds of nearly the same size, and what fits is seen pod by pod.
        """
        digit = {group: number for number, group in enumerate(self.holes.binding)}
        sizes = np.hstack([problem.scaled_asks, np.maximum(problem.scaled_needs, 0)])
        near = near_sizes(sizes, _SLOTS)
        keys = []
        for kind in range(problem.kinds):
            mine = tuple(digit[group] for group in problem.groups[kind] if group in digit)
            keys.append((int(near[kind]), int(problem.allowed[kind]), mine))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        slot_of_kind = np.array([numbers[key] for key in keys], np.int64)
        self.slot_of: Whole = slot_of_kind[problem.kind]
        self.slots: list[int] = self.slot_of.tolist()
        members = [np.flatnonzero(slot_of_kind == slot) for slot in range(len(numbers))]
        resources = problem.asks.shape[1]
        self.slot_asks: Whole = np.zeros((len(numbers), resources), np.int64)
        self.slot_needs: Whole = np.zeros((len(numbers), resources), np.int64)
        for slot, kinds in enumerate(members):
            self.slot_asks[slot] = np.rint(problem.scaled_asks[kinds].mean(axis=0))
            self.slot_needs[slot] = problem.scaled_needs[kinds].min(axis=0)
        self.is_mixed = any((sizes[kinds] != sizes[kinds[0]]).any() for kinds in members)
        first = np.array([kinds[0] for kinds in members], np.int64)
        self.slot_allowed = problem.allowed_sets[problem.allowed[first]]
        self.slot_barred = ~self.slot_allowed
        self.slot_step = np.array(
            [sum(self.holes.step[each] for each in key[2]) for key in numbers], np.int64
        )
        self.slot_steps: list[int] = self.slot_step.tolist()
        self.exact = self.holes.grid.exact
        self.slot_moved = self.holes.grid.index(self.slot_asks) + self.slot_step

    def _make_lists(self, place: Whole) -> None:
        nodes, pods = len(self.cost), len(place)
        self.number = np.bincount(place, minlength=nodes)
        width = 2 * int(self.number.max(initial=0)) + 8
        self.on = np.zeros((nodes, width), np.int64)
        order = np.argsort(place, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.number)])
        position = np.empty(pods, np.int64)
        position[order] = np.arange(pods) - starts[place[order]]
        self.on[place, position] = np.arange(pods)
        self.position: list[int] = position.tolist()

    # ------------------------------------------------------------------ what holes are worth

    def _combination(self, node: int) -> int:
        holes = self.holes
        flat = int(holes.pools[node]) * holes.pool_step
        for group, most, step in zip(holes.binding, holes.rest, holes.step, strict=True):
            rest = most - int(self.count[group, node])
            if rest > 0:
                flat += step * rest
        return flat

    def refresh(self, node: int) -> None:
        """After its pods have changed: what its room is worth; the rest when it is asked for."""
        if self.open[node]:
            combination = self._combination(node)
            self.combination[node] = combination
            worth = float(self.holes.table[combination + self._cells(self.free[node].tolist())])
        else:
            worth = 0.0
        self.hoped += worth - self.worths[node]
        self.worths[node] = worth
        self.stale[node] = None

    def cost_at(self, pod: int, node: int) -> float:
        """What putting the pod on this open node would add to the potential, without the move."""
        slot = self.slots[pod]
        free = self.free[node].tolist()
        asks = self.ask_lists[pod]
        needs = self.need_lists[pod]
        if not self.open[node] or not self.slot_allowed[slot, node]:
            return inf
        for has, need in zip(free, needs, strict=True):
            if need > has:
                return inf
        cost = 0.0
        for group in self.groups[pod]:
            cost += float(self.crowd[group, node])
        if cost == inf:
            return inf
        left = [has - ask for has, ask in zip(free, asks, strict=True)]
        index = self._combination(node) + self._cells(left) - self.slot_steps[slot]
        return cost + self.weight * (self.worths[node] - float(self.holes.table[max(index, 0)]))

    def _cells(self, free: list[int]) -> int:
        flat = 0
        for resource, size, cell in self._axes:
            flat = flat * size + min(max(free[resource] // cell, 0), size - 1)
        return flat

    def catch_up(self) -> None:
        """Brings the cost of insertion up to date for all nodes that have changed."""
        stale = self.stale
        if not stale:
            return
        if len(stale) == 1 and self.exact:
            (node,) = stale
            self._columns_of_one(node)
        else:
            self.refresh_many(np.array(list(stale)))
        stale.clear()

    def _columns_of_one(self, node: int) -> None:
        if not self.open[node]:
            self.insertion[:, node] = inf
            return
        free = self.free[node]
        here = int(self.combination[node]) + self._cells(free.tolist())
        after = self.holes.table[np.maximum(here - self.slot_moved, 0)]
        cost = self.weight * (self.worths[node] - after)
        cost[(self.slot_needs > free).any(axis=1) | self.slot_barred[:, node]] = inf
        self.insertion[:, node] = cost

    def refresh_many(self, nodes: Whole) -> None:
        holes, free = self.holes, self.free[nodes]
        combination = self.combination[nodes]
        worth = holes.table[combination + holes.grid.index(free)]
        left = free[None] - self.slot_asks[:, None]
        index = combination + holes.grid.index(left) - self.slot_step[:, None]
        after = holes.table[np.maximum(index, 0)]
        fits = (self.slot_needs[:, None] <= free[None]).all(axis=2) & self.slot_allowed[:, nodes]
        fits &= self.open_mask[nodes]
        self.insertion[:, nodes] = np.where(fits, self.weight * (worth - after), inf)

    # ------------------------------------------------------------------ changing

    @property
    def potential(self) -> float:
        return self.paid - self.weight * self.hoped

    def take(self, pod: int) -> None:
        """Off its node, which is to be refreshed."""
        node = self.place[pod]
        self.free[node] += self.asks[pod]
        self._count(pod, node, -1)
        last = int(self.number[node]) - 1
        other = int(self.on[node, last])
        self.on[node, self.position[pod]] = other
        self.position[other] = self.position[pod]
        self.number[node] = last
        self.place[pod] = NOWHERE
        if node != self.home[pod]:
            self.paid -= self.move
            self.away -= 1
        self.log.append((pod, node, NOWHERE))

    def put(self, pod: int, node: int) -> None:
        """On this node, which is to be refreshed."""
        self.free[node] -= self.asks[pod]
        self._count(pod, node, 1)
        last = int(self.number[node])
        if last == self.on.shape[1]:
            self.on = np.concatenate([self.on, np.zeros_like(self.on)], axis=1)
        self.on[node, last] = pod
        self.position[pod] = last
        self.number[node] = last + 1
        self.place[pod] = node
        if node != self.home[pod]:
            self.paid += self.move
            self.away += 1
        self.log.append((pod, NOWHERE, node))

    def _count(self, pod: int, node: int, change: int) -> None:
        for group in self.groups[pod]:
            count = int(self.count[group, node]) + change
            self.count[group, node] = count
            extra = self.extra[group]
            if (count if change < 0 else count - 1) > 0:
                self.paid += change * extra
            self.crowd[group, node] = (
                inf if count >= self.limit[group] else extra if count > 0 else 0.0
            )

    def pin(self, pod: int) -> None:
        self.pinned[pod] = True
        self.always[self.place[pod]] = True

    def set_open(self, node: int, *, wanted: bool) -> None:
        """An empty node; to be refreshed."""
        self.open[node] = wanted
        self.open_mask[node] = wanted
        self.paid += self.cost[node] if wanted else -self.cost[node]
        self.log.append((~node, wanted, 0))

    def rewind(self, mark: int) -> None:
        touched: dict[int, None] = {}
        log = self.log
        while len(log) > mark:
            pod, source, target = log.pop()
            if pod < 0:
                self.set_open(~pod, wanted=not source)
                touched[~pod] = None
            elif target == NOWHERE:
                self.put(pod, source)
                touched[source] = None
            else:
                self.take(pod)
                touched[target] = None
            log.pop()
        for node in touched:
            self.refresh(node)

    # ------------------------------------------------------------------ asking

    def costs(self, pod: int) -> Real:
        """By node: what putting this pod there would add to the potential, without the move."""
        self.catch_up()
        cost: Real = self.insertion[self.slots[pod]]
        for group in self.groups[pod]:
            cost = cost + self.crowd[group]
        if self.is_mixed:
            cost = np.where((self.needs[pod] <= self.free).all(axis=1), cost, inf)
        return cost

    def best(self, pod: int) -> tuple[float, int]:
        """The cheapest node for it."""
        cost = self.costs(pod)
        node = int(cost.argmin())
        home = self.home[pod]
        away = float(cost[node]) + (self.move if node != home else 0)
        at_home = float(cost[home])
        if at_home <= away:
            return at_home, home
        return away, node

    def pods_on(self, node: int) -> list[int]:
        pods: list[int] = self.on[node, : int(self.number[node])].tolist()
        return pods

    def is_broken(self, node: int) -> bool:
        if (self.free[node] < 0).any():
            return True
        return any(
            self.count[group, node] > self.limit[group]
            for pod in self.pods_on(node)
            for group in self.groups[pod]
        )


def _table(lists: list[tuple[int, ...]]) -> Whole:
    """The same as rows of one array, filled up with -1."""
    width = max(map(len, lists), default=0)
    table = np.full((len(lists), max(width, 1)), -1, np.int64)
    for column in range(width):
        table[:, column] = [each[column] if column < len(each) else -1 for each in lists]
    return table
