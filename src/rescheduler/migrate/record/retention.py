"""Which records of finished migrations have been kept for long enough. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rescheduler.config import Retention
from rescheduler.migrate.deciding import records
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration.reasons import LEFT_SHORT


def outdated(found: Iterable[Object], limits: Retention, now: datetime) -> list[Object]:
    """The oldest beyond the number that is kept, and all that are older than that; but not before
    the whole group has ended: the others go by how it did, and without its record would give up.
    Nor does age forget who was not made anew by a controller that we do not know: every time that
    it did, another pod would be lost. Those that people asked for in vain go first: a flood of
    them must not wash away the trail of what was done.
    """
    # Of thousands, every minute: so no more of a record is read than this takes.
    finished: list[tuple[bool, datetime, Object]] = []
    under_way: set[str] = set()
    for record in found:
        if podmigration.is_over(record):
            ended_at = podmigration.ended_at(record) or now
            finished.append((not _was_in_vain(record), ended_at, record))
        else:
            under_way.add(podmigration.group_of(record))
    finished.sort(key=lambda each: (*each[:2], each[2]["metadata"]["name"]), reverse=True)
    kept = limits.max_count
    return [
        record
        for number, (_, ended_at, record) in enumerate(finished)
        if (number >= kept or _is_old(record, (now - ended_at).total_seconds(), limits))
        and not (podmigration.group_of(record) and podmigration.group_of(record) in under_way)
    ]


def _was_in_vain(record: Object) -> bool:
    return podmigration.is_asked(record) and not podmigration.has_done_something(record)


def _is_old(record: Object, age_seconds: float, limits: Retention) -> bool:
    if age_seconds <= limits.max_age_seconds:
        return False
    was_left = podmigration.reason_of(record) == LEFT_SHORT
    owner = records.read_status(record).owner if was_left else None
    return owner is None or not owner.is_foreign
