"""Which of the nodes that fit a new pod should not come to. Pure.

A node in maintenance is refused always. All else is a matter of degree: if every node would be
refused for it, none is, for a full cluster must still schedule; unless it is set to be strict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

import numpy as np

from rescheduler.schedule.newcomers import Newcomer
from rescheduler.schedule.table import (
    RESOURCES,
    Figures,
    Mask,
    NodeTable,
    Numbers,
    Rules,
    Steering,
)

_THRESHOLDS: Final = ("cpuThreshold", "memoryThreshold")


@dataclass(frozen=True, slots=True)
class Filtered:
    passed: Sequence[str]
    refused: Mapping[str, str] = field(default_factory=dict)
    """By node: why not. If others made room there, that might change."""
    closed: Mapping[str, str] = field(default_factory=dict)
    """By node: why not, whoever else goes."""
    is_lenient: bool = False
    """All that could have passed were refused for their load alone, and so none is."""
    is_steered: bool | None = None
    """Where one node is left, for which nobody asks for a score: whether it is the target of the
    pod's migration. None: it is of none, or there is a choice.
    """


def filtered(
    table: NodeTable,
    rules: Rules,
    pod: Newcomer,
    names: Sequence[str],
    placed: Figures,
    rows: Numbers | None = None,
) -> Filtered:
    """`placed`: by node, what came since the table was made. `rows`: of the names, if known."""
    if pod.belongs_to_its_node or pod.is_copy:
        return Filtered(names)
    if rows is None:
        rows = table.rows(names)
    closed = _closed(table, rows, names)
    steering = pod.steering(table)
    soft = _refused(table, rules, pod, rows, placed, steering)
    if not closed and not soft.any():
        return Filtered(names)
    is_open = np.full(len(names), fill_value=True)
    if closed:
        is_open[np.isin(rows, list(table.in_maintenance))] = False
    passed = is_open & ~soft
    if not passed.any() and not rules.is_strict:
        return Filtered(_picked(names, is_open), closed=closed, is_lenient=bool(is_open.any()))
    refused = np.flatnonzero(is_open & soft).tolist()
    reasons = _Reasons(table, rules, pod, placed)
    why = {names[place]: reasons.of(int(rows[place])) for place in refused}
    return Filtered(_picked(names, passed), why, closed)


def _picked(names: Sequence[str], mask: Mask) -> list[str]:
    return list(compress(names, mask.tolist()))


def _closed(table: NodeTable, rows: Numbers, names: Sequence[str]) -> dict[str, str]:
    if not table.in_maintenance:
        return {}
    found = np.isin(rows, list(table.in_maintenance))
    return {
        names[place]: table.in_maintenance[int(rows[place])]
        for place in np.flatnonzero(found).tolist()
    }


def _refused(
    table: NodeTable,
    rules: Rules,
    pod: Newcomer,
    rows: Numbers,
    placed: Figures,
    steering: Steering | None,
) -> Mask:
    """By place in `rows`: overloaded with this pod, spoken for, or being emptied."""
    mask = _is_above(table, rules, pod, placed).any(axis=1) | _is_promised(table, pod, placed)
    mask[list(table.being_emptied)] = True
    # What is kept free there is kept for this very pod.
    if steering is not None and (number := table.numbers.get(steering.target)) is not None:
        mask[number] = False
    # Of a node that we have not heard of we know nothing bad; UNKNOWN is the last of these.
    found: Mask = np.append(mask, False)[rows]
    return found


def percent(table: NodeTable, pod: Newcomer, placed: Figures) -> Figures:
    """By node and resource: how loaded it is with this pod. NaN: unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Figures = 100 * (table.used + table.promised + placed + pod.asks) / table.capacity
    return found


def why_overloaded(table: NodeTable, rules: Rules, node: str, placed: tuple[float, float]) -> str:
    """With what was placed there since; empty: it is not."""
    number = table.numbers.get(node)
    if number is None:
        return ""
    with np.errstate(divide="ignore", invalid="ignore"):
        loads = 100 * (table.used + table.promised + placed)[number] / table.capacity[number]
    above = _above(table, rules, loads.tolist())
    return ", ".join(above)


def _above(table: NodeTable, rules: Rules, loads: Sequence[float]) -> list[str]:
    rows = zip(RESOURCES, _THRESHOLDS, loads, rules.thresholds, strict=True)
    return [
        f"{name} {table.word} {load:.1f} % with this pod, above {setting} {limit:g}"
        for name, setting, load, limit in rows
        if load > limit
    ]


def _is_above(table: NodeTable, rules: Rules, pod: Newcomer, placed: Figures) -> Mask:
    with np.errstate(invalid="ignore"):
        return np.asarray(percent(table, pod, placed) > rules.thresholds)


def _is_promised(table: NodeTable, pod: Newcomer, placed: Figures) -> Mask:
    """It would fit for the scheduler, which does not know of what is promised."""
    if not table.promised.any():
        return np.zeros(len(table.names), np.bool_)
    free = table.capacity - table.requested - placed - table.promised
    is_short = (free < pod.asks) & (table.promised > 0)
    return np.asarray(is_short.any(axis=1))


class _Reasons:
    def __init__(self, table: NodeTable, rules: Rules, pod: Newcomer, placed: Figures) -> None:
        self._table = table
        self._rules = rules
        self._percent = percent(table, pod, placed)

    def of(self, number: int) -> str:
        if emptied := self._table.being_emptied.get(number):
            return emptied
        above = _above(self._table, self._rules, self._percent[number].tolist())
        return ", ".join(above) or "its room is promised to a migration in flight"
