"""ResourceQuotas: room for a second pod, of every kind of resource, for every scope."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, Configuration, PodRules
from rescheduler.model.moves import Way
from tests.unit.plan.support.movable_scenes import (
    Object,
    movable,
    owned_by,
    pod,
    row,
    snapshot,
    stateful_set,
    why,
)

RESOURCES = {
    "requests": {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"},
    "limits": {"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"},
}
POD = pod(containers=[{"name": "app", "resources": RESOURCES}])
ROOM = "ResourceQuota q has no room for a second pod: "
SUCCESSOR = "ResourceQuota q would not let its successor in: "


def quota(
    hard: dict[str, str],
    used: dict[str, str],
    *,
    name: str = "q",
    namespace: str = "shop",
    **spec: Any,  # noqa: ANN401
) -> Object:
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


def told(found: Object, *quotas: Object) -> str:
    """Why both cannot be there at once."""
    cluster = snapshot(found, resourcequotas=quotas)
    return movable(cluster).why_recreated(row(cluster))


@pytest.mark.parametrize(
    ("resource", "hard", "fits", "too_much"),
    [
        ("pods", "3", "2", "3"),
        ("count/pods", "3", "2", "3"),
        ("cpu", "2", "1500m", "1501m"),
        ("requests.cpu", "2", "1500m", "1501m"),
        ("limits.cpu", "2", "1", "1001m"),
        ("memory", "3Gi", "2Gi", "2049Mi"),
        ("requests.memory", "3Gi", "2Gi", "2049Mi"),
        ("limits.memory", "4Gi", "2Gi", "2049Mi"),
        ("requests.example.com/gpu", "2", "1", "2"),
    ],
)
def test_room_for_a_second_pod(resource: str, hard: str, fits: str, too_much: str) -> None:
    assert told(POD, quota({resource: hard}, {resource: fits})) == ""
    full = quota({resource: hard}, {resource: too_much})
    assert told(POD, full) == f"{ROOM}{resource}, {too_much} of {hard} used"


@pytest.mark.parametrize(
    "resource",
    [
        "services",
        "count/deployments.apps",
        "requests.storage",
        "requests.ephemeral-storage",
        "ephemeral-storage",
        "requests.example.com/tpu",
        "hugepages-2Mi",
    ],
)
def test_what_the_pod_takes_nothing_of(resource: str) -> None:
    assert told(POD, quota({resource: "1"}, {resource: "1"})) == ""


def test_all_that_is_short_is_told_of_every_quota() -> None:
    tight = quota(
        {"pods": "1", "cpu": "1", "memory": "9Gi"}, {"pods": "1", "cpu": "1", "memory": "1Gi"}
    )
    other = quota({"limits.cpu": "1"}, {"limits.cpu": "1"}, name="r")
    elsewhere = quota({"pods": "0"}, {"pods": "0"}, name="s", namespace="other")
    assert told(POD, other, elsewhere, tight) == (
        f"{ROOM}cpu, 1 of 1 used; pods, 1 of 1 used; "
        "ResourceQuota r has no room for a second pod: limits.cpu, 1 of 1 used"
    )


def test_a_quota_that_was_not_counted_yet() -> None:
    unknown = "what is used of pods is not known"
    for used in ({}, {"pods": "few"}):
        assert told(POD, quota({"pods": "9"}, used)) == f"{ROOM}{unknown}"
        cluster = snapshot(POD, resourcequotas=[quota({"pods": "9"}, used)])
        assert why(cluster, asked=True) == (f"{SUCCESSOR}{unknown}",)
    assert told(POD, quota({"services": "9"}, {})) == ""


def test_whatever_adds_up() -> None:
    """Sidecars run beside containers, a larger step before them counts, overhead is on top, and
    what the whole pod asks for stands in place of it all.
    """
    cpu = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    large = {"resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "5"}}}
    sidecar = {"name": "side", "restartPolicy": "Always", **cpu}
    common: Object = {"containers": [{"name": "app", **cpu}], "overhead": {"cpu": "250m"}}
    for spec, requests, limits in (
        (common, "1250m", "2250m"),
        ({**common, "initContainers": [sidecar]}, "2250m", "4250m"),
        ({**common, "initContainers": [{"name": "step", **large}]}, "4250m", "5250m"),
        (
            {**common, "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}},
            "3250m",
            "3250m",
        ),
    ):
        found = pod(**spec)
        exact = {"requests.cpu": requests, "limits.cpu": limits}
        none = {"requests.cpu": "0", "limits.cpu": "0"}
        assert told(found, quota(exact, none)) == ""
        least = {"requests.cpu": "1m", "limits.cpu": "1m"}
        assert told(found, quota(exact, least)) == (
            f"{ROOM}limits.cpu, 1m of {limits} used; requests.cpu, 1m of {requests} used"
        )


# ------------------------------------------------------------------ scopes

BEST_EFFORT = pod(containers=[{"name": "app"}])
FULL: tuple[dict[str, str], dict[str, str]] = ({"pods": "1"}, {"pods": "1"})
NEAR = {"labelSelector": {}, "topologyKey": "zone", "namespaceSelector": {}}
CROSSING = pod(
    affinity={
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": NEAR}
            ]
        }
    }
)
HOME = pod(
    affinity={
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {}, "topologyKey": "zone"}
            ]
        }
    }
)
HIGH = pod(priorityClassName="high")


def test_only_a_memory_limit_is_not_best_effort() -> None:
    limited = pod(containers=[{"name": "app", "resources": {"limits": {"memory": "1Gi"}}}])
    assert told(limited, quota(*FULL, scopes=["NotBestEffort"]))
    assert not told(limited, quota(*FULL, scopes=["BestEffort"]))


@pytest.mark.parametrize(
    ("found", "scope", "counts"),
    [
        (POD, "NotTerminating", True),
        (POD, "Terminating", False),
        (POD, "BestEffort", False),
        (POD, "NotBestEffort", True),
        (BEST_EFFORT, "BestEffort", True),
        (BEST_EFFORT, "NotBestEffort", False),
        (POD, "CrossNamespacePodAffinity", False),
        (HOME, "CrossNamespacePodAffinity", False),
        (CROSSING, "CrossNamespacePodAffinity", True),
        (POD, "PriorityClass", False),
        (HIGH, "PriorityClass", True),
        (POD, "OfTomorrow", True),
    ],
)
def test_scopes(found: Object, scope: str, *, counts: bool) -> None:
    assert bool(told(found, quota(*FULL, scopes=[scope]))) == counts
    expression = {"scopeName": scope, "operator": "Exists"}
    selected = quota(*FULL, scopeSelector={"matchExpressions": [expression]})
    assert bool(told(found, selected)) == counts


def test_all_scopes_must_hold() -> None:
    assert told(POD, quota(*FULL, scopes=["NotTerminating", "NotBestEffort"]))
    assert not told(POD, quota(*FULL, scopes=["NotTerminating", "BestEffort"]))


@pytest.mark.parametrize(
    ("operator", "values", "of_high", "of_none"),
    [
        ("In", ["high", "low"], True, False),
        ("In", ["low"], False, False),
        ("NotIn", ["high"], False, True),
        ("NotIn", ["low"], True, True),
        ("Exists", [], True, False),
        ("DoesNotExist", [], False, True),
        ("Near", ["low"], True, True),
    ],
)
def test_priority_classes(
    operator: str, values: list[str], *, of_high: bool, of_none: bool
) -> None:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    found = quota(*FULL, scopeSelector={"matchExpressions": [expression]})
    assert bool(told(HIGH, found)) == of_high
    assert bool(told(POD, found)) == of_none


# ------------------------------------------------------------------ who needs room


def test_who_has_no_room_for_a_second_one_is_recreated_where_that_is_allowed() -> None:
    cluster = snapshot(POD, resourcequotas=[quota(*FULL)])
    assert movable(cluster).way(row(cluster)) is Way.RECREATE
    assert movable(cluster).why_recreated(row(cluster)) == f"{ROOM}pods, 1 of 1 used"


def test_what_a_budget_does_not_allow_is_not_allowed_for_want_of_room() -> None:
    budget = {
        "metadata": {"namespace": "shop", "name": "b"},
        "spec": {"selector": {}},
        "status": {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }
    cluster = snapshot(POD, resourcequotas=[quota(*FULL)], poddisruptionbudgets=[budget])
    reason = "its PodDisruptionBudget b: 1 of 1 healthy, to recreate one needs 2"
    assert why(cluster, asked=True) == (reason,)


def test_who_ends_before_its_successor_begins_needs_no_room() -> None:
    stateful = snapshot(
        pod(owner=owned_by("StatefulSet")),
        statefulsets=[stateful_set()],
        resourcequotas=[quota(*FULL)],
    )
    assert why(stateful, asked=True) == ()


def test_a_quota_that_was_cut_lets_no_successor_in() -> None:
    cut = quota({"pods": "1"}, {"pods": "2"})
    stateful = snapshot(
        pod(owner=owned_by("StatefulSet")), statefulsets=[stateful_set()], resourcequotas=[cut]
    )
    for cluster in (stateful, snapshot(POD, resourcequotas=[cut])):
        assert why(cluster, asked=True) == (f"{SUCCESSOR}pods, 2 of 1 used",)


def test_of_a_bare_pod_nobody_knows_whether_it_has_a_deadline() -> None:
    configuration = Configuration(pods=PodRules(bare_pods=ALLOWED))
    for scope in ("Terminating", "NotTerminating"):
        cluster = snapshot(pod(owner=None), resourcequotas=[quota(*FULL, scopes=[scope])])
        assert why(cluster, configuration) == (f"{ROOM}pods, 1 of 1 used",)
