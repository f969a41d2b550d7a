"""Which records of finished migrations have been kept for long enough. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rescheduler.config import Retention
from rescheduler.migrate.admission import group_of
from rescheduler.migrate.deciding import records
from rescheduler.model.objects import Object


def outdated(found: Iterable[Object], limits: Retention, now: datetime) -> list[Object]:
    """The oldest beyond the number that is kept, and all that are older than that; but not before
    the whole group has ended: the others go by how it did, and without its record would give up.
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
        if (number >= kept or (now - ended_at).total_seconds() > limits.max_age_seconds)
        and not (group_of(record) and group_of(record) in under_way)
    ]
