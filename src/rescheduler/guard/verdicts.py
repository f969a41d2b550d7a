"""An eviction that is asked about, and what is said to it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    namespace: str
    pod: str
    user: str
    """Who evicts, as the API server knows him."""
    uid: str = ""
    """The pod that is meant; empty: whichever has that name."""
    is_dry_run: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.pod}"


class Why(StrEnum):
    """In one word, for metrics."""

    # Not for us to say anything about.
    DRY_RUN = "dry_run"
    OURSELVES = "ourselves"
    NOT_SYNCED = "not_synced"
    """Nothing is known, or what is known is old."""
    GONE = "gone"
    """Not there, another one by now, or on its way out already."""
    NOT_MOVED = "not_moved"
    """By its kind or the configuration it is not moved by us."""
    OPTED_OUT = "opted_out"
    NOT_READY = "not_ready"
    """Nobody misses it."""
    PAUSED = "paused"
    TOO_MANY = "too_many"
    """More than can be remembered are held."""

    # Held.
    ASKED = "asked"
    """For a move, just now."""
    MOVING = "moving"
    AGAIN = "again"
    """The moment was wrong for its move, which is going to be asked for once more."""
    ENDING = "ending"
    """It has moved, and is about to end."""
    TURN = "turn"
    """It cannot be moved first, and another of its workload is away."""

    # Held no longer.
    AWAY = "away"
    """It was held, and is gone: it has moved, unless somebody deleted it."""
    MOVED = "moved"
    """It was held, and has moved; its successor has the same name elsewhere."""
    FAILED = "failed"
    """It could not be moved."""
    PATIENCE = "patience"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A move that is to be asked for."""

    namespace: str
    pod: str
    uid: str
    node: str
    user: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    why: Why
    words: str
    """For people."""
    uid: str = ""
    """Of the pod, where it is known."""
    held_seconds: float | None = None
    """For how long it was held; None: it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    why: Why
    words: str
    """What the evictor reads."""
    uid: str
    is_first: bool
    """It was not held before, as far as is remembered."""
    wanted: Wanted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Who is evicted is not there any more, though another has its name: as if none had."""

    why: Why
    words: str
    uid: str = ""
    held_seconds: float | None = None


Verdict = Pass | Hold | Absent
