"""The way that a pod's owner, or the configuration, wants it to be moved in."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, NEVER, Configuration, Migration, PodRules
from rescheduler.model import names
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

ANNOTATION = f"its annotation {names.WAY}"
SETTING = "migration.way"


def wanting(way: str, **changes: Any) -> Object:  # noqa: ANN401
    return pod(metadata={"annotations": {names.WAY: way}}, **changes)


def by(way: str, **rules: Any) -> Configuration:  # noqa: ANN401
    return Configuration(migration=Migration(way=way), pods=PodRules(**rules))


@pytest.mark.parametrize(
    ("found", "configuration", "who"),
    [
        (wanting("Recreate"), Configuration(), ANNOTATION),
        (wanting("Recreate"), by("Surge"), ANNOTATION),
        (wanting("Recreate"), by("Auto", recreate=NEVER), ANNOTATION),
        (pod(), by("Recreate"), SETTING),
        (pod(), by("Recreate", recreate=NEVER), SETTING),
    ],
)
def test_who_asks_for_it_agrees_to_be_recreated(
    found: Object, configuration: Configuration, who: str
) -> None:
    cluster = snapshot(found)
    asked = movable(cluster, configuration)
    assert asked.way(row(cluster)) is Way.RECREATE
    assert asked.why_recreated(row(cluster)) == f"{who} is Recreate"
    assert why(cluster, configuration) == ()


@pytest.mark.parametrize(
    ("found", "configuration", "who"),
    [
        (wanting("Surge", hostNetwork=True), Configuration(), ANNOTATION),
        (wanting("Surge", hostNetwork=True), by("Recreate", recreate="Allowed"), ANNOTATION),
        (pod(hostNetwork=True), by("Surge", recreate="Allowed"), SETTING),
    ],
)
def test_who_wants_a_surge_is_not_recreated_by_anybody(
    found: Object, configuration: Configuration, who: str
) -> None:
    reason = f"its move would recreate it, and {who} is Surge: it uses ports of its node"
    for asked in (False, True):
        assert why(snapshot(found), configuration, asked=asked) == (reason,)


@pytest.mark.parametrize("configuration", [by("Auto"), by("Surge")])
@pytest.mark.parametrize("found", [pod(), wanting("Surge")])
def test_a_surge_that_can_be_had_is_had(found: Object, configuration: Configuration) -> None:
    cluster = snapshot(found)
    assert movable(cluster, configuration).way(row(cluster)) is Way.SURGE
    assert why(cluster, configuration) == ()


@pytest.mark.parametrize("value", ["Auto", "surge", "steer", "Copy", " "])
def test_a_way_that_nobody_knows_keeps_a_pod_where_it_is(value: str) -> None:
    reason = f"{ANNOTATION} is {value!r}: it can be Surge or Recreate"
    for asked in (False, True):
        assert why(wanting(value), by("Recreate"), asked=asked) == (reason,)


def test_an_empty_annotation_says_nothing() -> None:
    cluster = snapshot(wanting(""))
    assert movable(cluster).way(row(cluster)) is Way.SURGE
    assert why(cluster) == ()


def test_pods_that_are_alike_otherwise_go_each_in_its_own_way() -> None:
    other = {"annotations": {names.WAY: "Recreate"}, "name": "web-2", "uid": "uid-web-2"}
    cluster = snapshot(pod(), pod(metadata=other))
    found = movable(cluster)
    assert [found.way(row(cluster, name)) for name in ("web-1", "web-2")] == [
        Way.SURGE,
        Way.RECREATE,
    ]


def test_whoever_is_recreated_anyway_has_its_owner_s_consent_by_the_annotation() -> None:
    of_set = wanting("Recreate", owner=owned_by("StatefulSet"))
    cluster = snapshot(of_set, statefulsets=[stateful_set()])
    assert why(cluster) == ()
    assert movable(cluster).why_recreated(row(cluster)) == "it is one of a StatefulSet"


def test_a_pod_that_nobody_would_make_anew_is_not_steered() -> None:
    reason = f"{ANNOTATION} is Recreate, and nobody would make it anew"
    assert why(wanting("Recreate", owner=None), by("Auto", bare_pods=ALLOWED)) == (reason,)
    cluster = snapshot(pod(owner=None))
    configuration = by("Recreate", bare_pods=ALLOWED)
    assert movable(cluster, configuration).way(row(cluster)) is Way.SURGE
    assert why(cluster, configuration) == ()


def test_a_budget_is_asked_for_one_that_is_recreated() -> None:
    budget = {
        "metadata": {"namespace": "shop", "name": "b"},
        "spec": {"selector": {}},
        "status": {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }
    assert why(snapshot(pod(), poddisruptionbudgets=[budget])) == ()
    assert why(snapshot(wanting("Recreate"), poddisruptionbudgets=[budget])) == (
        "its PodDisruptionBudget b: 1 of 1 healthy, to recreate one needs 2",
    )
