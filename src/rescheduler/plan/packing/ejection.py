"""Finding a place for a pod by sending others away, one after the other."""

import random
from math import inf
from typing import Final

import numpy as np

from rescheduler.plan.packing.problem import Whole
from rescheduler.plan.packing.state import NOWHERE, State

_SAMPLED: Final = 80
_TRIED: Final = 4


class Placer:
    def __init__(self, state: State, chance: random.Random) -> None:
        self._state = state
        self._chance = chance
        self._nodes: Whole = np.arange(len(state.cost))

    def place(self, pod: int, depth: int, limit: float = inf) -> float:
        """Puts a pod that is nowhere somewhere. If its place would be dearer than fair, others may
        be sent away for it, so deep, and at most at this cost.

        Answers what that added to the potential; infinite: there is no place, and it is nowhere.
        """
        state = self._state
        cost, node = state.best(pod)
        if depth > 0 and cost > state.value_of[pod] + 1.3 * state.move:
            spent = self._chain(pod, depth, min(cost, limit), self._sample(state.slots[pod]))
            if spent < inf:
                return spent
        if cost < inf:
            before = state.potential
            state.put(pod, node)
            state.refresh(node)
            cost = state.potential - before
        return cost

    def push(self, pod: int, node: int, limit: float, depth: int = 1) -> float:
        """Puts it on this very node, and sends another away; both or none."""
        return self._chain(pod, depth, limit, np.array([node]))

    def _chain(self, pod: int, depth: int, limit: float, nodes: Whole) -> float:
        """Tries in earnest what looks best; keeps the first that is below the limit."""
        state = self._state
        for node, other in self._exchanges(pod, limit, nodes):
            mark, before = len(state.log), state.potential
            state.take(other)
            state.put(pod, node)
            state.refresh(node)
            spent = state.potential - before
            self.place(other, depth - 1, limit - spent)
            spent = state.potential - before
            if state.place[other] != NOWHERE and spent < limit - 1e-9:
                return spent
            state.rewind(mark)
        return inf

    def _exchanges(self, pod: int, limit: float, nodes: Whole) -> list[tuple[int, int]]:
        """Nodes where it could take the place of another, and that other: the best estimates."""
        state = self._state
        slot = state.slots[pod]
        if not len(nodes):
            return []
        state.catch_up()
        numbers = state.number[nodes]
        others = state.on[nodes, : int(numbers.max())]
        there = (np.arange(others.shape[1]) < numbers[:, None]) & ~state.pinned[others]
        wanted = state.needs[pod]
        free = state.free[nodes]
        asks = state.asks[others]
        left = free[:, None, :] + asks
        fits = there & (left >= wanted).all(axis=2)
        left -= state.asks[pod]
        slots = state.slot_of[others]
        combination = (
            state.combination[nodes][:, None] + state.slot_step[slots] - state.slot_step[slot]
        )
        table = state.holes.table
        index = np.clip(combination + state.holes.grid.index(left), 0, len(table) - 1)
        cost = state.weight * (
            np.array([state.worths[n] for n in nodes.tolist()])[:, None] - table[index]
        )
        crowd = np.zeros(len(nodes))
        for group in state.groups[pod]:
            crowd = crowd + state.crowd[group, nodes]
        same = state.main_group[others] == state.main_group[pod]
        cost += np.where(same, 0.0, crowd[:, None])
        cost += np.where(nodes == state.home[pod], 0.0, state.move)[:, None]
        # The other will find a place at a fair price at best, and pays for its move if it was home.
        cheapest = state.insertion.min(axis=1)[slots]
        cost += np.minimum(cheapest, state.value[others] + 2 * state.move)
        cost += np.where(state.home_of[others] == nodes[:, None], state.move, 0.0)
        flat = np.where(fits, cost, inf).reshape(-1)
        few = np.argpartition(flat, min(_TRIED, len(flat) - 1))[:_TRIED]
        few = few[np.argsort(flat[few], kind="stable")]
        return [
            (int(nodes[each // others.shape[1]]), int(others.reshape(-1)[each]))
            for each in few.tolist()
            if flat[each] < limit
        ]

    def _sample(self, slot: int) -> Whole:
        state = self._state
        nodes = self._nodes
        if len(nodes) > _SAMPLED:
            start = self._chance.randrange(len(nodes))
            step = self._chance.choice(_STEPS)
            nodes = nodes[(start + step * np.arange(_SAMPLED)) % len(nodes)]
        fine = state.slot_allowed[slot, nodes] & state.open_mask[nodes] & (state.number[nodes] > 0)
        found: Whole = nodes[fine]
        return found


_STEPS: Final = (1, 3, 7, 11, 17, 29, 41, 59, 83, 101, 131, 173, 211, 257, 311, 401)
