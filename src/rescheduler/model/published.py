"""What a replica tells of itself: frozen, and replaced as a whole, so that any thread may read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

NOW: Final = "now"
PLANNED: Final = "planned"


class Role(StrEnum):
    STARTING = "starting"
    STANDING_BY = "standing by"
    """Another replica leads; this one looks at nothing, and is ready to follow."""
    LEADING = "leading"
    LOOKING = "looking"
    """A dry run: plans, and changes nothing."""
    STOPPING = "stopping"

    @property
    def observes(self) -> bool:
        return self in (Role.LEADING, Role.LOOKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """Of one kind of object."""

    is_needed: bool
    """Strategies rest while it cannot be seen."""
    is_blind: bool
    lag_seconds: float
    """Since something was heard of it: so old what we know of it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesUnderWay:
    in_progress: int = 0
    """Without those that are ending."""
    ending: int = 0
    """Their copies serve, and the originals are told to end."""
    waiting: int = 0
    allowed: int = 0
    breaker_seconds: float = 0.0
    """For which none begins, as too many failed in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPass:
    """What the last pass saw and planned."""

    ended_at: float
    """In Unix seconds."""
    nodes: int
    pods: int
    classes: int
    unreadable: int
    planned: int
    imbalance: Mapping[tuple[str, str], float]
    """By resource, and `NOW` or `PLANNED`: the most loaded node minus the least, as a ratio."""
    overloaded: Mapping[str, int]
    """Nodes above a threshold, `NOW` and `PLANNED`."""
    refused: Mapping[str, int]
    """Pods by `refusal_kinds.RefusalKind`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """ReschedulePlans, where this replica keeps them."""

    waiting: int = 0
    """For somebody to approve them."""
    failing: Mapping[str, bool] = field(default_factory=dict)
    """By strategy: its predictions fail again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What is known now."""

    role: Role = Role.STARTING
    is_synced: bool = False
    """All that is needed has been listed."""
    interval_seconds: float = 0.0
    """From one pass to the next."""
    watches: Mapping[str, WatchState] = field(default_factory=dict)
    """By resource; empty as long as nothing is observed."""
    moves: MovesUnderWay = MovesUnderWay()
    last_pass: LastPass | None = None
    plans: Plans = Plans()
    paused: bool = False
    """Somebody wants nothing to be begun."""
    configuration_error: str = ""
    """Why the configuration file was refused; the last good one is in force. Empty: it was not."""
