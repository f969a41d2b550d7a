"""The surge of one ReplicaSet pod, as a pure decision: what the cluster shows -> the next step.

Ready on the target before the old pod goes. The order was tried on a real control plane:

    create the copy, unseen by the ReplicaSet -> wait until it serves -> ask for the eviction (dry
    run) -> mark the original as first to go -> let the ReplicaSet adopt the copy, and remove the
    original -> evict the original, should the ReplicaSet not have done so

What is to be done next, the cluster alone tells; a process remembers only how long it has waited.
So one that dies anywhere is followed by one that looks and goes on. Until the adoption, undoing is
removing the copy; after it the ReplicaSet itself keeps the number of pods right, whatever happens
to us.
"""

from dataclasses import replace

from rescheduler.config import Migration
from rescheduler.migrate.deciding import copies, marks, patience, selecting
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.steps import (
    CreateCopy,
    End,
    Evict,
    GiveUp,
    PatchPod,
    Step,
    Wait,
    Write,
)
from rescheduler.migrate.deciding.taking_back import GO_ON, complete, take_back
from rescheduler.model import conditions, names, pins, workloads
from rescheduler.model.objects import Object, is_active, is_terminating, labels

# A kubelet that says so has given up for now; waiting longer would only hold the room.
_HOPELESS = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)


def next_step(intent: Intent, view: View, progress: Progress, limits: Migration) -> Step:
    step = _decide(intent, view, progress, limits)
    pod = view.original or view.copy
    if not pod or not isinstance(step, Write):
        return step
    # A webhook that is down, a right that was taken away: a write can fail for ever.
    longest = patience.to_the_end(pod, view.replica_set, limits) + limits.ready_timeout_seconds
    if progress.running_seconds <= longest:
        return step
    return End(Outcome(moved=False, reason=Reason.NOT_FINISHED, message=GO_ON))


def _decide(intent: Intent, view: View, progress: Progress, limits: Migration) -> Step:
    copy, replica_set = view.copy, view.replica_set
    # Asked first: an adoption whose answer was lost may take effect after we gave up on it, and an
    # adopted copy is a replica like any other.
    if copy and replica_set and not copies.missing_labels(replica_set, copy):
        return _finish(intent, view, copy, replica_set, progress, limits)
    if progress.giving_up:
        return take_back(view, progress.giving_up, progress, limits)
    if copy is None:
        return _begin(intent, view, progress, limits)
    return _prepare(intent, view, copy, progress, limits)


# ---------------------------------------------------------------------- before there is a copy


def _begin(intent: Intent, view: View, progress: Progress, limits: Migration) -> Step:
    # A mark without a copy was left by a process that died; it goes before anything else is done.
    if progress.created or (view.original and marks.is_marked(view.original)):
        return _give_up(Reason.COPY_LOST, "someone deleted the copy")
    if view.original is None:
        return _not_now("the pod is gone")
    if view.replica_set is None:
        return _not_now("its ReplicaSet is gone")
    if progress.running_seconds > limits.ready_timeout_seconds:
        return _not_now("the API server did not let us create the copy")
    if problem := _why_not_now(view, view.original, view.replica_set):
        return _not_now(problem)
    withheld = _withheld_label(view, view.original, view.replica_set)
    if withheld is None:
        return _never(
            "a Service, budget or NetworkPolicy would not select the copy as it does the pod"
        )
    body = copies.build(
        view.replica_set,
        view.original,
        target=intent.target,
        strategy=intent.strategy,
        withheld=withheld,
        at=progress.now,
    )
    if problem := _why_never(intent, view, view.original, body):
        return _never(problem)
    return CreateCopy(body)


def _why_not_now(view: View, original: Object, replica_set: Object) -> str:
    if view.copy_name_taken:
        return "a pod that is not ours has the name of the copy"
    if is_terminating(original):
        return "the pod is terminating"
    if not _is_replica(original, view):
        return "the pod is no longer one of its ReplicaSet's"
    if not conditions.holds(original, "Ready"):
        return "the pod is not Ready"
    return workloads.why_unsettled(replica_set, view.deployment) or _why_unready(view, replica_set)


def _why_never(intent: Intent, view: View, original: Object, body: Object) -> str:
    if intent.source == intent.target:
        return "source and target are the same node"
    if any(marks.cost(pod) == names.LOWEST_DELETION_COST for pod in _siblings(view, original)):
        return "a sibling has the lowest deletion cost there is: it would be removed instead"
    if body["spec"].get("nodeName"):
        return "its template names a node, past the scheduler"
    if view.deployment and workloads.recreates(view.deployment):
        return "its Deployment has strategy Recreate: two of its pods must not run at once"
    budgets = selecting.matching(view.budgets, labels(original))
    if len(budgets) > 1:
        return f"several PodDisruptionBudgets select it, so nobody can evict it: {_list(budgets)}"
    if adopters := selecting.matching(view.replica_sets, body["metadata"]["labels"]):
        return f"another ReplicaSet would adopt the copy: {_list(adopters)}"
    return ""


def _withheld_label(view: View, original: Object, replica_set: Object) -> str | None:
    selecting_by = [
        *selecting.of_services(view.services),
        *selecting.of_budgets(view.budgets),
        *selecting.of_network_policies(view.network_policies),
        *selecting.of_pods(view.neighbours),
    ]
    return copies.withheld_label(replica_set, labels(original), selecting_by)


# ---------------------------------------------------------------------- until the adoption


def _prepare(
    intent: Intent, view: View, copy: Object, progress: Progress, limits: Migration
) -> Step:
    original, replica_set = view.original, view.replica_set
    if replica_set is None:
        return _give_up(Reason.WORKLOAD_GONE, "its ReplicaSet is gone")
    if original is None or is_terminating(original):
        return _stand_in(view, replica_set, copy)
    if hopeless := _why_hopeless(intent, view, original, replica_set, copy):
        return hopeless
    late = progress.running_seconds > patience.time_to_serve(replica_set, limits)
    if waiting := _why_not_serving(view, original, replica_set, copy, progress, limits):
        return _give_up(Reason.NOT_READY_IN_TIME, waiting) if late else Wait(waiting)
    if waiting := _why_unready(view, replica_set):
        return _give_up(Reason.SIBLING_NOT_READY, waiting) if late else Wait(waiting)
    if progress.running_seconds > patience.time_to_hand_over(replica_set, limits):
        return _give_up(Reason.TIMED_OUT, "the API server did not let us hand over")
    if not progress.budget_allows:
        return _ask_budget(original, progress, limits)
    return _hand_over(original, replica_set, copy)


def _ask_budget(original: Object, progress: Progress, limits: Migration) -> Step:
    if progress.budget_refused_seconds > limits.budget_timeout_seconds:
        return _give_up(
            Reason.BUDGET_REFUSED, "a PodDisruptionBudget allows no eviction of the pod"
        )
    what = "asks whether the original may be evicted"
    return Evict(what, original, patience.grace(original, limits), dry_run=True)


def _hand_over(original: Object, replica_set: Object, copy: Object) -> Step:
    if marks.cost(original) != names.LOWEST_DELETION_COST or not marks.is_marked(original):
        return PatchPod("marks the original as first to go", original, marks.mark(original))
    return _let_adopt("lets the ReplicaSet adopt the copy", replica_set, copy)


def _stand_in(view: View, replica_set: Object, copy: Object) -> Step:
    """The original left by another hand, maybe a drain that our copy had made lawful: a copy that
    serves takes its place, for without it there would be one too few.
    """
    changed = workloads.why_changed(replica_set, view.deployment)
    if conditions.holds(copy, "Ready") and not is_terminating(copy) and not changed:
        what = "lets the ReplicaSet adopt the copy in place of the lost original"
        return _let_adopt(what, replica_set, copy)
    return _give_up(Reason.ORIGINAL_GONE, "the pod left by another hand")


def _let_adopt(what: str, replica_set: Object, copy: Object) -> Step:
    missing = copies.missing_labels(replica_set, copy)
    # Only if the copy is still just as it was judged.
    version = copy["metadata"]["resourceVersion"]
    return PatchPod(what, copy, {"labels": missing, "resourceVersion": version})


def _why_hopeless(
    intent: Intent, view: View, original: Object, replica_set: Object, copy: Object
) -> GiveUp | None:
    """What no waiting can mend: the user acted, or the copy failed."""
    if changed := workloads.why_changed(replica_set, view.deployment):
        return _give_up(Reason.WORKLOAD_CHANGED, changed)
    if not _is_replica(original, view):
        return _give_up(Reason.ORIGINAL_GONE, "the pod failed or was taken out of its ReplicaSet")
    if is_terminating(copy):
        return _give_up(Reason.COPY_LOST, "someone deleted the copy")
    if lost := _why_target_is_lost(intent, view):
        return _give_up(Reason.TARGET_LOST, lost)
    if pins.target(copy["spec"]) != intent.target:
        return _give_up(Reason.COPY_CHANGED, "an admission webhook changed where the copy may run")
    if (node := copy["spec"].get("nodeName", intent.target)) != intent.target:
        return _give_up(Reason.COPY_CHANGED, f"the copy landed on {node}")
    if failure := _why_failed(copy):
        return _give_up(Reason.COPY_FAILED, failure)
    return None


def _why_target_is_lost(intent: Intent, view: View) -> str:
    if view.target is None:
        return f"{intent.target} is gone"
    if not conditions.holds(view.target, "Ready"):
        return f"{intent.target} is not Ready"
    if (view.target.get("spec") or {}).get("unschedulable"):
        return f"{intent.target} is cordoned"
    return ""


def _why_failed(copy: Object) -> str:
    status = copy.get("status") or {}
    if status.get("phase") in ("Failed", "Succeeded"):
        return f"the copy ended: {status.get('reason') or status['phase']}"
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or ():
            reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
            if reason in _HOPELESS:
                return f"container {container['name']} of the copy: {reason}"
    return ""


def _why_not_serving(
    view: View,
    original: Object,
    replica_set: Object,
    copy: Object,
    progress: Progress,
    limits: Migration,
) -> str:
    if not conditions.holds(copy, "Ready"):
        scheduled = conditions.find(copy, "PodScheduled")
        if scheduled and scheduled["status"] == "False":
            return f"the copy is not scheduled: {scheduled.get('message', '')}"
        return "the copy is not Ready"
    wanted = (replica_set["spec"].get("minReadySeconds") or 0) + limits.settle_seconds
    if progress.copy_ready_seconds < wanted:
        return f"the copy is Ready, but not yet for {wanted:g} s"
    holding = selecting.services_with(view.slices, original["metadata"]["uid"])
    serving = selecting.services_with(view.slices, copy["metadata"]["uid"], ready=True)
    if missing := holding - serving:
        return f"the copy is not yet a ready endpoint of {_list(missing)}"
    return ""


def _why_unready(view: View, replica_set: Object) -> str:
    """Readiness ranks before deletion cost: with one replica unready, the ReplicaSet would remove
    that one instead of the original.
    """
    wanted = replica_set["spec"].get("replicas", 1)
    active = [pod for pod in view.pods if is_active(pod)]
    if len(active) != wanted:
        return f"its ReplicaSet has {len(active)} of {wanted} pods"
    for pod in active:
        if not conditions.holds(pod, "Ready"):
            return f"its sibling {pod['metadata']['name']} is not Ready"
    return ""


# ---------------------------------------------------------------------- after the adoption


def _finish(
    intent: Intent,
    view: View,
    copy: Object,
    replica_set: Object,
    progress: Progress,
    limits: Migration,
) -> Step:
    """There is no way back now, and none is needed: the ReplicaSet keeps the number right."""
    moved = Outcome(
        moved=True,
        reason=Reason.COMPLETED,
        message=f"runs as {intent.copy} on {intent.target}",
    )
    original = view.original
    if original is None:
        return complete(copy, moved)
    if is_terminating(original):
        if progress.running_seconds <= patience.to_the_end(original, replica_set, limits):
            return Wait("the original is terminating")
        return complete(copy, replace(moved, message=f"{moved.message}; the original lingers"))
    if _is_replica(original, view):
        others = {pod["metadata"]["uid"]: pod for pod in (*view.pods, copy) if is_active(pod)}
        del others[intent.uid]
        wanted = replica_set["spec"].get("replicas", 1)
        if sum(conditions.holds(pod, "Ready") for pod in others.values()) >= wanted:
            return Evict("evicts the original", original, patience.grace(original, limits))
        if len(others) >= wanted:
            if progress.running_seconds <= patience.to_the_end(original, replica_set, limits):
                return Wait("another replica is not Ready")
            return End(replace(moved, moved=False, reason=Reason.NOT_FINISHED, message=GO_ON))
        # A sibling turned unready in the very moment of the adoption, and was removed for it.
        message = f"its ReplicaSet kept it and removed another pod for {intent.copy}"
        stays = replace(moved, moved=False, reason=Reason.SIBLING_REMOVED, message=message)
    else:
        # Who takes a pod aside, to look into it, wants it left alone.
        stays = replace(moved, message=f"{moved.message}; the original was taken aside or failed")
    if marks.is_marked(original):
        return marks.take_off(original)
    return complete(copy, stays)


# ---------------------------------------------------------------------- small questions


def _siblings(view: View, original: Object) -> list[Object]:
    uid = original["metadata"]["uid"]
    return [pod for pod in view.pods if is_active(pod) and pod["metadata"]["uid"] != uid]


def _is_replica(pod: Object, view: View) -> bool:
    """Whether its ReplicaSet counts it: who relabels a pod takes it out, who fails is replaced."""
    uid, owner = pod["metadata"]["uid"], view.replica_set
    counted = any(each["metadata"]["uid"] == uid for each in view.pods) and is_active(pod)
    return counted and owner is not None and not copies.missing_labels(owner, pod)


def _not_now(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_NOW, message=message))


def _never(message: str) -> End:
    return End(Outcome(moved=False, reason=Reason.NOT_MOVABLE, message=message))


def _give_up(reason: Reason, message: str) -> GiveUp:
    return GiveUp(Outcome(moved=False, reason=reason, message=message))


def _list(names_: set[str] | list[str]) -> str:
    return ", ".join(sorted(names_))
