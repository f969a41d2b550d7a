"""Counts how migrations go, by what is written into their records."""

from dataclasses import dataclass
from typing import Final

from rescheduler.clock import Clock
from rescheduler.migrate import Outcome
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.serve import Recorder

_MOST: Final = 10_000
"""That are followed: of one that was deleted while it rested nobody hears an end."""


@dataclass(slots=True)
class _Seen:
    began: float
    step: str
    step_began: float


class MoveCounts:
    def __init__(self, clock: Clock, record: Recorder) -> None:
        self._clock = clock
        self._record = record
        self._seen: dict[str, _Seen] = {}
        """By the UID of the record."""

    def wrote(self, record: Object) -> None:
        if podmigration.is_over(record):
            return  # it is told by its outcome
        now, step = self._clock.monotonic(), podmigration.step_name(record)
        seen = self._seen.get(record["metadata"]["uid"])
        if seen is None:
            self._begin(record, now)
        elif step != seen.step:
            self._record.stepped(seen.step, now - seen.step_began)
            seen.step, seen.step_began = step, now

    def _begin(self, record: Object, now: float) -> None:
        if len(self._seen) >= _MOST:
            self._seen.pop(next(iter(self._seen)))
        began, step = self._begun_at(record, now), podmigration.step_name(record)
        self._seen[record["metadata"]["uid"]] = _Seen(began, step, now)
        if podmigration.attempt_of(record) > 1:
            self._record.tried_again()

    def _begun_at(self, record: Object, now: float) -> float:
        """Perhaps by an earlier process."""
        started = podmigration.started_at(record)
        if started is None:
            return now
        return now - max(0.0, (self._clock.now() - started).total_seconds())

    def ended(self, record: Object, outcome: Outcome) -> None:
        now = self._clock.monotonic()
        seen = self._seen.pop(record["metadata"]["uid"], None)
        if seen is not None:
            self._record.stepped(seen.step, now - seen.step_began)
        way = podmigration.way_of(record)
        self._record.moved(
            podmigration.strategy_of(record),
            way.value if way else "",
            outcome.reason,
            now - (seen.began if seen else now),
        )
        if fallback := podmigration.fallback_of(record):
            self._record.fell_back(fallback)
