"""What a contender's day comes to, in a few figures. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rescheduler.simulation.contending import Outcome
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.measuring import LOOK_SECONDS, Look

_POINTS: Final = 288
"""Of a course, at most: every five minutes of a day."""


@dataclass(frozen=True, slots=True)
class Course:
    """One figure over the day."""

    mean: float
    before: float
    """When the day began."""
    after: float
    """When it ended: at the same time of day, if it was a whole one."""
    points: tuple[float, ...]
    """Means of equal parts of the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    name: str
    moved: int
    put_off: int
    failed: int
    reasons: dict[str, int]
    unfinished: int
    by_strategy: dict[str, int]
    dips: dict[Cause, int]
    """Workloads that had fewer Ready pods than they should, by whose doing it was."""
    missing_seconds: dict[Cause, float]
    """Pods that were missing, times how long each was."""
    drain_seconds: tuple[float, ...]
    """What drains by outsiders took, of those that came to their end."""
    unfinished_drains: int
    deviation: tuple[Course, Course]
    """Of the use of CPU and of memory over the nodes, in points."""
    gap: tuple[Course, Course]
    """Between the most and the least used node, in points."""
    used: tuple[Course, Course]
    """The mean of all nodes, in per cent."""
    hot: Course
    """Nodes above the threshold."""
    hot_minutes: float
    pending_minutes: float
    nodes: Course
    """In use."""
    cost: Course | None
    """By the hour; None: no node says what it costs."""
    point_seconds: float
    """From one point of a course to the next."""


def summarised(outcome: Outcome) -> Summary:
    figures = outcome.figures
    looks = figures.looks

    def course(of: Callable[[Look], float]) -> Course:
        return _course([of(each) for each in looks])

    def pair(of: Callable[[Look], tuple[float, float]]) -> tuple[Course, Course]:
        return course(lambda each: of(each)[0]), course(lambda each: of(each)[1])

    cost = course(lambda each: each.cost)
    return Summary(
        name=outcome.contender,
        moved=figures.moved,
        put_off=figures.put_off,
        failed=figures.failed,
        reasons=figures.reasons,
        unfinished=figures.unfinished,
        by_strategy=figures.by_strategy,
        dips={each: len({dip.workload for dip in figures.dips_by(each)}) for each in Cause},
        missing_seconds={each: figures.missing_seconds(each) for each in Cause},
        drain_seconds=tuple(each.seconds for each in outcome.drains if each.seconds is not None),
        unfinished_drains=sum(each.seconds is None for each in outcome.drains),
        deviation=pair(lambda each: each.deviation),
        gap=pair(lambda each: each.gap),
        used=pair(lambda each: each.mean),
        hot=course(lambda each: each.hot),
        hot_minutes=figures.hot_minutes,
        pending_minutes=figures.pending_seconds / 60,
        nodes=course(lambda each: each.nodes),
        cost=cost if cost.mean else None,
        point_seconds=LOOK_SECONDS * _a_point(len(looks)),
    )


def _course(figures: Sequence[float]) -> Course:
    size = _a_point(len(figures))
    parts = [figures[begin : begin + size] for begin in range(0, len(figures), size)]
    return Course(
        mean=sum(figures) / len(figures),
        before=figures[0],
        after=figures[-1],
        points=tuple(sum(each) / len(each) for each in parts),
    )


def _a_point(looks: int) -> int:
    """How many looks become one point."""
    return max(-(-(looks - 1) // _POINTS), 1)
