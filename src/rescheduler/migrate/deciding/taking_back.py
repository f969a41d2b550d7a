"""The way back of a surge: everything as it was, and nobody harmed by it. Pure."""

from dataclasses import replace

from rescheduler.config import Migration
from rescheduler.migrate.deciding import marks, patience, selecting
from rescheduler.migrate.deciding.facts import Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.steps import DeleteCopy, End, Evict, PatchPod, Step, Wait
from rescheduler.model import conditions, names, workloads
from rescheduler.model.objects import Object, is_active, is_terminating, labels, owners

GO_ON = "it took too long, or the API server refused too often: the next run goes on from here"


def take_back(view: View, outcome: Outcome, progress: Progress, limits: Migration) -> Step:
    # In this order: while the copy exists, a process that dies here is followed by one that looks.
    if view.original is not None and marks.is_marked(view.original):
        return marks.take_off(view.original)
    if view.copy is None:
        return End(outcome)
    if _stands_in(view, view.copy):
        kept = f"{outcome.message}, but {view.copy['metadata']['name']} lives on in its place"
        return complete(view.copy, replace(outcome, moved=True, message=kept))
    if is_terminating(view.copy):
        if progress.running_seconds <= patience.to_the_end(view.copy, view.replica_set, limits):
            return Wait("the copy is terminating")
        # A finalizer or a dead node holds it. It is on its way out and counts nowhere.
        return End(replace(outcome, message=f"{outcome.message}; the copy is still terminating"))
    if conditions.holds(view.copy, "Ready"):
        return _remove_serving_copy(view, view.copy, progress, limits)
    return DeleteCopy(view.copy)


def _remove_serving_copy(view: View, copy: Object, progress: Progress, limits: Migration) -> Step:
    """A copy that serves counts for budgets, and others may have been evicted on its account. So it
    goes by eviction, when the budget says that it may.
    """
    replica_set = view.replica_set
    if replica_set is None or workloads.why_changed(replica_set, view.deployment):
        return DeleteCopy(copy)
    if len(selecting.matching(view.budgets, labels(copy))) > 1:
        return DeleteCopy(copy)  # nobody can evict anything here, so nobody has
    if progress.budget_refused_seconds <= limits.budget_timeout_seconds:
        return Evict("evicts the copy", copy, patience.grace(copy, limits))
    ready = sum(is_active(pod) and conditions.holds(pod, "Ready") for pod in view.pods)
    if ready >= replica_set["spec"].get("replicas", 1):
        return DeleteCopy(copy)  # the budget asks for more than the workload has, copy or not
    return End(Outcome(moved=False, reason=Reason.NOT_FINISHED, message=GO_ON))


def _stands_in(view: View, copy: Object) -> bool:
    """Whether the copy has a life of its own: the ReplicaSet was deleted without its pods
    (`--cascade=orphan`), and the original is gone, or another ReplicaSet has taken the copy in.
    """
    if view.replica_set or not is_active(copy):
        return False
    owned_by = {each["uid"] for each in owners(copy)}
    if owned_by:
        return any(each["metadata"]["uid"] in owned_by for each in view.replica_sets)
    return view.original is None or is_terminating(view.original)


def complete(copy: Object, outcome: Outcome) -> Step:
    if labels(copy).get(names.MIGRATION_STATUS) == names.STATUS_COMPLETED:
        return End(outcome)
    change = {"labels": {names.MIGRATION_STATUS: names.STATUS_COMPLETED}}
    return PatchPod("marks the copy as moved", copy, change)
