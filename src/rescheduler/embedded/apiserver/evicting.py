"""Evictions: deleting a pod if its disruption budget allows it (pkg/registry/core/pod/storage).

The order of the questions is the real one's, down to what a refusal has cost already: a budget is
charged before the pod is looked at once more.
"""

from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from rescheduler import wire
from rescheduler.embedded.apiserver import deleting, refusals, reviewing
from rescheduler.embedded.conditions import with_condition
from rescheduler.kube import Object, errors
from rescheduler.model import conditions, objects, selectors

if TYPE_CHECKING:
    from rescheduler.embedded.apiserver.server import ApiServer

_MOST_UNCONFIRMED: Final = 2000
_RETRY_SECONDS: Final = 10.0
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


class Options(TypedDict, total=False):
    """How a pod is evicted."""

    uid: str
    """The one that is meant; else whichever has that name."""
    grace_seconds: int | None
    dry_run: bool
    user: str
    """Who evicts it."""


def evict(api: "ApiServer", namespace: str, name: str, **options: Unpack[Options]) -> None:
    uid, dry_run = options.get("uid", ""), options.get("dry_run", False)
    reviewing.check(
        api.eviction_webhook,
        lambda: reviewing.Asking(
            api.new_uid(), namespace, name, options.get("user", ""), _as_sent(options)
        ),
    )
    pod = api.get(wire.PODS, namespace, name)
    is_ruled_by_version = False
    if not _is_beyond_budgets(pod):
        budgets = [each for each in _budgets(api, namespace) if _selects(each, pod)]
        if len(budgets) > 1:
            raise errors.SeveralBudgets(_SEVERAL, status=500)
        if budgets:
            is_ruled_by_version = _may_go_unready(budgets[0], pod)
            if not is_ruled_by_version:
                _take_from(api, budgets[0], pod, dry_run=dry_run)
    if uid and uid != pod["metadata"]["uid"]:
        if is_ruled_by_version:
            # The server has added a version to what it compares, and takes the conflict for its
            # own: it asks to come again.
            raise _is_being_processed()
        raise refusals.another_is_there(wire.PODS, name, uid, pod["metadata"]["uid"])
    if not dry_run:
        pod = _told_to_go(api, pod)
    deleting.delete(
        api,
        wire.PODS,
        pod,
        grace_seconds=options.get("grace_seconds"),
        propagation="",
        dry_run=dry_run,
    )


def _as_sent(options: Options) -> dict[str, Any]:
    """The deleteOptions of an Eviction."""
    sent: dict[str, Any] = {}
    if uid := options.get("uid"):
        sent["preconditions"] = {"uid": uid}
    if (grace_seconds := options.get("grace_seconds")) is not None:
        sent["gracePeriodSeconds"] = grace_seconds
    if options.get("dry_run"):
        sent["dryRun"] = ["All"]
    return sent


def _is_beyond_budgets(pod: Object) -> bool:
    """It serves nobody, or is going already."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or objects.is_terminating(pod)


def _budgets(api: "ApiServer", namespace: str) -> list[Object]:
    return list(api.in_namespace(wire.POD_DISRUPTION_BUDGETS, namespace))


def _selects(budget: Object, pod: Object) -> bool:
    try:
        selector = selectors.from_object((budget.get("spec") or {}).get("selector"))
    except selectors.InvalidSelectorError:
        return False
    return selector.matches(objects.labels(pod))


def _may_go_unready(budget: Object, pod: Object) -> bool:
    """Nobody misses one that is not Ready, as long as enough others are."""
    if conditions.holds(pod, "Ready"):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _take_from(api: "ApiServer", budget: Object, pod: Object, *, dry_run: bool) -> None:
    status, metadata = budget.get("status") or {}, budget["metadata"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise _is_being_processed()
    allowed = status.get("disruptionsAllowed", 0)
    disrupted = status.get("disruptedPods") or {}
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise refusals.forbidden(wire.POD_DISRUPTION_BUDGETS, metadata["name"], why)
    if len(disrupted) > _MOST_UNCONFIRMED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise refusals.forbidden(wire.POD_DISRUPTION_BUDGETS, metadata["name"], why)
    if not allowed:
        raise errors.BudgetRefused(_REFUSED, status=429)
    if dry_run:
        return
    after = {
        **status,
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {**disrupted, pod["metadata"]["name"]: api.stamp()},
    }
    if allowed == 1:
        after["conditions"] = with_condition(
            status.get("conditions") or (),
            {
                "type": "DisruptionAllowed",
                "status": "False",
                "reason": "InsufficientPods",
                "message": "",
                "observedGeneration": status.get("observedGeneration", 0),
            },
            api.stamp(),
        )
    api.set_status(wire.POD_DISRUPTION_BUDGETS, budget, after)


def _told_to_go(api: "ApiServer", pod: Object) -> Object:
    status = pod.get("status") or {}
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    known = with_condition(status.get("conditions") or (), target, api.stamp())
    return api.set_status(wire.PODS, pod, {**status, "conditions": known})


def _is_being_processed() -> errors.BudgetRefused:
    return errors.BudgetRefused(_REFUSED, status=429, retry_after=_RETRY_SECONDS)
