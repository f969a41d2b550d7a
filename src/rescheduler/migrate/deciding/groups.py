"""Migrations that complete together or not at all: where their members wait for each other. Pure.

All copies are Ready before the first original leaves, else all copies are removed.
"""

from typing import Final

from rescheduler.migrate.deciding import records, verdicts
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Reason
from rescheduler.migrate.deciding.records import Standing
from rescheduler.migrate.deciding.stages import Phase, Stage
from rescheduler.migrate.deciding.steps import GiveUp, Wait
from rescheduler.model.objects import Object

_PAST: Final = frozenset(
    {
        Stage.HAND_OVER,
        Stage.EVICT,
        Stage.WAIT_GONE,
        Stage.WAIT_REPLACEMENT,
        Stage.CLEAN_UP,
        Stage.DONE,
    }
)


def why_wait(intent: Intent, view: View, progress: Progress) -> Wait | GiveUp | None:
    """Asked where a member would do what cannot be taken back; None: it may."""
    if not intent.group:
        return None
    others = _others(intent, view)
    if any(_has_handed_over(each) for each in others.values()):
        return None  # all were ready then, and one that has left cannot come back
    for name, each in others.items():
        if each.phase is Phase.FAILED or each.stage is Stage.TAKE_BACK:
            message = f"{name} of its group does not move: {each.message or each.reason}"
            return verdicts.give_up(Reason.GROUP_FAILED, message)
    missing = intent.group_size - 1 - len(others)
    if missing > 0:
        waiting = f"{missing} of the {intent.group_size} of its group have not been asked for"
        is_late = progress.here_seconds > intent.settings.ready_timeout_seconds
    elif behind := [name for name, each in others.items() if each.stage is not Stage.WAIT_GROUP]:
        waiting = f"not ready in its group: {verdicts.listed(behind)}"
        is_late = progress.here_seconds > 2 * intent.settings.ready_timeout_seconds
    else:
        return None
    if is_late:
        return verdicts.give_up(Reason.GROUP_FAILED, waiting)
    return Wait(waiting, stage=Stage.WAIT_GROUP)


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


def _others(intent: Intent, view: View) -> dict[str, Standing]:
    return {
        record["metadata"]["name"]: records.standing_of(record)
        for record in view.records
        if _is_of(record, intent) and record["spec"]["pod"]["uid"] != intent.uid
    }


def own_stage(intent: Intent, view: View) -> Stage:
    """As recorded."""
    own = (each for each in view.records if each["metadata"]["name"] == intent.record)
    return next((records.standing_of(each).stage for each in own), Stage.CHECK)


def _is_of(record: Object, intent: Intent) -> bool:
    return bool((record["spec"].get("group") or {}).get("id") == intent.group)


def _has_handed_over(member: Standing) -> bool:
    return member.phase is not Phase.FAILED and member.stage in _PAST
