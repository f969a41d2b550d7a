"""The last passes, as their records tell: those that a pass makes are made within seconds. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from rescheduler.model import podmigration

_TOGETHER: Final = timedelta(seconds=5)
"""Passes follow each other at ten seconds or more, but for early ones."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPass:
    at: datetime
    moves: int
    moved: int
    ended: int


def last_passes(records: Iterable[dict[str, Any]]) -> tuple[LastPass, ...]:
    """The newest first. What people asked for is of no pass, and a pass that moves nothing leaves
    no record.
    """
    planned = [each for each in records if not podmigration.is_asked(each)]
    found = sorted(
        ((at, each) for each in planned if (at := podmigration.created_at(each))),
        key=lambda each: each[0],
        reverse=True,
    )
    passes: list[list[tuple[datetime, dict[str, Any]]]] = []
    for at, record in found:
        if passes and passes[-1][-1][0] - at <= _TOGETHER:
            passes[-1].append((at, record))
        elif len(passes) == _SHOWN:
            break
        else:
            passes.append([(at, record)])
    return tuple(_of([record for _, record in each], each[-1][0]) for each in passes)


def _of(records: list[dict[str, Any]], at: datetime) -> LastPass:
    ended = [each for each in records if podmigration.is_over(each)]
    moved = sum(not podmigration.has_failed(each) for each in ended)
    return LastPass(at=at, moves=len(records), moved=moved, ended=len(ended))
