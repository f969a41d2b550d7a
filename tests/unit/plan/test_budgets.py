"""PodDisruptionBudgets: which of them hold a pod, and for which way of moving."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, Configuration, PodRules
from rescheduler.model.moves import Way
from rescheduler.plan.budgets import PENDING, UNREADY, Budgets
from tests.unit.plan.support.movable_scenes import (
    Object,
    owned_by,
    pod,
    snapshot,
    stateful_set,
    why,
)

WEB = {"matchLabels": {"app": "web"}}


def budget(name: str = "web", *, selector: Any = WEB, **changes: Any) -> Object:  # noqa: ANN401
    status = {"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 3, "expectedPods": 3}
    metadata = {"namespace": "shop", "name": name, **changes.pop("metadata", {})}
    spec = {"selector": selector} if selector is not None else {}
    return {"metadata": metadata, "spec": spec, "status": {**status, **changes}}


def held(way: Way, *found: Object) -> tuple[str, ...]:
    cluster = snapshot(pod(), poddisruptionbudgets=found)
    return Budgets(cluster).why_held("shop", {"app": "web"}, way)


def test_without_a_budget_nobody_is_held() -> None:
    assert held(Way.SURGE) == held(Way.RECREATE) == ()


@pytest.mark.parametrize(
    ("found", "surge", "recreate"),
    [
        (budget(disruptionsAllowed=1), "", ""),
        (budget(), "", "3 of 3 healthy, to recreate one needs 4"),
        (
            budget(currentHealthy=2),
            "2 of 3 healthy, a move needs 3",
            "2 of 3 healthy, a move needs 3",
        ),
        (budget(currentHealthy=0, desiredHealthy=0), "", "0 of 0 healthy, to recreate one needs 1"),
        (
            budget(expectedPods=0),
            "it counts no pods, and so allows no disruption ever",
            "it counts no pods, and so allows no disruption ever",
        ),
        (
            budget(disruptionsAllowed=1, metadata={"generation": 2}, observedGeneration=1),
            "it is new or changed, and not counted yet",
            "it is new or changed, and not counted yet",
        ),
        (budget(metadata={"generation": 2}, observedGeneration=2, disruptionsAllowed=1), "", ""),
        (
            budget(
                conditions=[
                    {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}
                ]
            ),
            "its controller cannot count its pods",
            "its controller cannot count its pods",
        ),
        (
            budget(
                conditions=[
                    {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods"}
                ]
            ),
            "",
            "3 of 3 healthy, to recreate one needs 4",
        ),
    ],
    ids=[
        "allows-one",
        "has-all-it-wants",
        "lacks-one",
        "wants-none",
        "counts-nobody",
        "not-counted-yet",
        "counted",
        "failed",
        "insufficient",
    ],
)
def test_a_surge_asks_less_than_to_recreate(found: Object, surge: str, recreate: str) -> None:
    for way, problem in ((Way.SURGE, surge), (Way.RECREATE, recreate)):
        expected = (f"its PodDisruptionBudget web: {problem}",) if problem else ()
        assert held(way, found) == expected


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (WEB, True),
        ({}, True),
        (None, False),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}, False),
    ],
    ids=["its-labels", "everything", "nothing", "others", "expression", "unreadable"],
)
def test_which_pods_a_budget_is_about(selector: Object | None, *, matches: bool) -> None:
    assert bool(held(Way.SURGE, budget(selector=selector, currentHealthy=0))) == matches


def test_a_budget_of_another_namespace_is_not_its_own() -> None:
    assert held(Way.RECREATE, budget(metadata={"namespace": "other"})) == ()


def test_more_than_one_budget_lets_nobody_pass() -> None:
    both = budget("b", disruptionsAllowed=1), budget("a", selector={}, disruptionsAllowed=1)
    reason = ("no eviction passes more than one PodDisruptionBudget: a, b",)
    assert held(Way.SURGE, *both) == held(Way.RECREATE, *both) == reason


def test_a_pod_is_held_by_its_way() -> None:
    tight = [budget()]
    assert why(snapshot(pod(), poddisruptionbudgets=tight)) == ()
    stateful = snapshot(
        pod(owner=owned_by("StatefulSet")),
        statefulsets=[stateful_set()],
        poddisruptionbudgets=tight,
    )
    reason = "its PodDisruptionBudget web: 3 of 3 healthy, to recreate one needs 4"
    assert why(stateful, asked=True) == (reason,)
    allowing = Configuration(pods=PodRules(recreate=ALLOWED))
    assert why(stateful, allowing) == (reason,)


@pytest.mark.parametrize(
    ("found", "health", "problem"),
    [
        (budget(), UNREADY, ""),
        (budget(currentHealthy=2), PENDING, ""),
        (
            budget(currentHealthy=2),
            UNREADY,
            "2 of 3 healthy, a move needs 3 (or unhealthyPodEvictionPolicy: AlwaysAllow)",
        ),
        (budget(currentHealthy=2, disruptionsAllowed=1), UNREADY, ""),
        (
            budget(currentHealthy=0, desiredHealthy=0),
            UNREADY,
            "0 of 0 healthy, to recreate one needs 1",
        ),
    ],
)
def test_who_is_not_ready_is_let_go_as_the_api_server_does(
    found: Object, health: int, problem: str
) -> None:
    cluster = snapshot(pod(), poddisruptionbudgets=[found])
    told = Budgets(cluster).why_held("shop", {"app": "web"}, Way.RECREATE, health)
    assert told == ((f"its PodDisruptionBudget web: {problem}",) if problem else ())
    always = {**found, "spec": {**found["spec"], "unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    cluster = snapshot(pod(), poddisruptionbudgets=[always])
    assert Budgets(cluster).why_held("shop", {"app": "web"}, Way.RECREATE, health) == ()
