"""What the hours to come mean for balancing, where loads repeat from day to day.

A gap that goes by itself is left alone, one that comes is narrowed before it is there, and in
between a move has to be worth it over the whole day. What is overloaded now does not wait: while a
node is above its threshold, only the present counts.
"""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from rescheduler.model.ahead import HOURS
from rescheduler.plan.balancing.taking_part import thresholds
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask

SOON_HOURS: Final = 3.0
"""What comes within them is prepared for."""

_SOON: Final = sum(hours <= SOON_HOURS for hours in HOURS)
"""Of the moments ahead, the first ones."""


def cannot_wait(desk: Desk, part: Mask) -> bool:
    """One of these nodes is above its threshold now."""
    with np.errstate(invalid="ignore"):
        return bool((desk.loads.percent[part] > thresholds(desk)).any())


def gaps(desk: Desk, part: Mask) -> Figures:
    """By moment and resource: the most minus the least loaded of these nodes."""
    points = desk.loads.series[part]
    found: Figures = np.ptp(points, axis=0).reshape(desk.loads.moments, len(RESOURCES))
    return found


def pressing(desk: Desk, part: Mask) -> float:
    """The widest gap that is there, or will be soon where a node is overloaded by then."""
    found = gaps(desk, part).max(axis=1)[: 1 + _SOON]
    limits = desk.loads.of_all_moments(thresholds(desk))
    over = np.any(desk.loads.series[part] > limits, axis=0).reshape(-1, len(RESOURCES))
    counts: Mask = np.any(over, axis=1)[: 1 + _SOON]
    counts[0] = True
    return float(found.max(where=counts, initial=0.0))


def goes_by_itself(desk: Desk, part: Mask, threshold: float) -> str:
    """In words, when all gaps above the threshold do before long, and none comes again within the
    day; empty: they do not.
    """
    if desk.loads.moments == 1 or cannot_wait(desk, part):
        return ""
    widest = gaps(desk, part).max(axis=1)
    above = np.flatnonzero(widest > threshold)
    if not len(above) or above[-1] >= _SOON:
        return ""
    after = int(above[-1]) + 1
    return (
        f"it falls to {widest[after]:.1f} points by {clock(desk, after)} by itself, "
        f"{as_before(desk)}, so nothing is moved for it"
    )


def clock(desk: Desk, moment: int) -> str:
    """The time of a moment ahead, of which 1 is the first."""
    ahead = desk.loads.ahead
    assert ahead is not None  # noqa: S101 - there are moments
    at = datetime.fromtimestamp(ahead.now + 3600 * HOURS[moment - 1], UTC)
    return f"{at:%H:%M} UTC"


def as_before(desk: Desk) -> str:
    ahead = desk.loads.ahead
    assert ahead is not None  # noqa: S101
    return "as on the day before" if ahead.days == 1 else f"as on the last {ahead.days} days"


def label(desk: Desk, column: int) -> str:
    """What a column of `series` is of: a resource, now or later."""
    moment, resource = divmod(column, len(RESOURCES))
    words = f"{RESOURCES[resource]} {desk.loads.word}"
    return words if not moment else f"{words} at {clock(desk, moment)}, {as_before(desk)}"
