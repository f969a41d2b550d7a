"""The way back: everything as it was, and nobody harmed by it. Pure."""

from dataclasses import replace
from datetime import datetime

from rescheduler.migrate.deciding import leaving, marks, selecting, timeouts
from rescheduler.migrate.deciding.actions import (
    Action,
    DeleteCopy,
    End,
    Evict,
    Outcome,
    PatchPod,
    Wait,
)
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.surge import replicas
from rescheduler.model import conditions, names
from rescheduler.model.objects import Object, is_active, is_terminating, labels, owners
from rescheduler.model.podmigration import Reason, Step


def take_back(intent: Intent, view: View, outcome: Outcome, progress: Progress) -> Action:
    original = view.original
    # In this order: an original that is first to go, or serves nobody, must have a copy that does.
    if original is not None:
        if is_active(original) and leaving.may_come_back(view, original, progress):
            return leaving.come_back(original, Step.TAKE_BACK)
        if marks.are_on(original):
            return marks.take_off(original)
    copy = view.copy
    if copy is None:
        return End(outcome)
    if intent.owner and _stands_in(view, copy):
        kept = f"{outcome.message}, but {copy['metadata']['name']} lives on in its place"
        return complete(copy, replace(outcome, moved=True, message=kept), step=Step.TAKE_BACK)
    if is_terminating(copy):
        if progress.here_seconds <= timeouts.to_the_end(copy, intent, view):
            return Wait("the copy is terminating", step=Step.TAKE_BACK)
        # A finalizer or a dead node holds it. It is on its way out and counts nowhere.
        return End(replace(outcome, message=f"{outcome.message}; the copy is still terminating"))
    if conditions.holds(copy, "Ready"):
        return _remove_serving_copy(intent, view, copy, outcome, progress)
    return DeleteCopy(copy)


def _remove_serving_copy(
    intent: Intent, view: View, copy: Object, outcome: Outcome, progress: Progress
) -> Action:
    """A copy that serves counts for budgets, and others may have been evicted on its account. So it
    goes by eviction, when the budget says that it may.
    """
    if intent.owner and _has_no_use(view):
        return DeleteCopy(copy)
    if len(selecting.matching(view.budgets, labels(copy))) > 1:
        # Nobody can evict anything here, but somebody may have, before there were several.
        is_late = progress.here_seconds > timeouts.to_the_end(copy, intent, view)
        if is_late or _is_complete_without(view, intent):
            return DeleteCopy(copy)
        return Wait("the copy stands in for a pod that is missing", step=Step.TAKE_BACK)
    if progress.budget_refused_seconds <= intent.settings.budget_timeout_seconds:
        grace = timeouts.grace(copy, intent.settings)
        return Evict("evicts the copy", copy, grace, step=Step.TAKE_BACK)
    if _is_complete_without(view, intent):
        return DeleteCopy(copy)  # the budget asks for more than the workload has, copy or not
    if outcome.reason is Reason.WORKLOAD_CHANGED or _is_short(view):
        return DeleteCopy(copy)  # what is missing may need the room or the quota that it has
    return End.not_finished()


def _has_no_use(view: View) -> bool:
    """Whether nobody wants any pod of the workload any more. Who rolls it out, scales or pauses it
    relies on as many as before, and the copy may be one of them.
    """
    replica_set, deployment = view.replica_set, view.deployment
    if replica_set is None or is_terminating(replica_set):
        return True
    is_ending = deployment is not None and is_terminating(deployment)
    return is_ending or replicas.wanted(replica_set) == 0


def _is_short(view: View) -> bool:
    """Whether its ReplicaSet has not even made the pods that it should have."""
    if view.replica_set is None:
        return False
    return sum(map(is_active, view.pods)) < replicas.wanted(view.replica_set)


def _is_complete_without(view: View, intent: Intent) -> bool:
    if intent.owner is None:
        original = view.original
        # One that was deleted, or ended by itself, leaves nobody that the copy could stand in for.
        return original is None or not is_active(original) or conditions.is_well(original)
    if view.replica_set is None:
        return True
    active = [pod for pod in view.pods if is_active(pod)]
    # Who was away before there was a copy was not evicted on its account.
    there = [p for p in active if conditions.is_well(p) or _was_away(p, view.copy)]
    return len(there) >= replicas.wanted(view.replica_set)


def _was_away(pod: Object, copy: Object | None) -> bool:
    since, made = conditions.unready_since(pod), (copy or {}).get("metadata", {})
    told = made.get("creationTimestamp")
    return bool(since and told and since <= datetime.fromisoformat(told))


def _stands_in(view: View, copy: Object) -> bool:
    """Whether the copy has a life of its own: the ReplicaSet was deleted without its pods
    (`--cascade=orphan`), and the original is gone, or somebody else has taken the copy in.
    """
    if view.replica_set or not is_active(copy):
        return False
    owned_by = {each["uid"] for each in owners(copy)}
    if owned_by:
        others = (*view.replica_sets, *view.daemon_sets, *view.stateful_sets)
        return any(each["metadata"]["uid"] in owned_by for each in others)
    return view.original is None or is_terminating(view.original)


def complete(copy: Object, outcome: Outcome, *, step: Step = Step.CLEAN_UP) -> Action:
    if labels(copy).get(names.MIGRATION_STATUS) == names.STATUS_COMPLETED:
        return End(outcome)
    change = {"labels": {names.MIGRATION_STATUS: names.STATUS_COMPLETED}}
    return PatchPod("marks the copy as moved", copy, change, step=step)
