"""How decisions say that they end, give up, or wait. Pure."""

from collections.abc import Iterable

from rescheduler.migrate.deciding.actions import End, GiveUp
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model.podmigration import Reason

GO_ON = "it took too long, or the API server refused too often: the next run goes on from here"


def not_now(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_NOW, message=message))


def never(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_MOVABLE, message=message))


def not_finished() -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_FINISHED, message=GO_ON))


def give_up(reason: Reason, message: str) -> GiveUp:
    return GiveUp(Outcome(moved=False, reason=reason, message=message))


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
