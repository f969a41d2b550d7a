"""What the log says of one migration: a line per action, not one per look."""

import structlog

from rescheduler.migrate.deciding.actions import Action, End, GiveUp, Wait, describe
from rescheduler.migrate.deciding.crowds import Crowd
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model.podmigration import Phase, Reason


class Telling:
    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._said = ("", "")
        self.log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def of(self, intent: Intent) -> None:
        """From now on each line has what this migration is about."""
        self.log = self.log.bind(
            migration=intent.record,
            pod=intent.full_name,
            source=intent.source,
            target=intent.target,
            strategy=intent.strategy,
            reason=intent.reason,
        )

    def say(self, action: Action, status: MigrationStatus) -> None:
        detail: dict[str, object] = {}
        match action:
            case Wait(waiting):
                detail = {"because": waiting}
            case GiveUp(outcome):
                detail = {"cause": outcome.reason, "message": outcome.message}
            case End(outcome):
                detail = {
                    "moved": outcome.moved,
                    "outcome": outcome.reason,
                    "message": outcome.message,
                }
        said = (f"migration {describe(action)}", str(detail))
        if said == self._said:
            return
        self._said = said
        if isinstance(action, End) and not self._is_told(action, status):
            return
        alarm = isinstance(action, End) and action.outcome.reason is Reason.REPLACEMENT_NOT_READY
        (self.log.error if alarm else self.log.info)(said[0], step=action.step.value, **detail)

    def _is_told(self, end: End, status: MigrationStatus) -> bool:
        """Of those that end before anything was done for them, not each."""
        is_begun = end.outcome.moved or status.phase is not Phase.PENDING
        return is_begun or self._crowd.is_one_of_few(end.outcome.reason)
