"""The surge of one ReplicaSet pod, as a pure decision: what the cluster shows -> the next action.

Ready on the target before the old pod goes. The order was tried on a real control plane:

    mark the original as being moved -> create the copy, unseen by the ReplicaSet -> wait until it
    serves -> ask for the eviction (dry run) -> take the original out of its Services, and let it
    finish what it has -> mark it as first to go -> let the ReplicaSet adopt the copy, and remove
    the original -> evict the original, should the ReplicaSet not have done so

What is to be done next, the cluster alone tells; the record remembers only what was given up, and
a process how long it has waited. So one that dies anywhere is followed by one that looks and goes
on. Until the adoption, undoing is giving the original back to its Services and removing the copy;
after it the ReplicaSet itself keeps the number of pods right, whatever happens to us.
"""

from dataclasses import replace

from rescheduler.migrate.deciding import groups, leaving, marks, serving, timeouts
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateCopy,
    End,
    Evict,
    GiveUp,
    Outcome,
    PatchPod,
    Wait,
)
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.surge import copies, rehearsing, replicas, resizing, withholding
from rescheduler.migrate.deciding.taking_back import complete, take_back
from rescheduler.model import conditions, names, workloads
from rescheduler.model.objects import Object, is_active, is_terminating
from rescheduler.model.podmigration import Reason, Step


def next_action(intent: Intent, view: View, progress: Progress) -> Action:
    return timeouts.in_time(_decide(intent, view, progress), intent, view, progress)


def _decide(intent: Intent, view: View, progress: Progress) -> Action:
    copy, replica_set = view.copy, view.replica_set
    # Asked first: an adoption whose answer was lost may take effect after we gave up on it, and an
    # adopted copy is a replica like any other.
    if copy and replica_set and not copies.missing_labels(replica_set, copy):
        return _finish(intent, view, copy, replica_set, progress)
    if progress.giving_up and not _is_needed(intent, view, copy):
        return take_back(intent, view, progress.giving_up, progress)
    if copy is None:
        return _begin(intent, view, progress)
    return _prepare(intent, view, copy, progress)


def _is_needed(intent: Intent, view: View, copy: Object | None) -> bool:
    """We have evicted the original on account of the copy: there is no way back from that."""
    if copy is None or groups.own_step(intent, view) is not Step.HAND_OVER:
        return False
    is_gone = view.original is None or is_terminating(view.original)
    return is_gone and view.replica_set is not None and _serves_for(view, view.replica_set, copy)


# ---------------------------------------------------------------------- before there is a copy


def _begin(intent: Intent, view: View, progress: Progress) -> Action:
    if progress.created:
        return _why_lost(view)
    if view.original is None:
        return End.not_now("the pod is gone")
    action = _check(intent, view, view.original, progress)
    if isinstance(action, End) and marks.has_begun(view.original, intent.id):
        return GiveUp(action.outcome)  # the mark has to go first
    return action


def _why_lost(view: View) -> GiveUp:
    """The garbage collector and the ReplicaSet delete copies, too."""
    if view.replica_set is None:
        return GiveUp.because(Reason.WORKLOAD_GONE, "its ReplicaSet is gone")
    if changed := workloads.why_changed(view.replica_set, view.deployment):
        return GiveUp.because(Reason.WORKLOAD_CHANGED, changed)
    return GiveUp.because(Reason.COPY_LOST, "someone deleted the copy")


def _check(intent: Intent, view: View, original: Object, progress: Progress) -> Action:
    replica_set = view.replica_set
    if replica_set is None:
        return End.not_now("its ReplicaSet is gone")
    if progress.here_seconds > timeouts.time_to_create(intent):
        return End.not_now("it took too long until a copy could be created")
    if problem := _why_not_now(intent, view, original, progress):
        return End.not_now(problem)
    if problem := replicas.why_not_at_rest(intent, view, replica_set):
        if replicas.are_moving(intent, view, replica_set):
            return Wait(problem, step=groups.own_step(intent, view))
        return End.not_now(problem)
    if problem := _why_never(intent, view, original, replica_set):
        return End.never(problem)
    return _make(intent, view, original, replica_set, progress)


def _make(
    intent: Intent, view: View, original: Object, replica_set: Object, progress: Progress
) -> Action:
    """Admission is asked first: a pod of which no copy may be made is not touched."""
    rehearsed = rehearsing.of(progress, replica_set)
    if rehearsed is None:
        return rehearsing.ask(intent, view, original, replica_set, progress)
    if rehearsed.refusal:
        return End(rehearsed.refusal)
    if not marks.has_begun(original, intent.id):
        return marks.begin(original, intent.id, progress.now)
    return CreateCopy(rehearsing.copy_of(intent, view, original, replica_set, progress))


def _why_not_now(intent: Intent, view: View, original: Object, progress: Progress) -> str:
    if view.copy_name_taken:
        return "a pod that is not ours has the name of the copy"
    if is_terminating(original):
        return "the pod is terminating"
    if not replicas.is_one(original, view):
        return "the pod is no longer one of its ReplicaSet's"
    if not conditions.holds(original, "Ready"):
        return "the pod is not Ready"
    return progress.not_there or serving.why_target_is_lost(intent, view)


def _why_never(intent: Intent, view: View, original: Object, replica_set: Object) -> str:
    if intent.target in (intent.source, original["spec"].get("nodeName")):
        return "source and target are the same node"
    if several := serving.why_several_budgets(view, original):
        return several
    return withholding.why_no_surge(intent, view, original, replica_set)


# ---------------------------------------------------------------------- until the adoption


def _prepare(intent: Intent, view: View, copy: Object, progress: Progress) -> Action:
    original, replica_set = view.original, view.replica_set
    if replica_set is None:
        return GiveUp.because(Reason.WORKLOAD_GONE, "its ReplicaSet is gone")
    if original is None or is_terminating(original):
        return _stand_in(view, replica_set, copy)
    if changed := workloads.why_changed(replica_set, view.deployment):
        return GiveUp.because(Reason.WORKLOAD_CHANGED, changed)
    if not replicas.is_one(original, view):
        message = "the pod failed or was taken out of its ReplicaSet"
        return GiveUp.because(Reason.ORIGINAL_GONE, message)
    if hopeless := serving.why_hopeless(intent, view, original, copy):
        return hopeless
    action = (
        _judge(intent, view, original, copy, progress)
        or serving.wait(intent, view, original, copy, progress)
        or _when_serving(intent, view, original, copy, progress)
    )
    return leaving.or_come_back(action, view, original, progress)


def _judge(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> Action | None:
    """Whether the copy is what its ReplicaSet would have made. Whoever takes it up asks anew."""
    replica_set = view.replica_set
    assert replica_set is not None  # noqa: S101 - asked by the caller
    if rehearsing.of(progress, replica_set) is None:
        return rehearsing.ask(intent, view, original, replica_set, progress)
    differs = rehearsing.why_unlike(original, copy, replica_set, progress)
    if not differs:
        return None
    if rehearsing.may_be_resized_since(original, replica_set, progress):
        return rehearsing.ask(intent, view, original, replica_set, progress)
    if rehearsing.is_outgrown(original, copy, replica_set, progress):
        # That is no fault of admission's: the next copy has the new size.
        return GiveUp.because(Reason.WORKLOAD_CHANGED, "the pod was resized meanwhile")
    return GiveUp.because(Reason.COPY_DIFFERS, differs)


def _when_serving(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> Action:
    replica_set = view.replica_set
    assert replica_set is not None  # noqa: S101 - asked by the caller
    if uneven := serving.why_uneven(intent, view, progress):
        return uneven
    # Going back and forth between steps would cost a write each time.
    recorded = groups.own_step(intent, view)
    step = recorded if recorded.was_let_go else Step.WAIT_READY
    if waiting := replicas.why_another_would_go(intent, view, replica_set):
        if timeouts.prepared_seconds(intent, view, progress) > timeouts.time_to_serve(intent, view):
            return GiveUp.because(Reason.SIBLING_NOT_READY, waiting)
        return Wait(waiting, step=step)
    if timeouts.prepared_seconds(intent, view, progress) > timeouts.time_to_hand_over(intent, view):
        return GiveUp.because(Reason.TIMED_OUT, "the API server did not let us hand over")
    # Whoever waits for its group has been allowed to go once; asked again when all are there.
    if not progress.budget_allows and not recorded.was_let_go:
        return serving.ask_budget(intent, original, progress, step)
    if waiting_for_group := groups.why_wait(intent, view, progress):
        return waiting_for_group
    rest = leaving.before_the_end(intent, view, original, copy, progress, step)
    return rest or _hand_over(intent, view, original, copy, progress)


def _hand_over(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> Action:
    replica_set = view.replica_set
    assert replica_set is not None  # noqa: S101 - asked by the caller
    together = groups.wait_for_leaving(intent, view, Step.HAND_OVER)
    if isinstance(together, GiveUp):
        return together
    waiting = together or leaving.wait_for_siblings(intent, view, progress)
    if replicas.is_any_unready(view, replica_set):
        # The ReplicaSet would remove that one instead. Once the original is gone it makes one more,
        # and has one too many when the copy is adopted: then it removes one that is not Ready.
        grace = timeouts.grace(original, intent.settings)
        return waiting or Evict("evicts the original", original, grace, step=Step.HAND_OVER)
    # Recorded before siblings are asked: from then on none of them begins to leave.
    is_told = groups.own_step(intent, view) is Step.HAND_OVER
    if not is_told or not marks.is_first(original):
        return marks.put_first(original)
    return waiting or _let_adopt("lets the ReplicaSet adopt the copy", replica_set, copy)


def _stand_in(view: View, replica_set: Object, copy: Object) -> Action:
    """The original was deleted by someone else, maybe a drain that our copy had made lawful, or its
    ReplicaSet for the copy of a sibling: a copy that serves takes its place, for without it there
    would be one too few.
    """
    if _serves_for(view, replica_set, copy):
        what = "lets the ReplicaSet adopt the copy in place of the lost original"
        return _let_adopt(what, replica_set, copy)
    return GiveUp.because(Reason.ORIGINAL_GONE, "the pod was deleted by someone else")


def _serves_for(view: View, replica_set: Object, copy: Object) -> bool:
    changed = workloads.why_changed(replica_set, view.deployment)
    return conditions.holds(copy, "Ready") and not is_terminating(copy) and not changed


def _let_adopt(what: str, replica_set: Object, copy: Object) -> Action:
    """There is no way back from here."""
    done = {names.MIGRATION_STATUS: names.STATUS_COMPLETED}
    change = {
        "labels": {**copies.missing_labels(replica_set, copy), **done},
        # Only if the copy is still just as it was judged.
        "resourceVersion": copy["metadata"]["resourceVersion"],
    }
    return PatchPod(what, copy, change, step=Step.HAND_OVER, is_final=True)


# ---------------------------------------------------------------------- after the adoption


def _finish(
    intent: Intent, view: View, copy: Object, replica_set: Object, progress: Progress
) -> Action:
    """There is no way back now, and none is needed: the ReplicaSet keeps the number right."""
    moved = Outcome(
        moved=True,
        reason=Reason.COMPLETED,
        message=f"runs as {intent.copy} on {intent.target}",
    )
    if kept := resizing.in_words(copy):
        moved = replace(moved, message=f"{moved.message}; {kept}")
    original = view.original
    if original is None:
        return complete(copy, moved)
    is_late = progress.here_seconds > timeouts.to_the_end(original, intent, view)
    if is_terminating(original):
        if not is_late:
            return Wait("the original is terminating", step=Step.WAIT_GONE)
        return complete(copy, replace(moved, message=f"{moved.message}; the original lingers"))
    if replicas.is_one(original, view):
        if removing := _remove(intent, view, original, copy, replica_set, is_late=is_late):
            return removing
        # A sibling turned unready in the very moment of the adoption, and was removed for it.
        message = f"its ReplicaSet kept it and removed another pod for {intent.copy}"
        stays = replace(moved, moved=False, reason=Reason.SIBLING_REMOVED, message=message)
    else:
        # Who takes a pod aside, to look into it, wants it left alone.
        stays = replace(moved, message=f"{moved.message}; the original was taken aside or failed")
    if is_active(original) and leaving.may_come_back(view, original, progress):
        return leaving.come_back(original, Step.CLEAN_UP)
    if marks.are_on(original):
        return replace(marks.take_off(original, step=Step.CLEAN_UP), is_final=True)
    return complete(copy, stays)


def _remove(
    intent: Intent,
    view: View,
    original: Object,
    copy: Object,
    replica_set: Object,
    *,
    is_late: bool,
) -> Action | None:
    """Until the original goes; None: it stays, its ReplicaSet has no pod too many."""
    wanted = replicas.wanted(replica_set)
    others = [
        pod for pod in replicas.counted(view, replica_set) if pod["metadata"]["uid"] != intent.uid
    ]
    if len(others) < wanted:
        if not replicas.standing_in(intent, view, replica_set):
            return None
        waiting = "the copy of a sibling that left is about to take its place"
    elif sum(conditions.is_well(pod) for pod in others) < wanted:
        waiting = "another replica is not Ready"
    elif not is_late and replicas.others_leaving(intent, view, replica_set):
        # It would be two at once, should the ReplicaSet be removing that one just now.
        waiting = "its ReplicaSet removes it or a sibling that is moved, too"
    elif serving.why_several_budgets(view, original):
        waiting = "nobody but its ReplicaSet can remove it: several budgets select it"
    elif lacking := serving.why_no_endpoint(view, original, copy):
        waiting = lacking
    else:
        return Evict("evicts the original", original, timeouts.grace(original, intent.settings))
    return End.not_finished() if is_late else Wait(waiting, step=Step.HAND_OVER)
