"""What speaks against the eviction of a pod, as long as it has not been asked for. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from rescheduler.migrate.deciding import records, selecting, serving, two_or_none
from rescheduler.migrate.deciding.facts import Intent, Owner, Progress, View
from rescheduler.migrate.deciding.recreate import resting, temporary_budgets
from rescheduler.model import controllers, podmigration
from rescheduler.model.objects import Object, is_active, labels, spec
from rescheduler.model.podmigration import Phase, Reason, reasons

_PART_OF_A_NODE: Final = ("DaemonSet", "Node")
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Objection:
    message: str
    before: Reason
    """If nothing has been begun yet."""
    midway: Reason


def first(
    intent: Intent, owner: Owner, view: View, original: Object, progress: Progress
) -> Objection | None:
    return next(_all(intent, owner, view, original, progress), None)


def _all(
    intent: Intent, owner: Owner, view: View, original: Object, progress: Progress
) -> Iterator[Objection]:
    if owner.kind in _PART_OF_A_NODE:
        message = f"there is no way to move pods of a {owner.kind}"
        yield Objection(message, Reason.NOT_MOVABLE, Reason.NOT_MOVABLE)
        return
    if view.workload is None and not owner.is_foreign:
        yield Objection(f"its {owner.kind} is gone", Reason.NOT_NOW, Reason.WORKLOAD_GONE)
        return
    yield from _of_the_pod(intent, view, original)
    if owner.is_foreign and (lesson := _what_became_of_others(intent, owner, view)):
        yield Objection(lesson, Reason.NOT_MOVABLE, Reason.NOT_MOVABLE)
    if progress.unready:
        yield from _if_it_is_missed(intent, view, original)
    else:
        yield from _of_the_workload(intent, view, progress)
    if lost := serving.why_target_is_lost(intent, view):
        yield Objection(lost, Reason.TARGET_LOST, Reason.TARGET_LOST)
    if progress.not_there:
        # The planner knows of much beside the target: budgets, quotas, what the pod itself says.
        yield Objection(progress.not_there, Reason.NOT_NOW, Reason.NOT_NOW)
    if not progress.unready and (other := _who_is_first(intent, owner, view)):
        message = f"{other} moves another pod of its workload"
        yield Objection(message, Reason.NOT_NOW, Reason.NOT_NOW)


def _if_it_is_missed(intent: Intent, view: View, original: Object) -> Iterator[Objection]:
    """Whatever its workload is about, it serves nobody: as long as that is so."""
    if two_or_none.is_missed(intent, original):
        message = "it is Ready by now, and would be missed"
        yield Objection(message, Reason.NOT_NOW, Reason.NOT_NOW)
    if ending := resting.why_ending(intent, view):
        yield Objection(ending, Reason.NOT_NOW, Reason.WORKLOAD_CHANGED)


def _of_the_workload(intent: Intent, view: View, progress: Progress) -> Iterator[Objection]:
    if changed := resting.why_changed(view):
        yield Objection(changed, Reason.NOT_NOW, Reason.WORKLOAD_CHANGED)
    stuck = resting.stuck(intent, view, progress.now)
    if mates_have_left(intent, view):
        return
    if unready := resting.why_unready(intent, view, stuck):
        yield Objection(unready, Reason.NOT_NOW, Reason.SIBLING_NOT_READY)


def _of_the_pod(intent: Intent, view: View, original: Object) -> Iterator[Objection]:
    uids = {pod["metadata"]["uid"] for pod in view.pods}
    if intent.uid not in uids or not is_active(original):
        message = "the pod ended, or was taken out of its workload"
        yield Objection(message, Reason.NOT_NOW, Reason.ORIGINAL_GONE)
    if (node := original["spec"].get("nodeName", "")) != intent.source:
        message = f"it is on {node or 'no node yet'}, not on {intent.source}"
        yield Objection(message, Reason.NOT_NOW, Reason.NOT_NOW)
    if view.job and (failure := resting.why_job_would_fail(view.job, original)):
        yield Objection(failure, Reason.NOT_MOVABLE, Reason.WORKLOAD_CHANGED)
    if view.workload and spec(view.workload)["template"]["spec"].get("nodeName"):
        message = "its template names a node, past the scheduler"
        yield Objection(message, Reason.NOT_MOVABLE, Reason.NOT_MOVABLE)
    others = temporary_budgets.of_others(intent, view)
    if len(found := selecting.matching(others, labels(original))) > 1:
        listed = ", ".join(sorted(found))
        message = f"several PodDisruptionBudgets select it, so nobody can evict it: {listed}"
        yield Objection(message, Reason.NOT_MOVABLE, Reason.SEVERAL_BUDGETS)


def _who_is_first(intent: Intent, owner: Owner, view: View) -> str:
    """The migration of another pod of this workload that began before ours, and is at it."""
    ours = next((each for each in view.records if _name(each) == intent.record), None)
    if ours is None:
        return ""
    for each in view.records:
        status = records.read_status(each)
        is_other = each is not ours and not (
            intent.group and podmigration.group_id(each) == intent.group
        )
        if not is_other or status.phase is not Phase.IN_PROGRESS or status.owner is None:
            continue
        if status.owner.uid == owner.uid and _order(each) < _order(ours):
            return _name(each)
    return ""


def _what_became_of_others(intent: Intent, owner: Owner, view: View) -> str:
    """Of a controller of which we know no more than its pods: what it did with one of them, it may
    do with the next.
    """
    there = {each["metadata"]["uid"]: _name(each) for each in view.pods if is_active(each)}
    for each in view.records:
        status = records.read_status(each)
        if (
            status.owner is None
            or status.owner.uid != owner.uid
            or not podmigration.has_failed(each)
        ):
            continue
        kind, name = owner.known_as, podmigration.pod_name(each)
        if status.reason == reasons.LEFT_SHORT and controllers.is_unreplaced(each, there):
            return f"nobody has made {name} of its {kind} anew, which was evicted"
        was_here = status.new_node == intent.source and status.new_uid in there
        if status.reason == Reason.BACK_ON_SOURCE and was_here:
            return f"its {kind} has put {status.new_pod} back on {intent.source}"
    return ""


def mates_have_left(intent: Intent, view: View) -> bool:
    """Whether others of the same group are being evicted by now: all were ready to leave then, and
    the pods that their workload lacks are those.
    """
    if not intent.group:
        return False
    mates = [each for each in view.records if podmigration.group_id(each) == intent.group]
    statuses = [records.read_status(each) for each in mates if _name(each) != intent.record]
    return any(each.step.has_evicted and each.phase is not Phase.FAILED for each in statuses)


def _order(record: Object) -> tuple[datetime, str]:
    return podmigration.started_at(record) or _LONG_AGO, _name(record)


def _name(raw: Object) -> str:
    return str(raw["metadata"]["name"])
