"""Which of the nodes that are left a new pod should rather come to, from 0 to 10. Pure.

    room    = 1 - mean of cpu and memory used with this pod, by their weights
    balance = 1 - difference between the two
    worth   = (10 - balanceBonus) * room + balanceBonus * balance
    score   = 10 for the node of most worth, and 2 less for each point of worth that another lacks

Room counts for most, so that nodes fill evenly; the bonus keeps a node from running out of one
thing while it has plenty of the other. Scores are compared with the best, for they are whole
numbers: worth itself would not tell apart nodes whose loads differ by less than a dozen points.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.schedule.newcomers import Newcomer
from rescheduler.schedule.table import (
    UNKNOWN,
    Figures,
    NodeTable,
    Numbers,
    Rules,
    Steering,
)

MOST: Final = 10
"""The highest that a scheduler takes from an extender."""
_STEEPNESS: Final = 2.0
"""Ten points of load are worth as much as a soft rule that a user gave the usual weight: with more,
such rules would not count beside us; with less, we would not beside what pods ask for.
"""


@dataclass(frozen=True, slots=True)
class Scored:
    rows: Numbers
    """Of the names in the table."""
    points: Numbers
    """By place in the names."""
    best: int | None
    """The place of the node that comes first, also among those of the same score; None: there is no
    difference.
    """
    is_steered: bool | None = None
    """Whether the target of its migration is among the nodes; None: it is of none."""

    @property
    def scores(self) -> list[int]:
        found: list[int] = self.points.tolist()
        return found


def scored(
    table: NodeTable,
    rules: Rules,
    pod: Newcomer,
    names: Sequence[str],
    placed: Figures,
    rows: Numbers | None = None,
) -> Scored:
    if rows is None:
        rows = table.rows(names)
    if pod.belongs_to_its_node or pod.is_copy or not names:
        return Scored(rows, np.zeros(len(rows), np.int64), None)
    found = _in_rows(_exact(table, rules, pod, placed), rows)
    if (steering := pod.steering(table)) is not None:
        return _steered(found, steering, names, rows)
    return Scored(rows, _whole(_compared(found)), int(np.argmax(found)))


def _in_rows(exact: Figures, rows: Numbers) -> Figures:
    if (rows == UNKNOWN).any():
        # A node that we have not heard of is neither better nor worse than most.
        usual = float(np.median(exact)) if len(exact) else 0.0
        exact = np.append(exact, usual)
    found: Figures = exact[rows]
    return found


def _exact(table: NodeTable, rules: Rules, pod: Newcomer, placed: Figures) -> Figures:
    """One column after the other, in as few steps as can be: it is what an answer takes longest
    for, and of a few hundred nodes each step costs as much as of one.
    """
    cpu, memory = (_share(table, column, pod, placed) for column in range(2))
    weight = rules.cpu_weight / (rules.cpu_weight + rules.memory_weight)
    room = 1 - (weight * cpu + (1 - weight) * memory)
    balance = 1 - np.abs(cpu - memory)
    bonus = rules.balance_bonus
    found: Figures = (MOST - bonus) * room + bonus * balance
    return found


def _share(table: NodeTable, column: int, pod: Newcomer, placed: Figures) -> Figures:
    """Of the capacity of each node: what is taken of it with this pod; 1 where there is none, or
    nothing is known (fmin).
    """
    taken = table.taken[:, column] + (placed[:, column] + pod.weighs[column])
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Figures = np.fmin(taken / table.capacity[:, column], 1.0)
    return found


def _compared(worth: Figures) -> Figures:
    found: Figures = MOST - _STEEPNESS * (worth.max() - worth)
    return found


def _whole(exact: Figures) -> Numbers:
    """A scheduler reads no fractions: it would drop the whole answer without a word."""
    rounded: Numbers = np.rint(np.clip(exact, 0, MOST)).astype(np.int64)
    return rounded


def _steered(exact: Figures, steering: Steering, names: Sequence[str], rows: Numbers) -> Scored:
    """To the target, whatever else speaks for the others; else anywhere rather than back."""
    if steering.target in names:
        place = list(names).index(steering.target)
        points = np.zeros(len(rows), np.int64)
        points[place] = MOST
        return Scored(rows, points, place, is_steered=True)
    points = np.maximum(_whole(_compared(exact)), 1)
    if steering.source in names:
        points[list(names).index(steering.source)] = 0
    return Scored(rows, points, int(np.argmax(points)), is_steered=False)
