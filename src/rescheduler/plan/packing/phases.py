"""What a search does first: repair what is broken, exchange what pays, empty what is easy."""

import random
from math import inf
from typing import Final

import numpy as np

from rescheduler.plan.packing.ejection import Placer
from rescheduler.plan.packing.problem import Real
from rescheduler.plan.packing.progress import Progress
from rescheduler.plan.packing.state import State

_DEPTH: Final = 3
"""How many pods may send each other away, one after the other, where a rule is to be repaired."""
_PASSES: Final = 6
_FEW: Final = 5
"""Relocations in a pass, below which another is not worth it."""
_TOGETHER: Final = 16
"""Relocations that count as one step."""
_FAILURES: Final = 40
"""Nodes in a row that cannot be emptied, until trying the rest is left to chance."""


class Phases:
    def __init__(self, state: State, progress: Progress, chance: random.Random) -> None:
        self.state = state
        self.progress = progress
        self.placer = Placer(state, chance)
        self.grain = max(0.003 * float(state.problem.node_cost.mean()), 0.5 * state.move, 1e-9)
        """What is little, where costs are compared."""

    # ------------------------------------------------------------------ repair

    def repair(self) -> None:
        """Not counted in steps: whatever the budget is, this comes first."""
        state = self.state
        for node in np.flatnonzero(state.problem.broken(np.array(state.place, np.int64))).tolist():
            while state.is_broken(node) and self._relieve(node):
                pass

    def _relieve(self, node: int) -> bool:
        """One pod less that is too much."""
        state = self.state
        # Where those that cannot move are too much already, nobody has to go for them.
        over = (state.free[node] < 0) & (state.problem.scaled_capacity[node] >= 0)
        found = []
        for pod in state.pods_on(node):
            crowded = any(
                state.count[group, node] > state.limit[group] for group in state.groups[pod]
            )
            if state.pinned[pod]:
                continue
            if crowded or (state.asks[pod][over] > 0).any():
                cost, _ = state.best(pod)
                solves = crowded or bool((state.free[node] + state.asks[pod] >= 0)[over].all())
                found.append((not solves, cost - float(state.value[pod]), pod))
        # One move, if that will do; else others may have to make room.
        pods = [pod for _, _, pod in sorted(found)]
        return any(self._send_away(pod, depth) for depth in (0, _DEPTH) for pod in pods) or any(
            self._send_to_closed_node(pod) for pod in pods
        )

    def _send_away(self, pod: int, depth: int) -> bool:
        state = self.state
        node, mark = state.place[pod], len(state.log)
        state.take(pod)
        state.refresh(node)
        if self.placer.place(pod, depth) < inf and not self.progress.too_many:
            return True
        state.rewind(mark)
        return False

    def _send_to_closed_node(self, pod: int) -> bool:
        state = self.state
        closed = np.flatnonzero(~state.open_mask)
        for node in closed[np.argsort(state.problem.node_cost[closed], kind="stable")].tolist():
            mark = len(state.log)
            state.set_open(node, wanted=True)
            state.refresh(node)
            if state.cost_at(pod, node) < inf and self._send_away(pod, 0):
                return True
            state.rewind(mark)
        return False

    def bring_back(self, pod: int) -> bool:
        """Home, whatever that costs, and for good; guests make room first."""
        state = self.state
        home, node = state.home[pod], state.place[pod]
        if node != home:
            if not state.open[home]:
                return False
            mark = len(state.log)
            state.take(pod)
            state.refresh(node)
            others = [each for each in state.pods_on(home) if not state.pinned[each]]
            others.sort(key=lambda each: (state.home[each] != home, state.value_of[each], each))
            ejected = []
            while others and state.cost_at(pod, home) == inf:
                ejected.append(others.pop())
                state.take(ejected[-1])
                state.refresh(home)
            if state.cost_at(pod, home) == inf:
                state.rewind(mark)
                return False
            state.put(pod, home)
            state.refresh(home)
            for other in ejected:
                if self.placer.place(other, _DEPTH) == inf:
                    state.rewind(mark)
                    return False
        state.pin(pod)
        return True

    # ------------------------------------------------------------------ exchange

    def relocate(self) -> None:
        """Every pod whose leaving gains more than it costs goes elsewhere."""
        for _ in range(_PASSES):
            moved = 0
            hope = self._gains_of_leaving()
            for pod in np.argsort(-hope, kind="stable").tolist():
                if hope[pod] <= 1e-2 * self.grain:
                    break
                if moved % _TOGETHER == 0 and self.progress.is_over():
                    return
                moved += self._relocate(pod)
            if moved < _FEW:
                return

    def _relocate(self, pod: int) -> bool:
        state = self.state
        node, mark, before = state.place[pod], len(state.log), state.potential
        state.take(pod)
        state.refresh(node)
        cost, target = state.best(pod)
        if target == node or state.potential + cost > before - 1e-6 * (1 + abs(cost)):
            state.rewind(mark)
            return False
        state.put(pod, target)
        state.refresh(target)
        return True

    def _gains_of_leaving(self) -> Real:
        """By pod: what the potential would lose if it went to the best place for its like."""
        state = self.state
        state.catch_up()
        nodes = np.array(state.place, np.int64)
        table = state.holes.table
        left = state.holes.grid.index(state.free[nodes] + state.asks)
        index = state.combination[nodes] + state.slot_step[state.slot_of] + left
        worth = table[np.minimum(index, len(table) - 1)] - np.array(state.worths)[nodes]
        gain = state.weight * worth + np.where(nodes != state.home_of, state.move, 0)
        away = state.insertion.min(axis=1)[state.slot_of] + state.move
        at_home = np.where(
            nodes == state.home_of, inf, state.insertion[state.slot_of, state.home_of]
        )
        gains: Real = np.where(state.pinned, -inf, gain - np.minimum(away, at_home))
        return gains

    # ------------------------------------------------------------------ empty

    def hopes(self) -> Real:
        """By node: what emptying it would gain if all its pods found places at fair prices."""
        state = self.state
        place = np.array(state.place, np.int64)
        each = state.value + np.where(place == state.home_of, state.move, 0)
        held = np.bincount(place, weights=each, minlength=len(state.cost))
        hopes: Real = state.problem.node_cost - state.weight * np.array(state.worths) - held
        return hopes

    def empty(self) -> None:
        """The most promising nodes first; with a limit, those that gain most by move."""
        state, progress = self.state, self.progress
        hopes = self.hopes()
        if progress.is_limited:
            hopes = hopes / np.maximum(state.number, 1)
        failures = 0
        for node in np.argsort(-hopes, kind="stable").tolist():
            if not self.may_close(node):
                continue
            if failures > _FAILURES or progress.is_over():
                return
            if self.try_empty(node, 0.0, 1) == inf:
                failures += 1
            else:
                failures = 0
                progress.note()

    def may_close(self, node: int) -> bool:
        return self.state.open[node] and not self.state.always[node]

    def try_empty(self, node: int, limit: float, depth: int) -> float:
        """Everything on it goes elsewhere and adds at most this much to the potential; else nothing
        does, and the answer is infinite.
        """
        state = self.state
        mark, before = len(state.log), state.potential
        pods = state.pods_on(node)
        for pod in pods:
            state.take(pod)
        state.set_open(node, wanted=False)
        state.refresh(node)
        pods.sort(key=lambda pod: (-state.value_of[pod], pod))
        fair = [self._fair(pod, node) for pod in pods]
        rest = sum(fair)
        if state.potential - before + rest <= limit + 10 * self.grain:
            for pod, price in zip(pods, fair, strict=True):
                rest -= price
                if self.placer.place(pod, depth) == inf or state.potential - before + rest > limit:
                    break
            else:
                if not self.progress.too_many:
                    return state.potential - before
        state.rewind(mark)
        return inf

    def _fair(self, pod: int, node: int) -> float:
        home = self.state.home[pod]
        must_move = home == node or not self.state.open[home]
        return self.state.value_of[pod] + (self.state.move if must_move else 0)
