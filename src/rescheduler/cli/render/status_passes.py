"""The last passes, as their records tell: each names the pass that decided it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rescheduler.model import podmigration

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPass:
    at: datetime
    """When it began."""
    moves: int
    """That have a record: of a plan in waves, the later ones have none yet."""
    moved: int
    ended: int


def last_passes(records: Iterable[dict[str, Any]]) -> tuple[LastPass, ...]:
    """The newest first. What people asked for is of no pass, and a pass that moves nothing leaves
    no record.
    """
    passes: dict[datetime, list[dict[str, Any]]] = {}
    for each in records:
        if (at := _pass_of(each)) is not None:
            passes.setdefault(at, []).append(each)
    return tuple(_of(passes[at], at) for at in sorted(passes, reverse=True)[:_SHOWN])


def _pass_of(record: dict[str, Any]) -> datetime | None:
    if podmigration.is_forced(record):
        return None  # of one that `drain` made for its node
    try:
        at = podmigration.time_of(podmigration.pass_of(record))
    except ValueError:
        return None  # by hand
    return at if at is not None and at.tzinfo is not None else None


def _of(records: list[dict[str, Any]], at: datetime) -> LastPass:
    ended = [each for each in records if podmigration.is_over(each)]
    moved = sum(not podmigration.has_failed(each) for each in ended)
    return LastPass(at=at, moves=len(records), moved=moved, ended=len(ended))
