"""What a node costs: its annotation says so, or a configured price, or what it has."""

import math
from typing import Final

import numpy as np

from rescheduler.model import names, resources
from rescheduler.model.cluster import Node
from rescheduler.plan.desk import Desk
from rescheduler.plan.packing.problem import Real

_PER_CORE: Final = 2.0
_PER_GIB: Final = 1.0
_PER_GPU: Final = 10.0
_NAMED: Final = 5


def of_nodes(desk: Desk) -> Real:
    """By node; notes those whose annotation makes no sense."""
    found, wrong = [], []
    for node in desk.nodes:
        told = node.annotations.get(names.NODE_COST)
        cost = None if told is None else _read(told)
        if told is not None and cost is None:
            wrong.append(f"{node.name} ({told[:20]!r})")
        found.append(_else(desk, node) if cost is None else cost)
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        desk.note(
            f"the annotation {names.NODE_COST} is no cost on {', '.join(wrong[:_NAMED])}{more}: "
            "prices or allocatable count there"
        )
    return np.array(found, np.float64)


def _read(told: str) -> float | None:
    try:
        cost = float(told)
    except ValueError:
        return None
    return cost if math.isfinite(cost) and cost >= 0 else None


def _else(desk: Desk, node: Node) -> float:
    for each in desk.configuration.cost_optimization.prices:
        if each.node_selector.matches(node.labels):
            return each.price
    has = node.allocatable
    gpus = sum(amount for name, amount in has.items() if "/" in name and "gpu" in name.lower())
    cores = has.get(resources.CPU, 0) / 1000
    gibibytes = has.get(resources.MEMORY, 0) / 2**30
    return _PER_CORE * cores + _PER_GIB * gibibytes + _PER_GPU * gpus
