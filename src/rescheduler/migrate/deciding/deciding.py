"""The next step of a migration, whichever way the pod is moved. Pure."""

from dataclasses import replace
from typing import Any, Final

from rescheduler.migrate.deciding import (
    choosing,
    groups,
    rehearsing,
    standalone,
    steering,
    surge,
)
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.stages import Method, Stage
from rescheduler.migrate.deciding.steps import End, Rehearse, Step

_PAST: Final = (Stage.EVICT, Stage.WAIT_GONE, Stage.WAIT_REPLACEMENT, Stage.CLEAN_UP)
_BEFORE: Final = (Stage.CHECK, Stage.MARK, Stage.CREATE, Stage.WAIT_READY, Stage.WAIT_GROUP)


def decide(intent: Intent, view: View, progress: Progress) -> Step:
    if progress.method:
        return _forward(intent, view, _by(progress.method, intent, view, progress))
    # The method is written down before the first write: nothing has been done yet.
    if progress.giving_up:
        return End(progress.giving_up)
    if incomplete := groups.why_incomplete(intent, view):
        return End(Outcome(moved=False, reason=Reason.GROUP_FAILED, message=incomplete))
    chosen = _choose(intent, view, progress)
    if isinstance(chosen, End):
        return chosen
    note: dict[str, Any] = {"method": chosen}
    original = view.original
    if chosen is Method.STEER and original and not choosing.is_missed(intent, original):
        note["unready"] = True
        progress = replace(progress, unready=True)
    step = _by(chosen, intent, view, progress)
    if isinstance(step, Rehearse):
        return step  # its answer decides which way it is
    return replace(step, note={**note, **step.note})


def _choose(intent: Intent, view: View, progress: Progress) -> Method | End:
    chosen = choosing.choose(intent, view)
    if chosen is not Method.SURGE or view.original is None or view.replica_set is None:
        return chosen
    known = rehearsing.of(progress, view.replica_set)
    if known is None or known.refusal is None:
        return chosen
    return choosing.without_a_copy(intent, view.original, known.refusal)


def _by(method: Method, intent: Intent, view: View, progress: Progress) -> Step:
    match method:
        case Method.SURGE:
            return surge.next_step(intent, view, progress)
        case Method.COPY:
            return standalone.next_step(intent, view, progress)
        case Method.STEER:
            return steering.next_step(intent, view, progress)


def _forward(intent: Intent, view: View, step: Step) -> Step:
    """What a watch has not told yet is no way back: the record would say that nobody has left."""
    recorded = groups.own_stage(intent, view)
    if view.is_live or recorded not in _PAST or step.stage not in _BEFORE:
        return step
    return replace(step, stage=recorded)
