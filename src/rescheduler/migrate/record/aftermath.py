"""What follows once migrations have ended: records that were kept for long enough go, and some that
failed are asked for once more by ourselves. Pure.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rescheduler.config import STRATEGIES, Retention, Retry
from rescheduler.migrate.deciding import records
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, reasons, retries
from rescheduler.model.podmigration.reasons import LEFT_SHORT

# ---------------------------------------------------------------------- kept for long enough


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


# ---------------------------------------------------------------------- asked for once more

# What a strategy wanted, a strategy plans again, maybe elsewhere; this is about what a person asked
# for, who said where to.


def due(found: Iterable[Object], settings: Retry, now: datetime) -> list[Object]:
    """The last attempts for their pods that failed for long enough, and not too often. Who gave way
    to a user does not come back by itself.
    """
    of_pods: dict[str, list[Object]] = {}
    for record in sorted(found, key=podmigration.attempt_of):
        of_pods.setdefault(podmigration.pod_uid(record), []).append(record)
    return [attempts[-1] for attempts in of_pods.values() if _is_due(attempts, settings, now)]


def is_asked_in_vain(record: Object) -> bool:
    is_planned = podmigration.strategy_of(record) in STRATEGIES
    # Who evicts tries again himself, and asks anew by that.
    is_evicted = bool(podmigration.evicted_by(record))
    return not is_planned and not is_evicted and podmigration.has_failed(record)


def _gave_way(record: Object) -> bool:
    # Where no right copy can be made, there is another way for one that may be recreated.
    no_copy = podmigration.reason_of(record) in reasons.NO_COPY
    if no_copy and podmigration.may_recreate(record):
        return False
    return retries.gave_way(record)


def _is_due(attempts: Sequence[Object], settings: Retry, now: datetime) -> bool:
    last = attempts[-1]
    ended_at = podmigration.ended_at(last)
    if not is_asked_in_vain(last) or ended_at is None:
        return False
    if podmigration.group_id(last) or _gave_way(last):
        return False
    # What it asks for never changes, so neither does that.
    if podmigration.reason_of(last) == Reason.INVALID:
        return False
    failed = [each for each in attempts if podmigration.has_failed(each)]
    failures = retries.failures(failed, gives_way=_gave_way)
    rest = failures.rest_seconds(settings.back_off_seconds)
    is_rested = (now - ended_at).total_seconds() >= rest
    return failures.counted < settings.attempts and is_rested
