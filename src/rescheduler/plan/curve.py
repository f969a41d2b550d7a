"""What more moves would gain: the same plan with one limit after the other.

Each limit gets a plan of its own. A prefix of a larger plan would not be true: moves are chosen
together, so the best five are not the first five of the best ten.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rescheduler.config import Configuration
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.balancing.taking_part import thresholds
from rescheduler.plan.desk import NO_LIMIT, Desk, Search
from rescheduler.plan.fitting import Memory
from rescheduler.plan.planning import plan_at
from rescheduler.plan.strategies.resource_optimization import overloaded

MOST: Final = 1000
"""Moves beyond which nobody asks, unless their own limit is higher: each limit is a whole plan."""
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one limit gives."""

    limit: int
    """Of moves that nobody asked for, as maxReschedulePods; 0: none."""
    moves: int
    asked: int
    """Of these, those that somebody asked for, which no limit holds."""
    by_strategy: Mapping[str, int]
    """Moves of each that moves something, in the order in which they decide."""
    imbalances: Mapping[str, float]
    """By resource, in points, when all moves are done."""
    overloaded: int
    """Nodes above a threshold then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    now: Point
    """Without any move."""
    points: tuple[Point, ...]
    """By rising limit."""
    chosen: int | None
    """The limit in force; none: there is no limit."""
    in_flight: int
    """Moves of earlier passes that are not done: they count against every limit."""
    is_whole: bool
    """The last point leaves some of its limit: more moves would not be made."""
    word: str
    """What loads are judged by: `requests` or `usage`."""


def curve(
    snapshot: Snapshot,
    configuration: Configuration,
    *,
    search: Callable[[], Search] = Search,
    told: Callable[[int], None] = lambda _: None,
) -> Curve:
    """`search` is asked for each plan, as its time begins then; `told` hears each limit."""
    start = Desk(snapshot, configuration)
    chosen = None if start.limit == NO_LIMIT else start.limit
    now = overloaded(start, thresholds(start))
    before: dict[str, float] = {}
    points: list[Point] = []
    is_whole, memory = False, Memory()
    for limit in limits(chosen):
        told(limit)
        settled = replace(configuration, max_reschedule_pods=limit)
        desk = Desk(snapshot, settled, search=search(), memory=memory)
        planned = plan_at(desk)
        before = {each.resource: each.before for each in planned.imbalances}
        points.append(_point(desk, planned, limit))
        is_whole = desk.left > 0
        # Fewer moves than one limit allows may be more at the next one: some help only together.
        if is_whole and (chosen is None or limit >= chosen):
            break
    return Curve(
        now=Point(
            limit=0, moves=0, asked=0, by_strategy={}, imbalances=before, overloaded=len(now)
        ),
        points=tuple(points),
        chosen=chosen,
        in_flight=start.in_flight,
        is_whole=is_whole,
        word=start.loads.word,
    )


def limits(chosen: int | None) -> Iterator[int]:
    """1, 2, 5, 10, 20, ... and the one in force at its place."""
    most = max(MOST, chosen or 0)
    steady = (step * 10**power for power in range(len(str(most))) for step in _STEPS)
    yield from sorted({*(each for each in steady if each <= most), *([chosen] if chosen else [])})


def _point(desk: Desk, planned: Plan, limit: int) -> Point:
    return Point(
        limit=limit,
        moves=len(planned.moves),
        asked=sum(each.asked for each in planned.moves),
        by_strategy=dict(Counter(each.strategy for each in planned.moves)),
        imbalances={each.resource: each.after for each in planned.imbalances},
        overloaded=len(overloaded(desk, thresholds(desk))),
    )
