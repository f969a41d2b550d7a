"""How long it takes at this pace, where `maxReschedulePods` allows fewer moves than are needed.

Estimated from what has still to change its node and from the size of pods: to plan all of it would
take long on a large cluster, and much will have changed by then.
"""

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from rescheduler.documents import durations
from rescheduler.model.columns import NONE
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import Figures, Mask

_HALVINGS: Final = 40
_MANY: Final = 10
"""Passes from which on a higher limit is worth a word."""
_SHARES: Final = (1, 2, 5, 10)
"""Per cent of all pods: what is offered as another limit."""


def above(desk: Desk, nodes: Iterable[int], goal: Figures) -> Figures:
    """By resource: what these nodes have beyond the goal, in per cent of what they have."""
    numbers = list(nodes)
    over = desk.loads.used[numbers] - goal * desk.loads.capacity[numbers] / 100
    amounts: Figures = np.maximum(over, 0.0).sum(axis=0)
    return amounts


def apart(desk: Desk, part: Mask, threshold: float) -> Figures:
    """By resource: what has to change its node until these nodes do not differ by more than the
    threshold. As much as is above some level must go to where there is room below it.
    """
    used, capacity = desk.loads.used[part], desk.loads.capacity[part]
    low = np.full(used.shape[1], 0.0)
    high = np.maximum(100 * used / capacity, threshold).max(axis=0)
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        too_much = np.maximum(used - level * capacity / 100, 0.0).sum(axis=0)
        room = np.maximum((level - threshold) * capacity / 100 - used, 0.0).sum(axis=0)
        low, high = np.where(too_much > room, level, low), np.where(too_much > room, high, level)
    amounts: Figures = np.maximum(used - high * capacity / 100, 0.0).sum(axis=0)
    return amounts


def moves_for(desk: Desk, amounts: Figures) -> int:
    """How many it takes to move so much, of each resource."""
    rows = [each.row for each in desk.moves if not each.asked]
    if not rows:
        rows = desk.snapshot.rows[desk.placement.place[desk.snapshot.rows] != NONE].tolist()
    mean = desk.loads.of_pod[rows].mean(axis=0) if rows else np.zeros(len(amounts))
    return max(
        (
            math.ceil(amount / size)
            for amount, size in zip(amounts.tolist(), mean.tolist(), strict=True)
            if amount > 0 and size > 0
        ),
        default=0,
    )


def passes_for(desk: Desk, moves: int) -> int:
    return math.ceil(moves / desk.limit)


def words(desk: Desk, moves: int) -> str:
    """Of so many moves that are left to later passes."""
    passes, interval = passes_for(desk, moves), desk.configuration.rescheduling_interval_seconds
    counted = "1 more pass" if passes == 1 else f"{passes:,} more passes"
    text = f"about {counted} at this pace (at most {_text(passes * interval)}, at one every "
    text += f"{_text(interval)})"
    return f"{text}{_advice(desk, moves)}" if passes > _MANY else text


def _advice(desk: Desk, moves: int) -> str:
    larger = [share for share in _SHARES if desk.share_of_pods(share) > desk.limit]
    if not larger:
        return "; raise maxReschedulePods"
    enough = (share for share in larger if moves <= _MANY * desk.share_of_pods(share))
    return f"; raise maxReschedulePods, for example to {next(enough, larger[-1])}%"


def _text(seconds: float) -> str:
    # Of what takes long, nobody wants to know the seconds.
    whole = round(seconds / 60) * 60 if seconds >= 600 else round(seconds)  # noqa: PLR2004
    return durations.format_nanoseconds(whole * durations.SECOND)
