"""Which failed migrations are asked for once more by ourselves. Pure.

What a strategy wanted, a strategy plans again, maybe elsewhere; this is about what a person asked
for, who said where to.
"""

from collections.abc import Iterable
from datetime import datetime

from rescheduler.config import STRATEGIES, Retry
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, reasons, retries


def due(found: Iterable[Object], settings: Retry, now: datetime) -> list[Object]:
    """The last attempts for their pods that failed for long enough, and not too often. Who gave way
    to a user does not come back by itself.
    """
    latest: dict[str, Object] = {}
    for record in sorted(found, key=podmigration.attempt_of):
        latest[podmigration.pod_uid(record)] = record
    return [each for each in latest.values() if _is_due(each, settings, now)]


def is_asked_in_vain(record: Object) -> bool:
    is_planned = podmigration.strategy_of(record) in STRATEGIES
    return not is_planned and podmigration.has_failed(record)


def _gave_way(record: Object) -> bool:
    reason = podmigration.reason_of(record)
    # Where no right copy can be made, there is another way for one that may be interrupted.
    if reason in reasons.NO_COPY and podmigration.may_interrupt(record):
        return False
    return reason in reasons.GAVE_WAY


def _is_due(record: Object, settings: Retry, now: datetime) -> bool:
    ended_at, attempt = podmigration.ended_at(record), podmigration.attempt_of(record)
    if not is_asked_in_vain(record) or ended_at is None:
        return False
    if podmigration.group_id(record) or _gave_way(record):
        return False
    # What it asks for never changes, so neither does that.
    if podmigration.reason_of(record) == Reason.INVALID:
        return False
    pause = retries.back_off_seconds(settings.back_off_seconds, attempt - 1)
    return attempt < settings.attempts and (now - ended_at).total_seconds() >= pause
