"""How loads change over a day, and what happens beside: named ones, and what others are made of."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What the day of some workloads looks like: low, but for some hours around a peak."""

    names: tuple[str, ...] = ()
    """`namespace/name` of them, with * for anything. None: it takes its share of all that no other
    pattern names.
    """
    share: float = 1.0
    """Of those that nobody names, beside the shares of other patterns."""
    peak_seconds: float = 12 * HOUR
    """Time of day."""
    high_seconds: float = 10 * HOUR
    """How long it is high."""
    low: float = 1.0
    high: float = 1.0
    """Times what the workload uses in the mean."""
    scatter_seconds: float = 1.5 * HOUR
    """By so much the peaks of its workloads lie apart, in either direction."""

    def is_named(self, workload: str) -> bool:
        return any(fnmatchcase(workload, each) for each in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """Some workloads use many times what they do otherwise, for a while."""

    at_seconds: float
    """Time of day."""
    for_seconds: float = HOUR
    factor: float = 3.0
    names: tuple[str, ...] = ()
    share: float = 0.1
    """Of all workloads, unless they are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A node is not to be had for a while."""

    at_seconds: float
    """Time of day."""
    for_seconds: float
    node: str = ""
    """Its name; empty: one of them, by luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    patterns: tuple[Pattern, ...] = (Pattern(),)
    surges: tuple[Surge, ...] = ()
    growth: float = 0.0
    """Of all loads in 24 hours: 0.5 is half as much again."""
    wander_seconds: float = 0.0
    """By so much the peaks of each day lie apart from where they are meant to be, in either
    direction, each workload's as luck decides: 12 h, and no day is like another.
    """
    rollouts: int = 0
    """In 24 hours, at times and of Deployments that luck decides."""
    scalings: int = 0
    """The same: up or down, and back some hours later."""
    maintenances: tuple[Outage, ...] = ()
    """Labelled so; what is still on the node an hour later is drained, as people do."""
    failures: tuple[Outage, ...] = ()
    """Its kubelet is not heard of any more."""
    drains: tuple[Outage, ...] = ()
    """Somebody empties it by evictions, as `kubectl drain` does, and announces it to nobody."""


_DAY: Final = Scenario(
    name="day",
    patterns=(
        Pattern(share=55, peak_seconds=13 * HOUR, high_seconds=10 * HOUR, low=0.35, high=1.6),
        Pattern(share=15, peak_seconds=20 * HOUR, high_seconds=5 * HOUR, low=0.6, high=1.9),
        Pattern(share=15, peak_seconds=3 * HOUR, high_seconds=5 * HOUR, low=0.5, high=2.2),
        Pattern(share=15),
    ),
    rollouts=12,
    scalings=12,
    maintenances=(Outage(at_seconds=10 * HOUR, for_seconds=3 * HOUR),),
    failures=(Outage(at_seconds=16 * HOUR, for_seconds=0.5 * HOUR),),
)

_UPGRADE: Final = tuple(
    Outage(at_seconds=hour * HOUR, for_seconds=0.5 * HOUR)
    for hour in (1, 4, 7, 9, 10, 10, 11, 13, 14, 14, 16, 20)
)
"""Twelve nodes, sometimes two at once."""

_COMMUTING: Final = Scenario(
    name="commuting",
    patterns=(
        Pattern(share=45, peak_seconds=13 * HOUR, high_seconds=10 * HOUR, low=0.3, high=1.7),
        Pattern(share=20, peak_seconds=20 * HOUR, high_seconds=6 * HOUR, low=0.5, high=1.9),
        Pattern(share=25, peak_seconds=3 * HOUR, high_seconds=6 * HOUR, low=0.5, high=2.0),
        Pattern(share=10),
    ),
)

BUILT_IN: Final = {
    each.name: each
    for each in (
        _DAY,
        replace(_DAY, name="steady", patterns=(Pattern(),)),
        replace(
            _DAY,
            name="spike",
            surges=(Surge(at_seconds=14 * HOUR, for_seconds=HOUR, factor=3.0, share=0.08),),
        ),
        replace(_DAY, name="growth", growth=0.6),
        replace(_DAY, name="drains", maintenances=(), failures=(), drains=_UPGRADE),
        _COMMUTING,
    )
}
"""Office hours, evenings and nights; the same all day; with some that triple at 14:00; one that
ends with more than half as much again as it began with; one on which nodes are drained; and one on
which nothing happens, but load comes and goes by more.
"""
