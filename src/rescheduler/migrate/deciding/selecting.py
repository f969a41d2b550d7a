"""Who selects pods by their labels: Services, budgets, network policies, ReplicaSets. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.model import company, selectors
from rescheduler.model.objects import Object, has_ended
from rescheduler.model.selectors import Selector


def of_services(services: Iterable[Object]) -> list[Selector]:
    # A Service without a selector has its endpoints written by someone else.
    found = ((each.get("spec") or {}).get("selector") for each in services)
    return [_read({"matchLabels": each}) for each in found if each]


def of_budgets(budgets: Iterable[Object]) -> list[Selector]:
    return [of(each) for each in budgets]


def of_network_policies(policies: Iterable[Object]) -> list[Selector]:
    return [_read(each) for policy in policies for each in selectors.of_network_policy(policy)]


def of_pods(pods: Iterable[Object]) -> list[Selector]:
    """What pods ask of the company they keep; those that have ended keep none."""
    there = [pod for pod in pods if not has_ended(pod)]
    asked = [each for pod in there for _, each in company.asked_for(pod["spec"])]
    # Pods of one workload ask for the same.
    return [_read(each) for each in {repr(each): each for each in asked}.values()]


def of(holder: Object) -> Selector:
    """The `spec.selector` of a budget, a ReplicaSet, ..."""
    return _read((holder.get("spec") or {}).get("selector"))


def matching(holders: Iterable[Object], labels: Mapping[str, str]) -> list[str]:
    """Names of the budgets or ReplicaSets whose `spec.selector` matches these labels."""
    return [each["metadata"]["name"] for each in holders if of(each).matches(labels)]


def services_for(services: Iterable[Object], labels: Mapping[str, str]) -> set[str]:
    """Names of the Services that select these labels."""
    return {
        each["metadata"]["name"]
        for each in services
        if any(selector.matches(labels) for selector in of_services([each]))
    }


def services_with(slices: Iterable[Object], pod_uid: str, *, ready: bool = False) -> set[str]:
    """Services whose EndpointSlices hold the pod (and say that it is ready)."""
    found = set()
    for each in slices:
        for endpoint in each.get("endpoints") or ():
            if (endpoint.get("targetRef") or {}).get("uid") != pod_uid:
                continue
            if not ready or (endpoint.get("conditions") or {}).get("ready"):
                labels = each["metadata"].get("labels") or {}
                found.add(labels.get("kubernetes.io/service-name", each["metadata"]["name"]))
    return found


def _read(selector: Mapping[str, Any] | None) -> Selector:
    try:
        return selectors.from_object(selector)
    except selectors.InvalidSelectorError:
        # As the API server does: a selector that cannot be read matches nothing.
        return selectors.NOTHING
