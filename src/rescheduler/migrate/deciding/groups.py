"""Migrations that complete together or not at all: where their members wait for each other. Pure.

All copies are Ready before the first original leaves, else all copies are removed.
"""

from typing import Final

from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.actions import GiveUp, Wait
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model import podmigration
from rescheduler.model.podmigration import Phase, Reason, Step

_LOOK_AGAIN_SECONDS: Final = 1.0


def why_wait(intent: Intent, view: View, progress: Progress) -> Wait | GiveUp | None:
    """Asked where a member would do what cannot be taken back; None: it may."""
    if not intent.group:
        return None
    others = _others(intent, view)
    if any(_has_handed_over(each) for each in others.values()):
        return None  # all were ready then, and one that has left cannot come back
    if failed := _why_not_together(others):
        return failed
    missing = intent.group_size - 1 - len(others)
    if missing > 0:
        waiting = f"{missing} of the {intent.group_size} of its group have not been asked for"
        is_late = progress.here_seconds > intent.settings.ready_timeout_seconds
    elif behind := [name for name, each in others.items() if not each.step.is_ready_to_go]:
        waiting = f"not ready in its group: {', '.join(sorted(behind))}"
        is_late = progress.here_seconds > 2 * intent.settings.ready_timeout_seconds
    else:
        return None
    if is_late:
        return GiveUp.because(Reason.GROUP_FAILED, waiting)
    return Wait(waiting, step=Step.WAIT_GROUP)


def wait_for_leaving(intent: Intent, view: View, step: Step) -> Wait | GiveUp | None:
    """Asked when the original has finished what it has, and nothing was done yet that cannot be
    taken back: another of the group may still be at that, and its copy may fail meanwhile. None:
    nobody is.
    """
    if not intent.group:
        return None
    others = _others(intent, view)
    if any(_has_gone(each) for each in others.values()):
        return None
    if failed := _why_not_together(others):
        return failed
    behind = [name for name, each in others.items() if _is_behind(each.step)]
    if not behind:
        return None
    waiting = f"not ready to go, or finishing what they have: {', '.join(sorted(behind))}"
    return Wait(waiting, step=step, seconds=_LOOK_AGAIN_SECONDS)


def has_begun(intent: Intent, view: View) -> bool:
    """Whether another of its group hands over, or has."""
    return bool(intent.group) and any(map(_has_handed_over, _others(intent, view).values()))


def why_incomplete(intent: Intent, view: View) -> str:
    """Why a member need not even begin: one is missing that nobody will ask for, or has failed."""
    if not intent.group:
        return ""
    others = _others(intent, view)
    for name, each in others.items():
        if each.phase is Phase.FAILED:
            return f"{name} of its group does not move: {each.message or each.reason}"
    missing = intent.group_size - 1 - len(others)
    if missing > 0:
        return f"{missing} of the {intent.group_size} of its group have not been asked for"
    return ""


def _others(intent: Intent, view: View) -> dict[str, MigrationStatus]:
    return {
        record["metadata"]["name"]: records.read_status(record)
        for record in view.records
        if podmigration.group_id(record) == intent.group
        and podmigration.pod_uid(record) != intent.uid
        and podmigration.step_of(record) is not None
    }


def own_step(intent: Intent, view: View) -> Step:
    """As recorded."""
    own = (each for each in view.records if each["metadata"]["name"] == intent.record)
    return next((records.read_status(each).step for each in own), Step.CHECK)


def _why_not_together(others: dict[str, MigrationStatus]) -> GiveUp | None:
    for name, each in others.items():
        if each.phase is Phase.FAILED or each.step is Step.TAKE_BACK:
            message = f"{name} of its group does not move: {each.message or each.reason}"
            return GiveUp.because(Reason.GROUP_FAILED, message)
    return None


def _is_behind(step: Step) -> bool:
    return step.is_before_the_end and step is not Step.WAIT_GROUP


def _has_gone(member: MigrationStatus) -> bool:
    return member.phase is not Phase.FAILED and member.step.has_evicted


def _has_handed_over(member: MigrationStatus) -> bool:
    return member.phase is not Phase.FAILED and member.step.has_handed_over
