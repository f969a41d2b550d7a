"""What to do with the lease as it is seen. Pure: the same sights lead to the same decision.

The times in the lease are of other people's clocks, so they are compared for equality only. What
counts is how long, by our own clock, the lease has looked the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

_MICRO_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_RELEASED_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class Term:
    """A time of leading. Written into what a leader writes, it tells its successor whose it was."""

    holder: str
    number: int
    """Of the lease's transitions: that of a successor is higher, as long as anybody remembers the
    lease. Who deletes it while nobody stands by starts the numbers anew, so compare both fields.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a Lease says. Somebody may have edited it by hand, so anything may be missing."""

    holder: str = ""
    duration_seconds: int = 0
    transitions: int = 0
    acquired: str = ""
    renewed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a candidate has seen of the lease."""

    record: Record | None = None
    """The last one. It stays when the lease is deleted: its holder may not have noticed yet."""
    since: float = 0.0
    """When it was first seen like this, by our own clock."""
    highest: int = -1
    """Of all numbers seen, also if somebody set them back."""


@dataclass(frozen=True, slots=True)
class Take:
    """Nobody leads: write the lease with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class StandBy:
    """Somebody leads, or may lead still."""

    holder: str
    seconds: float
    """After which it may be followed, if nothing more is heard of it."""


def record_of(lease: Mapping[str, Any]) -> Record:
    spec = lease.get("spec") or {}
    return Record(
        holder=spec.get("holderIdentity") or "",
        duration_seconds=spec.get("leaseDurationSeconds") or 0,
        transitions=spec.get("leaseTransitions") or 0,
        acquired=spec.get("acquireTime") or "",
        renewed=spec.get("renewTime") or "",
    )


def notice(memory: Memory, record: Record | None, now: float) -> Memory:
    """The lease was seen like this just now; None: it was not there."""
    if record is None or record == memory.record:
        return memory
    highest = max(memory.highest, record.transitions)
    return Memory(record=record, since=now, highest=highest)


def decide(
    memory: Memory, identity: str, lease_duration_seconds: int, now: float
) -> Take | StandBy:
    record = memory.record
    if record is None:
        return Take(0)
    if record.holder == identity:
        # We have written it, and did not hear so. Nobody has led with this number.
        return Take(record.transitions)
    if record.holder:
        # Of two that were configured differently, the more patient one is right.
        duration = max(record.duration_seconds, lease_duration_seconds)
        left = memory.since + duration - now
        if left > 0:
            return StandBy(record.holder, left)
    return Take(memory.highest + 1)


def held(term: Term, lease_duration_seconds: int, acquired: datetime, now: datetime) -> Record:
    return Record(
        holder=term.holder,
        duration_seconds=lease_duration_seconds,
        transitions=term.number,
        acquired=_text(acquired),
        renewed=_text(now),
    )


def released(record: Record, now: datetime) -> Record:
    """As client-go leaves it, so that whoever sees it need not wait."""
    return replace(record, holder="", duration_seconds=_RELEASED_SECONDS, renewed=_text(now))


def spec_of(record: Record) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration_seconds,
        "leaseTransitions": record.transitions,
        "acquireTime": record.acquired,
        "renewTime": record.renewed,
    }


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(_MICRO_TIME)
