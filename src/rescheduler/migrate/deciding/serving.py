"""Whether a copy serves as its original does, or never will. Pure."""

from rescheduler.migrate.deciding import groups, selecting, timeouts
from rescheduler.migrate.deciding.actions import Action, Evict, GiveUp, Wait
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.surge import copies
from rescheduler.model import conditions, pins, taints
from rescheduler.model.objects import Object, is_terminating, labels, spec
from rescheduler.model.podmigration import Reason, Step

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


def why_hopeless(
    intent: Intent, view: View, original: Object, copy: Object, *, is_enough: bool = False
) -> GiveUp | None:
    """What no waiting can mend. `is_enough`: its containers need not run."""
    if is_terminating(copy):
        return GiveUp.because(Reason.COPY_LOST, "someone deleted the copy")
    if lost := why_target_is_lost(intent, view):
        return GiveUp.because(Reason.TARGET_LOST, lost)
    if changed := _why_elsewhere(intent, copy):
        return GiveUp.because(Reason.COPY_CHANGED, changed)
    if failure := _why_ended(copy) or ("" if is_enough else _why_failing(copy)):
        return GiveUp.because(Reason.COPY_FAILED, failure)
    return _why_budgets_forbid(view, original, copy)


def why_target_is_lost(intent: Intent, view: View) -> str:
    if view.target is None:
        return f"{intent.target} is gone"
    if not conditions.holds(view.target, "Ready"):
        return f"{intent.target} is not Ready"
    node = spec(view.target)
    if node.get("unschedulable"):
        return f"{intent.target} is cordoned"
    keys = [taint.get("key") or "" for taint in node.get("taints") or ()]
    if remover := next((taints.REMOVING[key] for key in keys if key in taints.REMOVING), ""):
        return f"{remover} is about to remove {intent.target}"
    return ""


def _why_elsewhere(intent: Intent, copy: Object) -> str:
    if pins.target(copy["spec"]) != intent.target:
        return "an admission webhook changed where the copy may run"
    node = copy["spec"].get("nodeName") or intent.target
    return f"the copy landed on {node}" if node != intent.target else ""


def is_as_far(copy: Object, original: Object) -> bool:
    """Of two that need not be Ready."""
    return _how_far(copy) >= _how_far(original)


def _how_far(pod: Object) -> int:
    is_running = (pod.get("status") or {}).get("phase") == "Running"
    actions = (bool(pod["spec"].get("nodeName")), is_running, conditions.holds(pod, "Ready"))
    return sum(actions)


def _why_ended(copy: Object) -> str:
    status = copy.get("status") or {}
    if status.get("phase") in ("Failed", "Succeeded"):
        return f"the copy ended: {status.get('reason') or status['phase']}"
    return ""


def _why_failing(copy: Object) -> str:
    status = copy.get("status") or {}
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or ():
            reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
            if reason in _HOPELESS:
                return f"container {container['name']} of the copy: {reason}"
    return ""


def _why_budgets_forbid(view: View, original: Object, copy: Object) -> GiveUp | None:
    if several := why_several_budgets(view, original):
        return GiveUp.because(Reason.SEVERAL_BUDGETS, several)
    guarding = set(selecting.matching(view.budgets, labels(original)))
    if without := guarding - set(selecting.matching(view.budgets, labels(copy))):
        # It would not be counted, so what it guards would be one less once the original is gone.
        message = f"the PodDisruptionBudget {', '.join(sorted(without))} does not select the copy"
        return GiveUp.because(Reason.BUDGET_REFUSED, message)
    return None


def why_several_budgets(view: View, pod: Object) -> str:
    """The Eviction API refuses such a pod for ever."""
    budgets = selecting.matching(view.budgets, labels(pod))
    if len(budgets) <= 1:
        return ""
    listed = ", ".join(sorted(budgets))
    return f"several PodDisruptionBudgets select it, so nobody can evict it: {listed}"


def wait(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> Wait | GiveUp | None:
    """Until the copy serves; None: it does."""
    waiting = _why_not_ready(copy) or _why_not_serving(intent, view, original, copy, progress)
    if not waiting:
        return None
    if timeouts.prepared_seconds(intent, view, progress) > timeouts.time_to_serve(intent, view):
        return GiveUp.because(Reason.NOT_READY_IN_TIME, waiting)
    return Wait(waiting)


def _why_not_ready(copy: Object) -> str:
    if conditions.holds(copy, "Ready"):
        return ""
    scheduled = conditions.find(copy, "PodScheduled")
    if scheduled and scheduled["status"] == "False":
        return f"the copy is not scheduled: {scheduled.get('message', '')}"
    return "the copy is not Ready"


def _why_not_serving(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> str:
    wanted = timeouts.settling(intent, view)
    if progress.copy_ready_seconds < wanted:
        return f"the copy is Ready, but not yet for {wanted:g} s"
    return why_no_endpoint(view, original, copy)


def why_no_endpoint(view: View, original: Object, copy: Object) -> str:
    """Where the original is one. Whether the copy is Ready is asked elsewhere: a Service that
    publishes addresses before they are says of all of them that they are.
    """
    holding = selecting.services_with(view.slices, original["metadata"]["uid"])
    serving = selecting.services_with(view.slices, copy["metadata"]["uid"], ready=True)
    if missing := holding - serving - _from_the_adoption_on(view, copy):
        return f"the copy is not yet a ready endpoint of {', '.join(sorted(missing))}"
    return ""


def _from_the_adoption_on(view: View, copy: Object) -> set[str]:
    """Services that go by the label which the copy lacks, until it is let be adopted."""
    if view.replica_set is None:
        return set()
    lacked = copies.missing_labels(view.replica_set, copy)
    if not lacked:
        return set()
    later = selecting.services_for(view.services, {**labels(copy), **lacked})
    return later - selecting.services_for(view.services, labels(copy))


def why_uneven(intent: Intent, view: View, progress: Progress) -> GiveUp | None:
    """What others did meanwhile: pods that came or went, or a node. Whoever is one of a group goes
    with it all the same, once that goes.
    """
    if not progress.uneven_after or groups.has_begun(intent, view):
        return None
    message = f"{intent.target} is not right for it any more: {progress.uneven_after}"
    return GiveUp.because(Reason.TARGET_LOST, message)


def ask_budget(intent: Intent, original: Object, progress: Progress, step: Step) -> Action:
    if progress.budget_refused_seconds > intent.settings.budget_timeout_seconds:
        message = "a PodDisruptionBudget allows no eviction of the pod"
        return GiveUp.because(Reason.BUDGET_REFUSED, message)
    what = "asks whether the original may be evicted"
    grace = timeouts.grace(original, intent.settings)
    return Evict(what, original, grace, dry_run=True, step=step)
