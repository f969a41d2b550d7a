"""How decisions say that they end, give up, or wait. Pure."""

from collections.abc import Iterable

from rescheduler.migrate.deciding import timeouts
from rescheduler.migrate.deciding.actions import Action, End, GiveUp, Write
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model.podmigration import Reason

GO_ON = "it took too long, or the API server refused too often: the next run goes on from here"


def not_now(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_NOW, message=message))


def never(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_MOVABLE, message=message))


def not_finished() -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_FINISHED, message=GO_ON))


def in_time(action: Action, intent: Intent, view: View, progress: Progress) -> Action:
    """The action, unless it is a write that was due long ago: then the next run goes on."""
    pod = view.original or view.copy
    if not pod or not isinstance(action, Write):
        return action
    if progress.here_seconds <= timeouts.for_writes(pod, intent, view):
        return action
    return not_finished()


def give_up(reason: Reason, message: str) -> GiveUp:
    return GiveUp(Outcome(moved=False, reason=reason, message=message))


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
