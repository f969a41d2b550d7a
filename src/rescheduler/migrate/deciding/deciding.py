"""The next action of a migration, whichever way the pod is moved. Pure."""

from dataclasses import replace

from rescheduler.migrate.deciding import choosing, groups, ways
from rescheduler.migrate.deciding.actions import Action, End, Rehearse
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model.podmigration import Reason


def decide(intent: Intent, view: View, progress: Progress) -> Action:
    if progress.way:
        action = ways.of(progress.way).next_action(intent, view, progress)
        return _forward(intent, view, action)
    # The way is written down before the first write: nothing has been done yet.
    if progress.giving_up:
        return End(progress.giving_up)
    if incomplete := groups.why_incomplete(intent, view):
        return End(Outcome(moved=False, reason=Reason.GROUP_FAILED, message=incomplete))
    chosen = choosing.choose(intent, view, progress)
    if isinstance(chosen, End):
        return chosen
    way = ways.of(chosen)
    noted = way.first_note(intent, view)
    action = way.next_action(intent, view, replace(progress, **noted))
    if isinstance(action, Rehearse):
        return action  # its answer decides which way it is
    return replace(action, note={"way": chosen, **noted, **action.note})


def _forward(intent: Intent, view: View, action: Action) -> Action:
    """What a watch has not told yet is no way back: the record would say that nobody has left."""
    recorded = groups.own_step(intent, view)
    is_back = recorded.is_after_eviction and action.step.is_before_the_end
    return replace(action, step=recorded) if is_back and not view.is_live else action
