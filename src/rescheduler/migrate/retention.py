"""Which records of finished migrations have been kept for long enough. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rescheduler.config import Retention
from rescheduler.migrate.admission import group_of
from rescheduler.migrate.deciding import records
from rescheduler.model.objects import Object
from rescheduler.model.reasons import LEFT_SHORT


def outdated(found: Iterable[Object], limits: Retention, now: datetime) -> list[Object]:
    """The oldest beyond the number that is kept, and all that are older than that; but not before
    the whole group has ended: the others go by how it did, and without its record would give up.
    Nor does age forget who was not made anew by a controller that we do not know: every time that
    it did, another pod would be lost.
    """
    # Of thousands, every minute: so no more of a record is read than this takes.
    finished: list[tuple[datetime, Object]] = []
    under_way: set[str] = set()
    for record in found:
        if records.phase_of(record).is_over:
            finished.append((records.ended_at(record) or now, record))
        else:
            under_way.add(group_of(record))
    finished.sort(key=lambda each: (each[0], each[1]["metadata"]["name"]), reverse=True)
    kept = limits.max_count
    return [
        record
        for number, (ended_at, record) in enumerate(finished)
        if (number >= kept or _is_old(record, (now - ended_at).total_seconds(), limits))
        and not (group_of(record) and group_of(record) in under_way)
    ]


def _is_old(record: Object, age_seconds: float, limits: Retention) -> bool:
    if age_seconds <= limits.max_age_seconds:
        return False
    status = record.get("status") or {}
    owner = records.standing_of(record).owner if status.get("reason") == LEFT_SHORT else None
    return owner is None or not owner.is_foreign
