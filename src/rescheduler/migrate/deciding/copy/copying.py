"""The move of a pod that nobody controls, as a pure decision: what the cluster shows -> the next
action. A copy is Ready on the target before we evict the original.

    mark the original as being moved -> create the copy -> wait until it serves -> ask for the
    eviction (dry run) -> take the original out of its Services, and let it finish what it has ->
    evict it -> wait until it is gone -> mark the copy as moved

Until the original is told to end, undoing is giving it back to its Services and removing the copy.
After that the copy is the pod.
"""

from dataclasses import replace

from rescheduler.migrate.deciding import groups, leaving, marks, serving, timeouts, two_or_none
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateCopy,
    End,
    Evict,
    GiveUp,
    Outcome,
    Wait,
)
from rescheduler.migrate.deciding.copy import bare_copies
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.taking_back import complete, take_back
from rescheduler.model import conditions
from rescheduler.model.objects import Object, is_active, is_terminating, labels, owners
from rescheduler.model.podmigration import Reason, Step

_TAKEN_OVER = Step.HAND_OVER
"""From an original that we did not evict."""


def next_action(intent: Intent, view: View, progress: Progress) -> Action:
    return timeouts.in_time(_decide(intent, view, progress), intent, view, progress)


def _decide(intent: Intent, view: View, progress: Progress) -> Action:
    copy, original = view.copy, view.original
    if copy and (original is None or not is_active(original)):
        if action := _live_on(intent, view, copy, progress):
            return action
        if not progress.giving_up:
            return GiveUp.because(
                Reason.ORIGINAL_GONE, "the pod was deleted by someone else, or failed"
            )
    if progress.giving_up:
        return take_back(intent, view, progress.giving_up, progress)
    if copy is None:
        return _begin(intent, view, progress)
    assert original is not None  # noqa: S101 - asked above
    action = _prepare(intent, view, original, copy, progress)
    return leaving.or_come_back(action, view, original, progress)


# ---------------------------------------------------------------------- before there is a copy


def _begin(intent: Intent, view: View, progress: Progress) -> Action:
    if progress.created:
        return GiveUp.because(Reason.COPY_LOST, "someone deleted the copy")
    if view.original is None:
        return End.not_now("the pod is gone")
    action = _check(intent, view, view.original, progress)
    if isinstance(action, End) and marks.has_begun(view.original, intent.id):
        return GiveUp(action.outcome)  # the mark has to go first
    return action


def _check(intent: Intent, view: View, original: Object, progress: Progress) -> Action:
    if progress.here_seconds > timeouts.time_to_create(intent):
        return End.not_now("it took too long until a copy could be created")
    if problem := _why_not_now(intent, view, original, progress):
        return End.not_now(problem)
    body = bare_copies.build(intent, original, at=progress.now, target=view.target)
    if problem := _why_never(intent, view, original, body["metadata"]["labels"]):
        return End.never(problem)
    if not marks.has_begun(original, intent.id):
        return marks.begin(original, intent.id, progress.now)
    return CreateCopy(body)


def _why_not_now(intent: Intent, view: View, original: Object, progress: Progress) -> str:
    if view.copy_name_taken:
        return "a pod that is not ours has the name of the copy"
    if is_terminating(original):
        return "the pod is terminating"
    if owners(original):
        return "somebody owns the pod by now"
    if two_or_none.is_missed(intent, original) and not conditions.holds(original, "Ready"):
        return "the pod is not Ready"
    return progress.not_there or serving.why_target_is_lost(intent, view)


def _why_never(intent: Intent, view: View, original: Object, copy: dict[str, str]) -> str:
    if intent.target in (intent.source, original["spec"].get("nodeName")):
        return "source and target are the same node"
    if several := serving.why_several_budgets(view, original):
        return several
    known = labels(original)
    finding = two_or_none.selecting_by(view, view.neighbours)
    if any(each.matches(copy) != each.matches(known) for each in finding):
        return "a Service, budget or NetworkPolicy would not select the copy as it does the pod"
    return two_or_none.why_adopted(view, copy, intent.copy)


# ---------------------------------------------------------------------- until the eviction


def _prepare(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> Action:
    if owners(original):
        return GiveUp.because(Reason.WORKLOAD_CHANGED, "somebody owns the pod by now")
    # Nobody misses one that is not Ready, so its copy need not be, either.
    is_enough = not two_or_none.is_missed(intent, original) and serving.is_as_far(copy, original)
    if hopeless := serving.why_hopeless(intent, view, original, copy, is_enough=is_enough):
        return hopeless
    if not is_enough and (waiting := serving.wait(intent, view, original, copy, progress)):
        return waiting
    if uneven := serving.why_uneven(intent, view, progress):
        return uneven
    if timeouts.prepared_seconds(intent, view, progress) > timeouts.time_to_hand_over(intent, view):
        return GiveUp.because(Reason.TIMED_OUT, "the API server did not let us evict the pod")
    # Going back and forth between steps would cost a write each time.
    recorded = groups.own_step(intent, view)
    is_past = recorded.is_ready_to_go or recorded is Step.EVICT
    step = recorded if is_past else Step.WAIT_READY
    # Whoever waits for its group has been allowed to go once; asked again when all are there.
    if not progress.budget_allows and not is_past:
        return serving.ask_budget(intent, original, progress, step)
    if waiting_for_group := groups.why_wait(intent, view, progress):
        return waiting_for_group
    rest = leaving.before_the_end(intent, view, original, copy, progress, step)
    rest = rest or groups.wait_for_leaving(intent, view, Step.WAIT_GROUP)
    grace = timeouts.grace(original, intent.settings)
    return rest or Evict("evicts the original", original, grace)


# ---------------------------------------------------------------------- once the original leaves


def _live_on(intent: Intent, view: View, copy: Object, progress: Progress) -> Action | None:
    """The copy is the pod now; None: nobody has made sure of it, so it is not."""
    recorded, original = groups.own_step(intent, view), view.original
    is_evicted = recorded.is_after_eviction or progress.may_have_evicted
    serves = conditions.holds(copy, "Ready") and is_active(copy)
    if not is_evicted and recorded is not _TAKEN_OVER:
        # Who deletes a pod that nobody would make again wants it gone, and the copy with it.
        is_needed = original is not None and _was_disrupted(original)
        if progress.giving_up or not serves or not is_needed:
            return None
    message = f"runs as {intent.copy} on {intent.target}"
    if not is_active(copy):
        message = f"ran as {intent.copy} on {intent.target}, and has ended there since"
    if not is_evicted:
        message += "; the original was deleted by someone else, or failed"
    if any(_has_name(pod, intent) for pod in view.neighbours):
        message += f"; somebody has made another {intent.pod} since"
    moved = Outcome(moved=True, reason=Reason.COMPLETED, message=message)
    step = Step.CLEAN_UP if is_evicted else _TAKEN_OVER
    if original is None:
        return complete(copy, moved, step=step)
    if not is_terminating(original):
        # It failed, and stays for who wants to know why.
        if marks.are_on(original):
            return marks.take_off(original, step=step)
        return complete(copy, moved, step=step)
    if progress.here_seconds <= timeouts.to_the_end(original, intent, view):
        waiting = Step.WAIT_GONE if is_evicted else _TAKEN_OVER
        return Wait("the original is terminating", step=waiting)
    lingers = replace(moved, message=f"{message}; the original lingers")
    return complete(copy, lingers, step=step)


def _was_disrupted(original: Object) -> bool:
    """It failed, or was evicted: by a drain, say, which our copy had made lawful."""
    phase = (original.get("status") or {}).get("phase")
    return phase == "Failed" or conditions.holds(original, "DisruptionTarget")


def _has_name(pod: Object, intent: Intent) -> bool:
    metadata = pod["metadata"]
    return bool(metadata["name"] == intent.pod and metadata["uid"] != intent.uid)
