"""From the moment that the original ends: its workload makes a successor, and we see where it
lands. Pure.

There is no way back here. What is left to do is to wait, to write down on the successor where it
came from, and to take away what was temporary.
"""

from collections.abc import Mapping
from typing import Any

from rescheduler.migrate.deciding import marks
from rescheduler.migrate.deciding.actions import (
    Action,
    DeleteBudget,
    End,
    LabelRecord,
    Note,
    Outcome,
    PatchPod,
    Wait,
)
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.records import is_steering
from rescheduler.migrate.deciding.recreate import resting, temporary_budgets
from rescheduler.model import conditions, names
from rescheduler.model.objects import (
    Object,
    annotations,
    controller,
    is_active,
    is_terminating,
    spec,
)
from rescheduler.model.podmigration import Reason, Step


def next_action(intent: Intent, view: View, progress: Progress) -> Action:
    # First of all: a ReplicaSet does not wait for the original to be gone.
    if action := _steer_no_more(intent, view, progress):
        return action
    original, found = view.original, replacement(intent, view, progress)
    limits = intent.settings
    if original is not None and not _is_overdue(original, progress, limits.ready_timeout_seconds):
        return _wait("the original is terminating", Step.WAIT_GONE, intent, view, progress)
    if found is not None and (_suffices(found, progress) or marks.has_history(found, intent)):
        return _welcome(intent, view, progress, found)
    # Whether a controller that we do not know makes pods anew matters, however this one was.
    is_nobody_hurt = progress.unready and not (found is None and intent.is_of_foreign)
    late = Reason.TIMED_OUT if is_nobody_hurt else Reason.REPLACEMENT_NOT_READY
    if original is not None:
        # A finalizer or a dead node holds it: a StatefulSet makes no successor before it is gone.
        return _end(intent, view, late, "the original does not end")
    was_ready = not progress.unready
    if found is None and (why := resting.why_no_successor(intent, view, was_ready=was_ready)):
        reason = Reason.WORKLOAD_CHANGED if view.workload else Reason.WORKLOAD_GONE
        return _end(intent, view, reason, f"the pod was evicted; {why}")
    waiting = _why_not_there(found)
    if progress.replacement_seconds <= limits.ready_timeout_seconds:
        return _wait(waiting, Step.WAIT_REPLACEMENT, intent, view, progress)
    return _end(intent, view, late, f"the pod was evicted, and {waiting}")


def has_begun(view: View, progress: Progress) -> bool:
    """Whether the original goes, and that may be our doing. Even if we have given up since: an
    eviction whose answer was lost may have taken effect after that.
    """
    is_going = view.original is None or is_terminating(view.original)
    return is_going and (progress.evicted or bool(progress.siblings))


def replacement(intent: Intent, view: View, progress: Progress) -> Object | None:
    """The pod that its workload made in its place. The name alone tells nothing: a StatefulSet
    gives the same one again.
    """
    if not has_begun(view, progress):
        return None
    found = [
        pod
        for pod in _new(intent, view, progress)
        if _counts(pod, view) and _takes_its_place(pod, intent, view, progress)
    ]
    # Should others of the workload have been made anew meanwhile, its namesake, or the one that we
    # steered.
    found.sort(
        key=lambda pod: (
            _name(pod) != intent.pod,
            _node(pod) != intent.target,
            _made_at(pod),
            _name(pod),
        )
    )
    return found[0] if found else None


def clean_up(intent: Intent, view: View, step: Step) -> Action | None:
    """Takes away what is temporary; None: nothing of it is there."""
    budget = temporary_budgets.find(intent, view)
    if budget is not None and not is_terminating(budget):
        return DeleteBudget(budget, step=step)
    record = own_record(intent, view)
    if record is not None and is_steering(record):
        return LabelRecord({names.STEERING: None}, step=step)
    return None


def own_record(intent: Intent, view: View) -> Object | None:
    return next((each for each in view.records if _name(each) == intent.record), None)


# ---------------------------------------------------------------------- the successor


def _counts(pod: Object, view: View) -> bool:
    return is_active(pod) or bool(view.job and _phase(pod) == "Succeeded")


def _made_by_it(intent: Intent, view: View) -> list[Object]:
    """By whoever controls it now, if its name is the same: an operator may have made that anew."""
    if not intent.is_of_foreign:
        return list(view.pods)
    known = {pod["metadata"]["uid"] for pod in view.pods}
    namesakes = [
        pod
        for pod in view.neighbours
        if _name(pod) == intent.pod and controller(pod) and pod["metadata"]["uid"] not in known
    ]
    return [*view.pods, *namesakes]


def _takes_its_place(pod: Object, intent: Intent, view: View, progress: Progress) -> bool:
    if intent.is_of_foreign:
        # Another name may be that of another pod, which its controller has made anew by itself.
        are_as_many = sum(map(is_active, view.pods)) >= len(progress.siblings)
        return _name(pod) == intent.pod or are_as_many
    if view.stateful_set:
        return _name(pod) == intent.pod
    if view.job and spec(view.job).get("completionMode") == "Indexed":
        return _name(pod).rpartition("-")[0] == intent.pod.rpartition("-")[0]
    return True


def _steer_no_more(intent: Intent, view: View, progress: Progress) -> Action | None:
    """Where a successor ended on the target: a kubelet may refuse what the scheduler finds room
    for, and the workload makes the next one at once, which would be sent there, too.
    """
    record = own_record(intent, view)
    if record is None or not is_steering(record):
        return None
    if not any(
        _phase(pod) == "Failed" and _node(pod) == intent.target
        for pod in _new(intent, view, progress)
    ):
        return None
    return LabelRecord({names.STEERING: None}, step=Step.WAIT_REPLACEMENT)


def _new(intent: Intent, view: View, progress: Progress) -> list[Object]:
    """What its workload has made since."""
    before = progress.siblings | {intent.uid}
    return [pod for pod in _made_by_it(intent, view) if pod["metadata"]["uid"] not in before]


def _serves(pod: Object) -> bool:
    return conditions.holds(pod, "Ready") or _phase(pod) == "Succeeded"


def _suffices(pod: Object, progress: Progress) -> bool:
    """Whether it is as far as the original was."""
    return _serves(pod) or (progress.unready and bool(_node(pod)))


def _why_not_there(found: Object | None) -> str:
    if found is None:
        return "its workload has made no successor yet"
    scheduled = conditions.find(found, "PodScheduled")
    if scheduled and scheduled["status"] == "False":
        return f"its successor is not scheduled: {scheduled.get('message', '')}"
    return f"its successor {_name(found)} is not Ready"


def _welcome(intent: Intent, view: View, progress: Progress, found: Object) -> Action:
    node, name = _node(found), _name(found)
    if node == intent.source:
        return _end(intent, view, Reason.BACK_ON_SOURCE, f"its successor {name} is on {node} again")
    if not marks.has_history(found, intent) and not _may_not_write(intent, progress):
        change = _history(intent, view, progress, found)
        what = "marks the successor as moved"
        return PatchPod(what, found, change, step=Step.WAIT_REPLACEMENT)
    reason = Reason.COMPLETED if node == intent.target else Reason.LANDED_ELSEWHERE
    lingers = "; the original lingers" if view.original else ""
    is_elsewhere = node != intent.target
    unsteered = f"; not steered: {progress.fallback}" if progress.fallback and is_elsewhere else ""
    message = f"runs as {name} on {node}{lingers}{unsteered}"
    note = {} if is_elsewhere else _steered_by_the_scheduler(progress)
    return _end(intent, view, reason, message, moved=True, note=note)


def _steered_by_the_scheduler(progress: Progress) -> Note:
    """On the target it is, without the API server: a scheduler that asks us steers, too. It looks
    at some nodes only, so one that came to another was not steered by it, either.
    """
    is_alone = progress.fallback == Reason.NOT_STEERED.value
    return {"fallback": ""} if is_alone and progress.extender_steers else {}


def _history(intent: Intent, view: View, progress: Progress, found: Object) -> Mapping[str, Any]:
    history = marks.history(intent, progress.now)
    target = view.target if _node(found) == intent.target else None
    lease = marks.lease(intent, target, annotations(found))
    return {**history, "annotations": {**history["annotations"], **lease}}


def _may_not_write(intent: Intent, progress: Progress) -> bool:
    """A right that was taken away must not keep the migration open for ever."""
    refused = progress.giving_up is not None and progress.giving_up.reason is Reason.REFUSED
    return refused or progress.replacement_seconds > 2 * intent.settings.ready_timeout_seconds


# ---------------------------------------------------------------------- waiting and ending


def _wait(waiting: str, step: Step, intent: Intent, view: View, progress: Progress) -> Action:
    """What is temporary does not stay for ever, however long the pods take."""
    patience = intent.settings.clean_up_timeout_seconds
    if view.original is None:
        is_late = progress.replacement_seconds > patience
    else:
        is_late = _is_overdue(view.original, progress, patience)
    action = clean_up(intent, view, step) if is_late else None
    return action or Wait(waiting, step=step)


def _end(
    intent: Intent,
    view: View,
    reason: Reason,
    message: str,
    *,
    moved: bool = False,
    note: Note | None = None,
) -> Action:
    outcome = Outcome(moved=moved, reason=reason, message=message)
    noted = {"budget": "", **(note or {})}
    return clean_up(intent, view, Step.CLEAN_UP) or End(outcome, note=noted)


def _is_overdue(terminating: Object, progress: Progress, seconds: float) -> bool:
    """Beyond its grace period. Its time stamp is by the clock of the API server, and ours may show
    another time.
    """
    grace: int = terminating["metadata"].get("deletionGracePeriodSeconds") or 0
    return progress.ending_seconds > grace + seconds


def _name(raw: Object) -> str:
    return str(raw["metadata"]["name"])


def _node(pod: Object) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _made_at(pod: Object) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))
