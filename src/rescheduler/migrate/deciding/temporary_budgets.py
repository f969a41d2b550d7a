"""The PodDisruptionBudget that guards a workload which has none, while one of its pods is evicted.
Pure.

Two budgets on one pod are worse than none: nobody could evict it any more. So there is one of ours
only where nobody else has any, and it goes as soon as somebody else has one.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rescheduler.config.migration import TemporaryBudget
from rescheduler.migrate.deciding import selecting
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.model import conditions, names
from rescheduler.model.objects import Object, controller, is_terminating, labels, spec

_SUFFIX: Final = "-rescheduler-pdb"
_NAME_LIMIT: Final = 253
_HASH_LENGTH: Final = 10


def name_of(workload: str) -> str:
    if len(workload) + len(_SUFFIX) <= _NAME_LIMIT:
        return workload + _SUFFIX
    digest = hashlib.sha256(workload.encode()).hexdigest()[:_HASH_LENGTH]
    room = _NAME_LIMIT - len(_SUFFIX) - len(digest) - 1
    return f"{workload[:room].rstrip('-.')}-{digest}{_SUFFIX}"


def find(intent: Intent, view: View) -> Object | None:
    """The one of this migration. Its label tells, not its name: a user may have chosen the name."""
    return next((each for each in view.budgets if _is_ours(each, intent)), None)


def of_others(intent: Intent, view: View) -> list[Object]:
    return [each for each in view.budgets if not _is_ours(each, intent)]


def rivals(intent: Intent, view: View) -> list[str]:
    """Budgets of others that select the pod, or another pod that ours selects or would select."""
    others = of_others(intent, view)
    pods = [pod for pod in (view.original, *_guarded(view)) if pod is not None]
    return sorted({name for pod in pods for name in selecting.matching(others, labels(pod))})


def build(intent: Intent, view: View) -> dict[str, Any] | None:
    """None: it is not wanted, or it would do harm."""
    settings, workload = intent.settings.temporary_budget, _workload(view)
    if not (intent.settings.coordination and settings.enabled) or workload is None:
        return None
    name = name_of(workload["metadata"]["name"])
    if any(each["metadata"]["name"] == name for each in view.budgets) or rivals(intent, view):
        return None
    rule = _rule(settings)
    # One that allowed no disruption would hold the pod that is to go, and everybody's drains.
    if _allows(rule, view, workload) < 1:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": name,
            "namespace": intent.namespace,
            "labels": {names.RECORD: intent.record},
            # It goes with its workload, even if we are dead by then.
            "ownerReferences": [_reference(view, workload)],
        },
        "spec": {"selector": workload["spec"]["selector"], **rule},
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


def _guarded(view: View) -> list[Object]:
    """The pods that a budget with the selector of the workload counts."""
    workload = _workload(view)
    if workload is None:
        return []
    return [pod for pod in view.neighbours if selecting.matching([workload], labels(pod))]


def _rule(settings: TemporaryBudget) -> Mapping[str, int | str]:
    if settings.max_unavailable is not None:
        return {"maxUnavailable": settings.max_unavailable}
    return {"minAvailable": 1 if settings.min_available is None else settings.min_available}


def _allows(rule: Mapping[str, int | str], view: View, workload: Object) -> int:
    """As the disruption controller counts."""
    pods = _guarded(view)
    healthy = sum(conditions.holds(pod, "Ready") and not is_terminating(pod) for pod in pods)
    wanted = rule.get("minAvailable")
    if isinstance(wanted, int):
        return max(0, healthy - wanted)
    if view.job or not all(_is_of(pod, view) for pod in pods):
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


def _reference(view: View, workload: Object) -> dict[str, str]:
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
