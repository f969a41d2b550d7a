"""The PodDisruptionBudget that guards a workload which has none, while one of its pods is evicted.
Pure.

Two budgets on one pod are worse than none: nobody could evict it any more. So there is one of ours
only where nobody else has any, and it goes as soon as somebody else has one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rescheduler.config.migration import TemporaryBudget
from rescheduler.migrate.deciding import naming, selecting
from rescheduler.migrate.deciding.copy import bare_copies
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.model import conditions, names
from rescheduler.model.objects import (
    Object,
    controller,
    is_active,
    is_terminating,
    labels,
    spec,
)


def find(intent: Intent, view: View) -> Object | None:
    """The one of this migration. Its label tells, not its name: a user may have chosen the name."""
    return next((each for each in view.budgets if _is_ours(each, intent)), None)


def of_others(intent: Intent, view: View) -> list[Object]:
    return [each for each in view.budgets if not _is_ours(each, intent)]


def rivals(intent: Intent, view: View) -> list[str]:
    """Budgets of others that select the pod, or another pod that ours selects or would select."""
    others, guarded = of_others(intent, view), _guarded(_selector(intent, view), view)
    pods = [pod for pod in (view.original, *guarded) if pod is not None]
    return sorted({name for pod in pods for name in selecting.matching(others, labels(pod))})


def build(intent: Intent, view: View) -> dict[str, Any] | None:
    """None: it is not wanted, or it would do harm."""
    settings, reference = intent.settings.temporary_budget, _reference(intent, view)
    if not (intent.settings.coordination and settings.enabled) or reference is None:
        return None
    selector, name = _selector(intent, view), naming.budget_name(reference["name"])
    if any(each["metadata"]["name"] == name for each in view.budgets) or rivals(intent, view):
        return None
    rule = _rule(settings)
    if intent.is_of_foreign:
        rule = _counted(rule, len(_guarded(selector, view)))
    # One that allowed no disruption would hold the pod that is to go, and everybody's drains.
    if selector is None or _allows(rule, view, _guarded(selector, view)) < 1:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": name,
            "namespace": intent.namespace,
            "labels": {names.RECORD: intent.record},
            # It goes with its workload, even if we are dead by then.
            "ownerReferences": [reference],
        },
        "spec": {"selector": selector, **rule},
    }


def why_not_in_force(budget: Object) -> str:
    """Why the API server would still refuse an eviction because of it; empty: it would not."""
    status = budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 1):
        return "the temporary budget is not observed yet"
    if status.get("disruptionsAllowed", 0) < 1:
        return "the temporary budget allows no disruption"
    return ""


def _is_ours(budget: Object, intent: Intent) -> bool:
    return labels(budget).get(names.RECORD) == intent.record


def _workload(view: View) -> Object | None:
    return view.deployment or view.workload


def _selector(intent: Intent, view: View) -> Object | None:
    """None: there is none that selects its pods and no others."""
    if workload := _workload(view):
        selector: Object = workload["spec"]["selector"]
        return selector
    if not intent.is_of_foreign:
        return None
    if ours := find(intent, view):
        return spec(ours).get("selector")  # whatever pods have come and gone since
    return _in_common(view)


def _in_common(view: View) -> Object | None:
    """The labels that all pods have of a controller whose selector nobody but it can read."""
    counted = [pod for pod in view.pods if is_active(pod)]
    known = [bare_copies.labels_of(pod).items() for pod in counted]
    shared = dict(sorted(set(known[0]).intersection(*known[1:]))) if known else {}
    if not shared:
        return None
    selector = {"matchLabels": shared}
    uids = {pod["metadata"]["uid"] for pod in view.pods}
    are_alone = all(pod["metadata"]["uid"] in uids for pod in _guarded(selector, view))
    return selector if are_alone else None


def _guarded(selector: Object | None, view: View) -> list[Object]:
    """The pods that a budget with this selector counts."""
    if selector is None:
        return []
    wanted = selecting.of({"spec": {"selector": selector}})
    return [pod for pod in view.neighbours if wanted.matches(labels(pod))]


def _rule(settings: TemporaryBudget) -> Mapping[str, int | str]:
    if settings.max_unavailable is not None:
        return {"maxUnavailable": settings.max_unavailable}
    return {"minAvailable": 1 if settings.min_available is None else settings.min_available}


def _counted(rule: Mapping[str, int | str], scale: int) -> Mapping[str, int | str]:
    """The same as a number that have to be there: the disruption controller cannot ask a controller
    that it does not know how many there should be.
    """
    if "maxUnavailable" in rule:
        return {"minAvailable": max(0, scale - _scaled(rule["maxUnavailable"], scale))}
    return {"minAvailable": _scaled(rule["minAvailable"], scale)}


def _allows(rule: Mapping[str, int | str], view: View, pods: Sequence[Object]) -> int:
    """As the disruption controller counts."""
    healthy = sum(conditions.holds(pod, "Ready") and not is_terminating(pod) for pod in pods)
    wanted = rule.get("minAvailable")
    if isinstance(wanted, int):
        return max(0, healthy - wanted)
    workload = _workload(view)
    if workload is None or view.job or not all(_is_of(pod, view) for pod in pods):
        # It asks the controller of every pod how many there should be. A Job cannot say, and what
        # others say is not ours to guess.
        return 0
    scale = spec(workload).get("replicas", 1)
    if wanted is not None:
        return max(0, healthy - _scaled(wanted, scale)) if scale > 0 else 0
    bearable = _scaled(rule["maxUnavailable"], scale)
    return max(0, healthy - max(0, scale - bearable)) if scale > 0 else 0


def _scaled(value: int | str, of: int) -> int:
    if isinstance(value, int):
        return value
    return math.ceil(int(value.removesuffix("%")) * of / 100)


def _is_of(pod: Object, view: View) -> bool:
    owner = controller(pod)
    return owner is not None and owner["uid"] in set(_owner_uids(view))


def _owner_uids(view: View) -> Iterable[str]:
    if view.workload is not None:
        yield view.workload["metadata"]["uid"]
    if view.deployment is not None:
        for each in view.replica_sets:
            above = controller(each)
            if above is not None and above["uid"] == view.deployment["metadata"]["uid"]:
                yield each["metadata"]["uid"]


def _reference(intent: Intent, view: View) -> dict[str, str] | None:
    workload = _workload(view)
    if workload is None:
        return _foreign_reference(intent)
    kind = "Deployment"
    if not view.deployment:
        kind = "ReplicaSet" if view.replica_set else "StatefulSet" if view.stateful_set else "Job"
    metadata = workload["metadata"]
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _foreign_reference(intent: Intent) -> dict[str, str] | None:
    owner = intent.owner
    if owner is None or not owner.is_foreign:
        return None
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
