"""Which failed migrations are asked for once more by ourselves. Pure.

What a strategy wanted, a strategy plans again, maybe elsewhere; this is about what a person asked
for, who said where to.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rescheduler.config import STRATEGIES, Retry
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, reasons, retries


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
