"""The copy of a pod that nobody controls: made from the live pod, which is all there is. Pure.

What the API server, admission, the scheduler and the network have put into the live pod is taken
out: the second time it would be refused, or be wrong.
"""

import copy
from datetime import datetime
from typing import Any, Final

from rescheduler.migrate.deciding import marks
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import company, names, pins
from rescheduler.model.leases import is_ours
from rescheduler.model.objects import Object, annotations, labels

_FILLED_IN: Final = frozenset(
    {
        "ephemeralContainers",  # may only be added to a pod that exists
        "nodeName",
        "overhead",  # of the RuntimeClass as it was then
        "preemptionPolicy",  # of the PriorityClass as it was then
        "priority",
        "schedulingGates",
    }
)
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - the name of a volume
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_DEFAULT_TOLERATIONS: Final = tuple(
    {
        "key": f"node.kubernetes.io/{problem}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for problem in ("not-ready", "unreachable")
)
_LABELS: Final = (
    names.OF_ONE_POD | names.OF_ONE_PLACE | {"pod-template-hash", "controller-revision-hash"}
)
_ANNOTATIONS: Final = frozenset(
    {
        names.DELETION_COST,
        names.MIGRATED_FROM,
        names.MIGRATION_REASON,
        names.MIGRATION_TIME,
        names.ORIGINAL_POD,
        names.ORIGINAL_POD_NAME,
        names.OWN_DO_NOT_DISRUPT,
        names.PREVIOUS_DELETION_COST,
        names.PREVIOUS_MIGRATION,
        "kubectl.kubernetes.io/last-applied-configuration",
        "kubernetes.io/limit-ranger",
    }
)
_OF_THE_NETWORK: Final = (
    "cni.projectcalico.org/",
    "k8s.ovn.org/",
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
    "ovn.kubernetes.io/",
)
"""What plug-ins tell about the address of this very pod."""


def build(
    intent: Intent, original: Object, *, at: datetime, target: Object | None = None
) -> dict[str, Any]:
    history, told = marks.history(intent, at), _annotations_of(original)
    lease = marks.lease(intent, target, told)
    in_progress = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": intent.copy,
            "namespace": intent.namespace,
            "labels": {**labels_of(original), **history["labels"], **in_progress},
            "annotations": {**told, **history["annotations"], **lease},
        },
        "spec": pins.add(_spec_of(original), intent.target),
    }


def as_made(original: Object) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """Labels, annotations and specification, as far as a create takes them."""
    return labels_of(original), _annotations_of(original), _spec_of(original)


def labels_of(original: Object) -> dict[str, str]:
    """Those by which others find the pod."""
    return {key: value for key, value in labels(original).items() if key not in _LABELS}


def _annotations_of(original: Object) -> dict[str, str]:
    told = annotations(original)
    ours = _ANNOTATIONS | ({names.DO_NOT_DISRUPT} if is_ours(told) else set())
    return {
        key: value
        for key, value in told.items()
        if key not in ours and not key.startswith(_OF_THE_NETWORK)
    }


def _spec_of(original: Object) -> dict[str, Any]:
    kept = {key: value for key, value in original["spec"].items() if key not in _FILLED_IN}
    spec = copy.deepcopy(kept)
    # The pin of an earlier move; not one that the user had set.
    is_copy = names.ORIGINAL_POD in annotations(original) or pins.is_name_of_copy(
        original["metadata"]["name"], ""
    )
    if is_copy and pins.target(spec) == original["spec"].get("nodeName"):
        spec = pins.remove(spec)
    _take_out_token(spec)
    _take_out_tolerations(spec)
    for _, term in company.rules(spec):
        _take_out_merged(term)
    return spec


def _take_out_token(spec: dict[str, Any]) -> None:
    volumes = spec.get("volumes") or []
    injected = {
        each["name"]
        for each in volumes
        if each["name"].startswith(_TOKEN_VOLUME) and "projected" in each
    }
    _keep(spec, "volumes", lambda each: each["name"] not in injected)
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        _keep(
            container,
            "volumeMounts",
            lambda each: each["name"] not in injected or each["mountPath"] != _TOKEN_PATH,
        )


def _take_out_tolerations(spec: dict[str, Any]) -> None:
    _keep(spec, "tolerations", lambda each: each not in _DEFAULT_TOLERATIONS)


def _keep(holder: dict[str, Any], key: str, wanted: Any) -> None:  # noqa: ANN401
    if not holder.get(key):
        return
    holder[key] = [each for each in holder[key] if wanted(each)]
    if not holder[key]:
        del holder[key]


# ---------------------------------------------------------------------- matchLabelKeys


def _take_out_merged(term: dict[str, Any]) -> None:
    """What the API server has added to the selector for `matchLabelKeys` and `mismatchLabelKeys`.
    It adds it again, and refuses a key that is there twice.
    """
    added = {
        (operator, key) for field, operator in company.LABEL_KEYS for key in term.get(field) or ()
    }
    selector = term.get("labelSelector")
    if selector:
        _keep(
            selector, "matchExpressions", lambda each: (each["operator"], each["key"]) not in added
        )
