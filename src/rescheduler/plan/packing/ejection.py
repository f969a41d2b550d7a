"""Finding a place for a pod by sending others away, one after the other."""

import random
from math import inf
from typing import Final

import numpy as np

from rescheduler.plan.packing.problem import Real, Whole
from rescheduler.plan.packing.state import NOWHERE, State

_SAMPLED: Final = 80
_SAMPLED_FOR_TWO: Final = 16
_WIDEST: Final = 24
"""Pods of a node, of which each two are looked at."""
_PAIRS_ANYHOW: Final = 0.25
"""How often pairs are looked at though one alone would do."""
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
        for node, others in self._exchanges(pod, limit, nodes):
            mark, before = len(state.log), state.potential
            for other in others:
                state.take(other)
            state.put(pod, node)
            state.refresh(node)
            for other in others:
                self.place(other, depth - 1, limit - (state.potential - before))
            spent = state.potential - before
            placed = all(state.place[other] != NOWHERE for other in others)
            if placed and spent < limit - 1e-9:
                return spent
            state.rewind(mark)
        return inf

    def _exchanges(self, pod: int, limit: float, nodes: Whole) -> list[tuple[int, tuple[int, ...]]]:
        """Nodes where it could take the place of one or two others, and those: the best estimates.
        A small pod needs nobody's place twice.
        """
        if not len(nodes):
            return []
        state = self._state
        state.catch_up()
        found = self._best_of(pod, nodes, self._singly(nodes))
        enough = any(cost < limit for cost, _, _ in found)
        if state.is_large[pod] and (not enough or self._chance.random() < _PAIRS_ANYHOW):
            few = nodes[:_SAMPLED_FOR_TWO]
            found += self._best_of(pod, few, self._in_pairs(few))
        found.sort(key=lambda each: each[0])
        return [(node, others) for cost, node, others in found[:_TRIED] if cost < limit]

    def _singly(self, nodes: Whole) -> Whole:
        """By node and number: pods on it, NOWHERE where there are none left; the last axis: who
        goes together.
        """
        state = self._state
        numbers = state.number[nodes]
        pods = state.on[nodes, : int(numbers.max())]
        there = (np.arange(pods.shape[1]) < numbers[:, None]) & ~state.pinned[pods]
        return np.where(there, pods, NOWHERE)[:, :, None]

    def _in_pairs(self, nodes: Whole) -> Whole:
        pods = self._singly(nodes)[:, :_WIDEST, 0]
        first, second = np.triu_indices(pods.shape[1], 1)
        pairs = np.stack([pods[:, first], pods[:, second]], axis=2)
        pairs[(pairs == NOWHERE).any(axis=2)] = NOWHERE
        return pairs

    def _best_of(
        self, pod: int, nodes: Whole, leaving: Whole
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        state = self._state
        if not leaving.shape[1]:
            return []
        left = state.free[nodes][:, None, :] + state.asks[leaving].sum(axis=2)
        fits = (leaving[:, :, 0] != NOWHERE) & (left >= state.needs[pod]).all(axis=2)
        left -= state.asks[pod]
        slots = state.slot_of[leaving]
        freed = state.slot_step[slots].sum(axis=2) - state.slot_steps[state.slots[pod]]
        table = state.holes.table
        index = state.combination[nodes][:, None] + freed + state.holes.grid.index(left)
        worth = table[np.minimum(np.maximum(index, 0), len(table) - 1)]
        here = np.array([state.worths[node] for node in nodes.tolist()])
        cost = state.weight * (here[:, None] - worth)
        for group in state.groups[pod]:
            cost += self._crowding(group, nodes, leaving)
        cost += np.where(nodes == state.home[pod], 0.0, state.move)[:, None]
        # The others find places at a fair price at best, and pay for the move if they were home.
        cheapest = state.insertion.min(axis=1)[slots]
        again = np.minimum(cheapest, state.value[leaving] + 2 * state.move)
        again += np.where(state.home_of[leaving] == nodes[:, None, None], state.move, 0.0)
        cost += again.sum(axis=2)
        flat = np.where(fits, cost, inf).reshape(-1)
        few = np.argpartition(flat, min(_TRIED, len(flat) - 1))[:_TRIED]
        width = leaving.shape[1]
        return [
            (
                float(flat[each]),
                int(nodes[each // width]),
                tuple(leaving[each // width, each % width].tolist()),
            )
            for each in np.sort(few).tolist()
            if flat[each] < inf
        ]

    def _crowding(self, group: int, nodes: Whole, leaving: Whole) -> Real:
        """What one more of the group costs when these have left."""
        state = self._state
        table = state.group_table
        mine = table[leaving[:, :, 0]] == group
        for column in range(1, leaving.shape[2]):
            mine |= table[leaving[:, :, column]] == group
        mine = mine.any(axis=2) if table.shape[1] > 1 else mine[:, :, 0]
        count = state.count[group, nodes][:, None] - mine
        extra = np.where(count > 0, state.extra[group], 0.0)
        return np.where(count >= state.limit[group], inf, extra)

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
