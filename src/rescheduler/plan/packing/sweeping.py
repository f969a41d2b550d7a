"""Node by node: the plain way to empty nodes, with every rule asked about at every move.

The search knows the rules that are plain numbers by node. Where others decide, this finds what it
cannot; and under a small limit of moves it takes first what saves most by move.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rescheduler.plan.balancing.taking_part import ceiling
from rescheduler.plan.desk import Desk
from rescheduler.plan.fitting.rules import Rules
from rescheduler.plan.packing.modelling import Model
from rescheduler.plan.packing.problem import Mask, Real, Whole

Moves = list[tuple[int, int]]
"""Pods of the problem and their targets, in order."""

_CHEAP: Final = 2_000_000
"""Pods times nodes: up to here it takes a moment, beyond it is done where rules ask for it."""
_HOSTNAME: Final = "kubernetes.io/hostname"


def is_worthwhile(desk: Desk, found: Model) -> bool:
    problem = found.problem
    if problem.pods * problem.nodes <= _CHEAP:
        return True
    distinct = {id(rules): rules for rules in map(desk.placement.rules, found.rows)}
    return any(_knows_more_than_hosts(rules) for rules in distinct.values())


def _knows_more_than_hosts(rules: Rules) -> bool:
    keys = [term.topology_key for term in rules.apart_from]
    keys += [spread.topology_key for spread in rules.spreads]
    return bool(rules.near_to) or any(key != _HOSTNAME for key in keys)


def sweep(desk: Desk, found: Model) -> Moves:
    """The best of a few orders in which nodes can be emptied; the desk is left as it was."""
    problem = found.problem
    best: Moves = []
    rank = _rank(found, best)
    load = np.bincount(problem.home, minlength=problem.nodes)
    used = _fullness(desk)
    for order in (load / np.maximum(problem.node_cost, 1e-9), used):
        moves = _Sweep(desk, found).go(np.argsort(order, kind="stable").tolist())
        if (reached := _rank(found, moves)) < rank:
            best, rank = moves, reached
    return best


def place_of(found: Model, moves: Moves) -> Whole:
    place = found.problem.home.copy()
    for pod, node in moves:
        place[pod] = node
    return place


def _rank(found: Model, moves: Moves) -> tuple[int, float]:
    place = place_of(found, moves)
    return int(np.count_nonzero(found.problem.broken(place))), found.problem.cost(place)


def _fullness(desk: Desk) -> Real:
    room = np.maximum(desk.snapshot.room, 1)
    return np.asarray(1 - (desk.placement.free / room).clip(0, 1).mean(axis=1))


class _Sweep:
    def __init__(self, desk: Desk, found: Model) -> None:
        self._desk = desk
        self._problem = found.problem
        self._rows = found.rows
        self._left = desk.left
        self._pods_of: dict[int, list[int]] = {}
        for pod, node in enumerate(found.problem.home.tolist()):
            self._pods_of.setdefault(node, []).append(pod)
        self._open: Mask = found.problem.always_open.copy()
        self._open[found.problem.home] = True
        """Nodes in use: only these take pods."""
        self._guests: set[int] = set()
        """Nodes that have taken some: who came does not move again."""
        self._ceiling = ceiling(desk)
        self._moves: Moves = []

    def go(self, order: Iterable[int]) -> Moves:
        start = self._desk.mark()
        for node in order:
            if not self._desk.take_step():
                break
            if self._is_worth_emptying(node):
                self._empty(node)
        self._desk.rewind(start)
        return self._moves

    def _is_worth_emptying(self, node: int) -> bool:
        problem, pods = self._problem, self._pods_of.get(node, [])
        return (
            bool(pods)
            and node not in self._guests
            and not problem.always_open[node]
            and problem.node_cost[node] > problem.move_cost * len(pods)
            and len(self._moves) + len(pods) <= self._left
        )

    def _empty(self, node: int) -> None:
        """All of its pods, or none."""
        mark, done = self._desk.mark(), len(self._moves)
        self._open[node] = False
        asks = self._problem.scaled_asks[self._problem.kind]
        for pod in sorted(self._pods_of[node], key=lambda pod: -int(asks[pod].sum())):
            target = self._target(self._rows[pod])
            if target is None:
                self._desk.rewind(mark)
                del self._moves[done:]
                self._open[node] = True
                return
            self._desk.move(self._rows[pod], target, "")
            self._moves.append((pod, target))
        self._guests.update(target for _, target in self._moves[done:])

    def _target(self, row: int) -> int | None:
        """Of the nodes that take it, the one that it fills up most."""
        desk = self._desk
        able = np.flatnonzero(desk.targets(row) & self._open)
        if np.isfinite(self._ceiling).all() and len(able):
            after = desk.loads.percent[able] + desk.loads.percent_of(row)[able]
            able = able[(after <= self._ceiling).all(axis=1)]
        if not len(able):
            return None
        asks = desk.placement.asks(row)
        asked = np.flatnonzero(asks)
        room = np.maximum(desk.snapshot.room[able][:, asked], 1)
        left = (desk.placement.free[able][:, asked] - asks[asked]) / room
        return int(able[left.sum(axis=1).argmin()])
