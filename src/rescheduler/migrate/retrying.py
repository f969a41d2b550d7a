"""Which failed migrations are asked for once more by ourselves. Pure.

What a strategy wanted, a strategy plans again, maybe elsewhere; this is about what a person asked
for, who said where to.
"""

from collections.abc import Iterable
from datetime import datetime

from rescheduler.config import STRATEGIES, Retry
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.stages import Phase
from rescheduler.model import reasons
from rescheduler.model.objects import Object


def due(found: Iterable[Object], settings: Retry, now: datetime) -> list[Object]:
    """The last attempts for their pods that failed for long enough, and not too often. Who gave way
    to a user does not come back by itself.
    """
    latest: dict[str, Object] = {}
    for record in sorted(found, key=records.attempt_of):
        latest[record["spec"]["pod"]["uid"]] = record
    return [each for each in latest.values() if _is_due(each, settings, now)]


def is_asked_in_vain(record: Object) -> bool:
    is_planned = record["spec"].get("strategy") in STRATEGIES
    return not is_planned and records.phase_of(record) is Phase.FAILED


def _gave_way(record: Object, reason: str) -> bool:
    # Where no right copy can be made, there is another way for one that may be interrupted.
    if reason in reasons.NO_COPY and record["spec"].get("mayInterrupt"):
        return False
    return reason in reasons.GAVE_WAY


def _is_due(record: Object, settings: Retry, now: datetime) -> bool:
    standing, attempt = records.standing_of(record), records.attempt_of(record)
    if not is_asked_in_vain(record) or standing.ended_at is None:
        return False
    if record["spec"].get("group") or _gave_way(record, standing.reason):
        return False
    pause = settings.back_off_seconds * 2 ** (attempt - 1)
    return attempt < settings.attempts and (now - standing.ended_at).total_seconds() >= pause
