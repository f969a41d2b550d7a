"""From the desk to a packing problem: what of all rules is plain numbers by node.

What is not (affinity, spread over zones, host ports, attached volumes ...) is asked about at the
desk when a move is made, so a model that knows too little costs moves, but breaks nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.model import names
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.strategies import RESOURCE_OPTIMIZATION
from rescheduler.plan.balancing.taking_part import ceiling
from rescheduler.plan.desk import Desk
from rescheduler.plan.packing import costs
from rescheduler.plan.packing.limits import Groups
from rescheduler.plan.packing.problem import Mask, Problem, Whole

_FINENESS: Final = 400
"""Steps in which measured use is told apart, of what the largest node has."""


@dataclass(frozen=True, kw_only=True)
class Model:
    problem: Problem
    rows: list[int]
    """By pod of the problem."""
    staying: dict[int, tuple[str, ...]]
    """By row: why it keeps its node in use."""
    counted: Mask
    """By node: it is in scope."""

    def cost_of(self, place: Whole) -> float:
        """Of nodes alone."""
        return float(self.problem.node_cost[self._in_use(place)].sum())

    def in_use(self, place: Whole) -> int:
        return int(np.count_nonzero(self._in_use(place)))

    def _in_use(self, place: Whole) -> Mask:
        used = self.problem.always_open.copy()
        used[place] = True
        return used & self.counted


def model(desk: Desk) -> Model:
    rows, staying = _who_may_move(desk)
    home = desk.placement.place[rows].astype(np.int64)
    node_cost = np.where(desk.in_scope, costs.of_nodes(desk), 0.0)
    counted = desk.in_scope & (node_cost > 0)
    mean = float(node_cost[counted].mean()) if counted.any() else 0.0
    move_cost = desk.configuration.cost_optimization.move_cost_percent / 100 * mean
    asks, capacity = _room(desk, rows, home)
    groups = Groups(desk, rows, move_cost)
    kinds = _Kinds(desk, rows, asks, groups)
    return Model(
        problem=Problem(
            capacity=capacity,
            node_cost=node_cost,
            asks=asks[kinds.first],
            needs=kinds.needs(asks),
            kind=kinds.of_pod,
            home=home,
            allowed_sets=kinds.allowed_sets,
            allowed=kinds.allowed,
            groups=tuple(groups.of_pod[pod] for pod in kinds.first),
            limit=np.array(groups.limit, np.int64),
            extra_cost=np.array(groups.extra_cost, np.float64),
            present=groups.present,
            always_open=_always_open(desk, staying),
            move_cost=move_cost,
        ),
        rows=rows,
        staying=staying,
        counted=counted,
    )


# ---------------------------------------------------------------------- who and where


def _who_may_move(desk: Desk) -> tuple[list[int], dict[int, tuple[str, ...]]]:
    """Rows that may move alone; and those that stay and keep their node in use, with reasons."""
    snapshot, placement = desk.snapshot, desk.placement
    rows, staying = [], {}
    ending = int(Flag.TERMINATING | Flag.LEAVING)
    # By name: rows are numbered by arrival, and the same cluster is to give the same plan.
    for row in sorted(snapshot.rows.tolist(), key=snapshot.pods.names.__getitem__):
        node = placement.place[row]
        if node == NONE or not desk.in_scope[node] or int(snapshot.pods.flags[row]) & ending:
            continue
        reasons = desk.why_it_stays(row)
        if not reasons and len(desk.unit(row)) > 1:
            reasons = ("it belongs to a group, and nodes are emptied pod by pod",)
        if not reasons:
            rows.append(row)
        elif not desk.is_part_of_its_node(row):
            staying[row] = reasons
    return rows, staying


def _always_open(desk: Desk, staying: Iterable[int]) -> Mask:
    """Nodes that stay, whoever leaves them."""
    found = np.array(
        [
            is_in_maintenance(node.labels)
            or not node.ready
            or any(label in node.labels for label in names.CONTROL_PLANE)
            or node.annotations.get(names.SCALE_DOWN_DISABLED) == "true"
            or node.annotations.get(names.DO_NOT_DISRUPT) == "true"
            for node in desk.nodes
        ],
        np.bool_,
    )
    found |= ~desk.in_scope | desk.closed
    found[desk.placement.place[list(staying)]] = True
    return found


def _room(desk: Desk, rows: list[int], home: Whole) -> tuple[Whole, Whole]:
    """What pods ask for, and what nodes have for them, by resource and, where there is a ceiling,
    by load.
    """
    placement = desk.placement
    asks = np.array([placement.asks(row) for row in rows], np.int64).reshape(
        len(rows), placement.free.shape[1]
    )
    capacity = np.array(placement.free, np.int64)
    np.add.at(capacity, home, asks)
    asked_for = np.flatnonzero((asks > 0).any(axis=0))
    # By name, as these are numbered by arrival too.
    columns = sorted(asked_for.tolist(), key=desk.snapshot.resource_names.__getitem__)
    asks, capacity = asks[:, columns], capacity[:, columns]
    if RESOURCE_OPTIMIZATION in desk.configuration.enabled_strategies:
        loads, ceilings = _ceilings(desk, rows, home)
        asks, capacity = np.hstack([asks, loads]), np.hstack([capacity, ceilings])
    return asks, capacity


def _ceilings(desk: Desk, rows: list[int], home: Whole) -> tuple[Whole, Whole]:
    """Loads as if they were resources, up to where nobody is relieved; who is above may stay so."""
    loads = desk.loads
    step = np.maximum(loads.capacity.max(axis=0, initial=0) / _FINENESS, 1)
    if loads.word == "requests":
        step = np.ones_like(step)
    of_pod = np.ceil(np.nan_to_num(loads.of_pod[rows]) / step).astype(np.int64)
    here = np.zeros(loads.used.shape, np.int64)
    np.add.at(here, home, of_pod)
    exact = np.zeros(loads.used.shape)
    np.add.at(exact, home, np.nan_to_num(loads.of_pod[rows]))
    room = loads.capacity * ceiling(desk) / 100 - (loads.used - exact)
    ceilings = np.where(loads.known[:, None], np.floor(np.nan_to_num(room) / step), 0)
    return of_pod, np.maximum(ceilings.astype(np.int64), here)


class _Kinds:
    """Pods that are alike in all that the problem knows."""

    def __init__(self, desk: Desk, rows: list[int], asks: Whole, groups: Groups) -> None:
        self._desk = desk
        targets = desk.usable
        masks: dict[bytes, int] = {}
        sets: list[Mask] = []
        known: dict[tuple[object, ...], int] = {}
        self.first: list[int] = []
        """By kind: its first pod."""
        allowed: list[int] = []
        twice: list[bool] = []
        of_pod = np.empty(len(rows), np.int64)
        lowest = min((desk.priority(row) for row in desk.snapshot.rows.tolist()), default=0)
        by_class: dict[int, int] = {}
        for pod, row in enumerate(rows):
            pod_class = int(desk.snapshot.pods.pod_class[row])
            number = by_class.get(pod_class)
            if number is None or desk.placement.volumes.has_any(row):
                mask = desk.placement.static_mask(row) & targets
                number = masks.setdefault(mask.tobytes(), len(masks))
                by_class[pod_class] = number
                if number == len(sets):
                    sets.append(mask)
            rules = desk.placement.rules(row)
            pushes = rules.may_preempt and rules.priority > lowest
            key = (asks[pod].tobytes(), number, groups.of_pod[pod], pushes)
            kind = known.setdefault(key, len(known))
            of_pod[pod] = kind
            if kind == len(self.first):
                self.first.append(pod)
                allowed.append(number)
                twice.append(pushes)
        self.of_pod: Whole = of_pod
        self.allowed: Whole = np.array(allowed, np.int64)
        self.allowed_sets: Mask = np.array(sets, np.bool_).reshape(len(sets), len(desk.nodes))
        self._twice = np.array(twice, np.bool_)

    def needs(self, asks: Whole) -> Whole:
        """A pod that could push out others comes only where there is room for it twice."""
        return asks[self.first] * np.where(self._twice, 2, 1)[:, None]
