"""How one pod is recreated elsewhere, decided purely: what the cluster shows -> the next action.

For pods that must not overlap with their successors. The order:

    ask for the eviction (dry run) -> mark the original -> guard a workload that has no budget ->
    have the API server steer what the workload makes -> evict -> the workload makes a successor,
    and that lands on the target, or elsewhere -> take away what was temporary

What of ours is there, the cluster alone tells: the mark on the original, the budget, the label on
the record. So a process that dies anywhere is followed by one that looks and goes on. Until the
eviction is accepted, undoing is taking these three away; after it there is no way back, and
`replacing` sees to the rest.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from rescheduler.config.migration import NO_FALLBACK
from rescheduler.migrate.deciding import groups, marks, timeouts
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateBudget,
    DeleteBudget,
    End,
    Evict,
    GiveUp,
    LabelRecord,
    Outcome,
    Probe,
    Wait,
)
from rescheduler.migrate.deciding.facts import Intent, Owner, Progress, View
from rescheduler.migrate.deciding.records import is_steering
from rescheduler.migrate.deciding.recreate import objections, probing, replacing, temporary_budgets
from rescheduler.model import names
from rescheduler.model.objects import Object, is_active, is_terminating
from rescheduler.model.podmigration import Reason, Step


def next_action(intent: Intent, view: View, progress: Progress) -> Action:
    is_past = replacing.has_begun(view, progress)
    # Before anything else: with two budgets nobody can evict what they select.
    if action := _give_way_to_other_budgets(intent, view, progress, is_past=is_past):
        return action
    if is_past:
        return replacing.next_action(intent, view, progress)
    if progress.giving_up:
        return _take_back(intent, view, progress.giving_up)
    return _prepare(intent, view, progress)


def _give_way_to_other_budgets(
    intent: Intent, view: View, progress: Progress, *, is_past: bool
) -> Action | None:
    ours = temporary_budgets.find(intent, view)
    if ours is None or is_terminating(ours) or not temporary_budgets.rivals(intent, view):
        return None
    if is_past:
        return DeleteBudget(ours, step=Step.CLEAN_UP)
    return DeleteBudget(ours, step=Step.TAKE_BACK if progress.giving_up else Step.PROTECT)


# ---------------------------------------------------------------------- until the eviction


def _prepare(intent: Intent, view: View, progress: Progress) -> Action:
    original, owner = view.original, intent.owner
    if owner is None:
        return _stop(intent, view, progress, Reason.NOT_MOVABLE, "nobody would make it anew")
    if original is None or is_terminating(original):
        return _stop(
            intent, view, progress, Reason.ORIGINAL_GONE, "the pod was deleted by someone else"
        )
    if found := objections.first(intent, owner, view, original, progress):
        reason = found.midway if _has_begun(intent, view, progress) else found.before
        return _stop(intent, view, progress, reason, found.message)
    if progress.here_seconds > _time_to_evict(intent, view):
        message = "it took too long until the pod could be evicted"
        return _stop(intent, view, progress, Reason.TIMED_OUT, message)
    if not marks.has_begun(original, intent.id):
        return _ask_and_mark(intent, view, original, progress)
    return (
        _protect(intent, view, progress)
        or _steer(intent, owner, view, original, progress)
        or _evict(intent, view, original, progress)
    )


def _ask_and_mark(intent: Intent, view: View, original: Object, progress: Progress) -> Action:
    """The API server's verdict comes first: a pod that may not be evicted is not touched."""
    if progress.budget_allows:
        return marks.begin(original, intent.id, progress.now)
    if progress.budget_refused_seconds > intent.settings.budget_timeout_seconds:
        return _stop(intent, view, progress, Reason.BUDGET_REFUSED, _REFUSED)
    what = "asks whether the original may be evicted"
    grace = timeouts.grace(original, intent.settings)
    return Evict(what, original, grace, dry_run=True, step=Step.CHECK)


def _protect(intent: Intent, view: View, progress: Progress) -> Action | None:
    record = replacing.own_record(intent, view)
    if (record and is_steering(record)) or progress.fallback or progress.siblings:
        return None  # that was before
    if progress.unready:
        return None  # its workload has as many as before without it
    ours = temporary_budgets.find(intent, view)
    if ours is None:
        body = temporary_budgets.build(intent, view)
        return CreateBudget(body, note={"budget": body["metadata"]["name"]}) if body else None
    waiting = temporary_budgets.why_not_in_force(ours)
    if not waiting:
        return None
    if progress.here_seconds <= _time_to_protect(intent):
        return Wait(waiting, step=Step.PROTECT)
    return GiveUp.because(Reason.BUDGET_REFUSED, waiting)


def _steer(
    intent: Intent, owner: Owner, view: View, original: Object, progress: Progress
) -> Action | None:
    record = replacing.own_record(intent, view)
    if progress.fallback == _STEERING_REFUSED:
        return _see_to_a_successor(intent, owner, view, original, progress)
    if not intent.settings.coordination or progress.fallback:
        return None
    if record is None or not is_steering(record):
        return LabelRecord({names.STEERING: "true"})
    if progress.steered:
        return None
    if not _is_steering_late(intent, progress):
        return _probe(intent, owner, view, original)
    if intent.settings.fallback == NO_FALLBACK:
        message = (
            "the API server does not steer: is the admission policy rescheduler-steering installed?"
        )
        return GiveUp.because(Reason.NOT_STEERED, message)
    if progress.steering_refused:
        # A policy of the user's would refuse the successor, too, for as long as it is steered.
        return LabelRecord({names.STEERING: None}, note={"fallback": _STEERING_REFUSED})
    return None


def _see_to_a_successor(
    intent: Intent, owner: Owner, view: View, original: Object, progress: Progress
) -> Action | None:
    """Where a steered pod was refused: whether one that is not steered would be made at all. The
    admission policy hears of that a moment later.
    """
    record = replacing.own_record(intent, view)
    if record and is_steering(record):
        return LabelRecord({names.STEERING: None})  # whoever wrote that down died before it
    if progress.steered is not None and not progress.steering_refused:
        return None
    if progress.steered is None or progress.steering_seconds < _time_to_stop_steering(intent):
        return _probe(intent, owner, view, original)
    message = f"it might not be made anew, for such a pod is refused: {progress.steering_refused}"
    return GiveUp.because(Reason.NOT_MOVABLE, message)


def _probe(intent: Intent, owner: Owner, view: View, original: Object) -> Probe:
    if view.workload:
        body = probing.body(intent, owner, view.workload)
    else:
        body = probing.body_like(intent, owner, original)
    return Probe(body, partial(probing.is_steered, intent=intent))


def _is_steering_late(intent: Intent, progress: Progress) -> bool:
    asked = progress.steered is False
    return asked and progress.steering_seconds >= intent.settings.steer_timeout_seconds


def _evict(intent: Intent, view: View, original: Object, progress: Progress) -> Action:
    note: dict[str, Any] = {}
    if not progress.fallback and _is_steering_late(intent, progress):
        note["fallback"] = Reason.NOT_STEERED.value
    waiting = groups.why_wait(intent, view, progress)
    waiting = waiting or groups.wait_for_leaving(intent, view, Step.WAIT_GROUP)
    if waiting:
        return replace(waiting, note={**waiting.note, **note})
    is_refused = progress.budget_refused_seconds > intent.settings.budget_timeout_seconds
    # Once others of its group have left, it follows when their successors are Ready.
    if is_refused and not objections.mates_have_left(intent, view):
        return GiveUp.because(Reason.BUDGET_REFUSED, _REFUSED)
    # By these the successor is known later.
    counted = filter(is_active, view.pods) if intent.is_of_foreign else view.pods
    note["siblings"] = tuple(sorted(pod["metadata"]["uid"] for pod in counted))
    grace = timeouts.grace(original, intent.settings)
    return Evict("evicts the original", original, grace, note=note)


# ---------------------------------------------------------------------- the way back


def _stop(intent: Intent, view: View, progress: Progress, reason: Reason, message: str) -> Action:
    if _has_begun(intent, view, progress):
        return GiveUp.because(reason, message)
    return End.because(reason, message)


def _has_begun(intent: Intent, view: View, progress: Progress) -> bool:
    record = replacing.own_record(intent, view)
    return bool(
        (view.original and marks.has_begun(view.original, intent.id))
        or temporary_budgets.find(intent, view)
        or (record and is_steering(record))
        or progress.siblings
    )


def _take_back(intent: Intent, view: View, outcome: Outcome) -> Action:
    if action := replacing.clean_up(intent, view, Step.TAKE_BACK):
        return action
    original = view.original
    if original and not is_terminating(original) and marks.has_begun(original, intent.id):
        return marks.take_off(original)
    return End(outcome, note={"budget": ""})


# ---------------------------------------------------------------------- how long

_STEERING_REFUSED = "SteeringRefused"
_REFUSED = "a PodDisruptionBudget allows no eviction of the pod"


def _time_to_stop_steering(intent: Intent) -> float:
    return max(intent.settings.steer_timeout_seconds, 1.0)


def _time_to_protect(intent: Intent) -> float:
    """Since the beginning: the verdict, and then what the disruption controller needs to see."""
    limits = intent.settings
    observing = max(limits.budget_timeout_seconds, limits.steer_timeout_seconds, 1.0)
    return limits.budget_timeout_seconds + observing


def _time_to_evict(intent: Intent, view: View) -> float:
    limits = intent.settings
    steering = limits.steer_timeout_seconds + _time_to_stop_steering(intent)
    waiting = steering + limits.budget_timeout_seconds
    limit = _time_to_protect(intent) + waiting + limits.ready_timeout_seconds
    if objections.mates_have_left(intent, view):
        # A budget may let them go one by one.
        limit += intent.group_size * limits.ready_timeout_seconds
    if replacing.clean_up(intent, view, Step.TAKE_BACK) is None:
        return limit
    # What is temporary does not wait longer, whoever else is waited for.
    return min(limit, limits.budget_timeout_seconds + limits.clean_up_timeout_seconds)
