"""The surge of one ReplicaSet pod, as a pure decision: what the cluster shows -> the next step.

Ready on the target before the old pod goes. The order was tried on a real control plane:

    create the copy, unseen by the ReplicaSet -> wait until it serves -> ask for the eviction (dry
    run) -> mark the original as first to go -> let the ReplicaSet adopt the copy -> evict it

Nothing is remembered between steps but what the cluster holds, so a process that dies anywhere is
followed by one that looks and goes on. Until the adoption, undoing is deleting the copy; after it
the ReplicaSet itself restores the right number of pods, whatever happens to us.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rescheduler.migrate import copies, selecting
from rescheduler.migrate.facts import Intent, Progress, Settings, View
from rescheduler.migrate.outcomes import Outcome
from rescheduler.migrate.steps import (
    CreateCopy,
    DeleteCopy,
    End,
    Evict,
    GiveUp,
    PatchPod,
    Step,
    Wait,
)
from rescheduler.model import conditions, names, pins, workloads

Object = Mapping[str, Any]

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


_GO_ON = "the copy is adopted and the original is still there: the next run goes on from here"


def next_step(intent: Intent, view: View, progress: Progress, settings: Settings) -> Step:
    copy, replica_set = view.copy, view.replica_set
    # Asked first: an adoption whose answer was lost may take effect after we gave up on it, and an
    # adopted copy is a replica like any other.
    if copy and replica_set and not copies.missing_labels(replica_set, copy):
        return _finish(intent, view, copy, replica_set, progress, settings)
    if progress.giving_up:
        return _take_back(view, progress.giving_up, progress, settings)
    if copy is None:
        return _begin(intent, view, progress)
    return _prepare(intent, view, copy, progress, settings)


# ---------------------------------------------------------------------- before there is a copy


def _begin(intent: Intent, view: View, progress: Progress) -> Step:
    # A mark without a copy was left by a process that died; it goes before anything else is done.
    if progress.created or intent.resumed or (view.original and _is_marked(view.original)):
        return _give_up("CopyLost", "someone deleted the copy")
    if view.original is None:
        return _not_now("the pod is gone")
    if view.replica_set is None:
        return _not_now("its ReplicaSet is gone")
    if view.copy_name_taken:
        return _not_now("a pod that is not ours has the name of the copy")
    if problem := _why_not_now(view, view.original, view.replica_set):
        return _not_now(problem)
    withheld = _withheld_label(view, view.replica_set)
    if withheld is None:
        return _never("a Service, budget or NetworkPolicy selects by every label of its ReplicaSet")
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
    if "deletionTimestamp" in original["metadata"]:
        return "the pod is terminating"
    if not _is_replica(original, view):
        return "the pod is no longer one of its ReplicaSet's"
    if not conditions.holds(original, "Ready"):
        return "the pod is not Ready"
    return workloads.why_unsettled(replica_set, view.deployment) or _why_unready(view, replica_set)


def _why_never(intent: Intent, view: View, original: Object, body: Object) -> str:
    if intent.source == intent.target:
        return "source and target are the same node"
    if body["spec"].get("nodeName"):
        return "its template names a node, past the scheduler"
    if view.deployment and workloads.recreates(view.deployment):
        return "its Deployment has strategy Recreate: two of its pods must not run at once"
    budgets = selecting.matching(view.budgets, original["metadata"].get("labels") or {})
    if len(budgets) > 1:
        return f"several PodDisruptionBudgets select it, so nobody can evict it: {_list(budgets)}"
    if adopters := selecting.matching(view.replica_sets, body["metadata"]["labels"]):
        return f"another ReplicaSet would adopt the copy: {_list(adopters)}"
    return ""


def _withheld_label(view: View, replica_set: Object) -> str | None:
    selecting_by = [
        *selecting.of_services(view.services),
        *selecting.of_budgets(view.budgets),
        *selecting.of_network_policies(view.network_policies),
    ]
    return copies.withheld_label(replica_set, selecting_by)


# ---------------------------------------------------------------------- until the adoption


def _prepare(
    intent: Intent, view: View, copy: Object, progress: Progress, settings: Settings
) -> Step:
    original, replica_set = view.original, view.replica_set
    if replica_set is None or "deletionTimestamp" in replica_set["metadata"]:
        return _give_up("WorkloadGone", "its ReplicaSet is gone")
    if original is None or "deletionTimestamp" in original["metadata"]:
        return _give_up("OriginalGone", "the pod left by another hand")
    if not _is_replica(original, view):
        return _give_up("OriginalGone", "the pod failed or was taken out of its ReplicaSet")
    if hopeless := _why_hopeless(intent, view, copy):
        return hopeless
    late = progress.running_seconds > settings.ready_timeout_seconds
    if waiting := _why_not_serving(view, original, replica_set, copy, progress, settings):
        return _give_up("NotReadyInTime", waiting) if late else Wait(waiting)
    if waiting := _why_unready(view, replica_set):
        return _give_up("SiblingNotReady", waiting) if late else Wait(waiting)
    if not progress.budget_allows:
        return _ask_budget(original, progress, settings)
    return _hand_over(original, replica_set, copy, settings)


def _ask_budget(original: Object, progress: Progress, settings: Settings) -> Step:
    if progress.budget_refused_seconds > settings.budget_timeout_seconds:
        return _give_up("BudgetRefused", "a PodDisruptionBudget allows no eviction of the pod")
    return Evict(original, _grace(original, settings), dry_run=True)


def _hand_over(original: Object, replica_set: Object, copy: Object, settings: Settings) -> Step:
    if not _is_marked(original):
        return PatchPod("marks the original as first to go", original, _mark(original))
    # Only if the copy is still just as it was judged.
    labels = copies.missing_labels(replica_set, copy)
    change = {"labels": labels, "resourceVersion": copy["metadata"]["resourceVersion"]}
    # The ReplicaSet would remove the original too, but without asking its budget.
    eviction = Evict(original, _grace(original, settings), dry_run=False)
    return PatchPod("lets the ReplicaSet adopt the copy", copy, change, then=eviction)


def _why_hopeless(intent: Intent, view: View, copy: Object) -> GiveUp | None:
    """What no waiting can mend: the user acted, or the copy failed."""
    if view.deployment and (rolling := workloads.why_rolling(view.deployment)):
        return _give_up("WorkloadChanged", rolling)
    if "deletionTimestamp" in copy["metadata"]:
        return _give_up("CopyLost", "someone deleted the copy")
    if pins.target(copy["spec"]) != intent.target:
        return _give_up("CopyChanged", "an admission webhook changed where the copy may run")
    if (node := copy["spec"].get("nodeName", intent.target)) != intent.target:
        return _give_up("CopyChanged", f"the copy landed on {node}")
    if failure := _why_failed(copy):
        return _give_up("CopyFailed", failure)
    return None


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
    settings: Settings,
) -> str:
    if not conditions.holds(copy, "Ready"):
        scheduled = conditions.find(copy, "PodScheduled")
        if scheduled and scheduled["status"] == "False":
            return f"the copy is not scheduled: {scheduled.get('message', '')}"
        return "the copy is not Ready"
    wanted = (replica_set["spec"].get("minReadySeconds") or 0) + settings.settle_seconds
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
    active = [pod for pod in view.pods if _is_active(pod)]
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
    settings: Settings,
) -> Step:
    """There is no way back now, and none is needed: the ReplicaSet keeps the number right."""
    moved = Outcome(
        moved=True,
        reason="Completed",
        message=f"runs as {intent.copy} on {intent.target}",
        new_pod=intent.copy,
    )
    original = view.original
    if original is None:
        return _complete(copy, moved)
    if "deletionTimestamp" in original["metadata"]:
        if progress.running_seconds <= _patience(original, settings):
            return Wait("the original is terminating")
        return _complete(copy, replace(moved, message=f"{moved.message}; the original lingers"))
    if progress.running_seconds > _patience(original, settings):
        return End(replace(moved, moved=False, reason="NotFinished", message=_GO_ON))
    if _is_replica(original, view):
        others = {pod["metadata"]["uid"]: pod for pod in (*view.pods, copy) if _is_active(pod)}
        del others[intent.uid]
        wanted = replica_set["spec"].get("replicas", 1)
        if sum(conditions.holds(pod, "Ready") for pod in others.values()) >= wanted:
            return Evict(original, _grace(original, settings), dry_run=False)
        if len(others) >= wanted:
            return Wait("another replica is not Ready")
        # A sibling turned unready in the very moment of the adoption, and was removed for it.
        message = f"its ReplicaSet kept it and removed another pod for {intent.copy}"
        stays = replace(moved, moved=False, reason="SiblingRemoved", message=message)
    else:
        # Who takes a pod aside, to look into it, wants it left alone.
        stays = replace(moved, message=f"{moved.message}; the original was taken aside or failed")
    if _is_marked(original):
        return _take_off_the_mark(original)
    return _complete(copy, stays)


def _complete(copy: Object, outcome: Outcome) -> Step:
    if copy["metadata"]["labels"].get(names.MIGRATION_STATUS) == names.STATUS_COMPLETED:
        return End(outcome)
    change = {"labels": {names.MIGRATION_STATUS: names.STATUS_COMPLETED}}
    return PatchPod("marks the copy as moved", copy, change)


# ---------------------------------------------------------------------- taking back


def _take_back(view: View, outcome: Outcome, progress: Progress, settings: Settings) -> Step:
    # In this order: while the copy exists, a process that dies here is followed by one that looks.
    if view.original is not None and _is_marked(view.original):
        return _take_off_the_mark(view.original)
    if view.copy is None:
        return End(outcome)
    if _stands_in(view, view.copy):
        kept = f"{outcome.message}, but {view.copy['metadata']['name']} lives on in its place"
        return _complete(view.copy, replace(outcome, moved=True, message=kept))
    if "deletionTimestamp" not in view.copy["metadata"]:
        return DeleteCopy(view.copy)
    if progress.running_seconds <= _patience(view.copy, settings):
        return Wait("the copy is terminating")
    # A finalizer or a dead node holds it. It is on its way out and counts nowhere.
    return End(replace(outcome, message=f"{outcome.message}; the copy is still terminating"))


def _stands_in(view: View, copy: Object) -> bool:
    """Whether the copy has a life of its own: the ReplicaSet was deleted without its pods
    (`--cascade=orphan`), and the original is gone, or another ReplicaSet has taken the copy in.
    """
    if view.replica_set or not _is_active(copy):
        return False
    owners = {each["uid"] for each in copy["metadata"].get("ownerReferences") or ()}
    if owners:
        return any(each["metadata"]["uid"] in owners for each in view.replica_sets)
    return view.original is None or "deletionTimestamp" in view.original["metadata"]


# ---------------------------------------------------------------------- small questions


def _mark(original: Object) -> Mapping[str, Any]:
    before = (original["metadata"].get("annotations") or {}).get(names.DELETION_COST, "")
    mark = {names.DELETION_COST: names.LOWEST_DELETION_COST, names.PREVIOUS_DELETION_COST: before}
    # With its version, so that a request which arrives late cannot mark it a second time.
    return {"annotations": mark, "resourceVersion": original["metadata"]["resourceVersion"]}


def unmark(annotations: Mapping[str, str]) -> Mapping[str, Any]:
    """The change that gives a marked pod the deletion cost that its user had set, or none."""
    before = annotations[names.PREVIOUS_DELETION_COST] or None
    return {"annotations": {names.DELETION_COST: before, names.PREVIOUS_DELETION_COST: None}}


def _take_off_the_mark(original: Object) -> Step:
    change = unmark(original["metadata"]["annotations"])
    return PatchPod("takes the mark off the original", original, change)


def _is_marked(original: Object) -> bool:
    return names.PREVIOUS_DELETION_COST in (original["metadata"].get("annotations") or {})


def _is_active(pod: Object) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return "deletionTimestamp" not in pod["metadata"] and phase not in ("Succeeded", "Failed")


def _is_replica(pod: Object, view: View) -> bool:
    """Whether its ReplicaSet counts it: who relabels a pod takes it out, who fails is replaced."""
    uid, owner = pod["metadata"]["uid"], view.replica_set
    counted = any(each["metadata"]["uid"] == uid for each in view.pods) and _is_active(pod)
    return counted and owner is not None and not copies.missing_labels(owner, pod)


def _grace(pod: Object, settings: Settings) -> int:
    own = pod["spec"].get("terminationGracePeriodSeconds")
    return max(settings.eviction_grace_seconds, own or 0)


def _patience(pod: Object, settings: Settings) -> float:
    """How long, since the migration began, a pod that was told to end is waited for."""
    return 2 * settings.ready_timeout_seconds + _grace(pod, settings)


def _not_now(message: str) -> End:
    return End(Outcome(moved=False, reason="NotNow", message=message))


def _never(message: str) -> End:
    return End(Outcome(moved=False, reason="NotMovable", message=message))


def _give_up(reason: str, message: str) -> GiveUp:
    return GiveUp(Outcome(moved=False, reason=reason, message=message))


def _list(names_: set[str] | list[str]) -> str:
    return ", ".join(sorted(names_))
