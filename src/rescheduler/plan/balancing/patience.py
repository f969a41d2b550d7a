"""What the hours to come mean for balancing, where loads repeat from day to day.

A move has to be worth it over the whole day, not only now. A gap that goes by itself before long is
left alone; one that comes soon, with an overloaded node, is narrowed before it is there. What is
overloaded now does not wait: where no move would last the day, the present alone decides.
"""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from rescheduler.model.usage import HOURS
from rescheduler.plan.balancing.taking_part import thresholds
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask

SOON_HOURS: Final = 3.0
"""What comes within them is prepared for."""

_SOON: Final = sum(hours <= SOON_HOURS for hours in HOURS)
"""Of the moments ahead, the first ones."""


def cannot_wait(desk: Desk, part: Mask) -> bool:
    """One of these nodes is above its threshold now."""
    return bool(_over(desk, part)[0])


def gaps(desk: Desk, part: Mask) -> Figures:
    """By moment and resource: the most minus the least loaded of these nodes."""
    points = desk.loads.series[part]
    found: Figures = np.ptp(points, axis=0).reshape(desk.loads.moments, len(RESOURCES))
    return found


def pressing(desk: Desk, part: Mask) -> float:
    """The widest gap that is there, or will be soon where a node is overloaded by then."""
    return float(_pressing(desk, part).max())


def comes_soon(desk: Desk, part: Mask, threshold: float) -> str:
    """In words, what is not above the threshold now, but will be; empty: it is."""
    found = _pressing(desk, part)
    if found[0] > threshold:
        return ""
    moment = int(found.argmax())
    return (
        f"not above the threshold of {threshold:g} now, but {found[moment]:.1f} points by "
        f"{clock(desk, moment)}, {as_before(desk)}, with an overloaded node"
    )


def _pressing(desk: Desk, part: Mask) -> Figures:
    """By moment, now and soon; 0 where it can wait."""
    counts = _over(desk, part)
    counts[0] = True
    found: Figures = np.where(counts, gaps(desk, part).max(axis=1), 0.0)
    return found[: 1 + _SOON]


def _over(desk: Desk, part: Mask) -> Mask:
    """By moment: one of these nodes is above its threshold."""
    limits = desk.loads.of_all_moments(thresholds(desk))
    over = np.any(desk.loads.series[part] > limits, axis=0).reshape(-1, len(RESOURCES))
    found: Mask = np.any(over, axis=1)
    return found


def goes_by_itself(desk: Desk, part: Mask, threshold: float) -> str:
    """In words, when all gaps above the threshold do before long, none comes again within the day,
    and no node is overloaded meanwhile; empty: they do not.
    """
    if desk.loads.moments == 1 or _over(desk, part)[: 1 + _SOON].any():
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


def is_hot_soon(desk: Desk, row: int) -> Mask:
    """By node: with this pod it will be above a threshold soon."""
    later = slice(len(RESOURCES), len(RESOURCES) * (1 + _SOON))
    after = (desk.loads.series + desk.loads.series_percent_of(row))[:, later]
    limits = desk.loads.of_all_moments(thresholds(desk))[later]
    with np.errstate(invalid="ignore"):
        found: Mask = np.any(after > limits, axis=1)
    return found


def why_it_waits(desk: Desk, gaps: Figures, less: Figures, where: str) -> str:
    """Of a move that is of use now, and of none later: in words. `gaps` between its nodes, and by
    how much it would narrow them, by the columns of `series`. Empty: it is another reason.
    """
    present, left = slice(0, len(RESOURCES)), np.abs(gaps - less)
    before, after = float(np.abs(gaps[present]).max()), float(left[present].max())
    worst = int(left.argmax())
    if worst < len(RESOURCES) or after >= before:
        return ""
    return (
        f"moving it {where}would narrow a gap of {before:.1f} points to {after:.1f} now, and leave "
        f"one of {left[worst]:.1f} later: {label(desk, worst)}"
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
