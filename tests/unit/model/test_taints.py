"""Taints and tolerations. The tables follow k8s.io/api v0.36.4."""

from typing import Any

import pytest

from rescheduler.model import taints

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}

TOLERATIONS = [
    ({}, False),
    ({"operator": "Exists"}, True),
    ({"key": "", "operator": "Exists", "effect": ""}, True),
    ({"operator": "Exists", "effect": "NoSchedule"}, True),
    ({"operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "team", "operator": "Exists"}, True),
    ({"key": "team", "operator": "Exists", "tolerationSeconds": 5}, True),
    ({"key": "other", "operator": "Exists"}, False),
    ({"key": "team", "operator": "Equal", "value": "a"}, True),
    ({"key": "team", "operator": "Equal", "value": "b"}, False),
    ({"key": "team", "value": "a"}, True),
    ({"key": "team", "value": "a", "effect": "NoExecute"}, False),
    ({"key": "team"}, False),
    ({"value": "a"}, True),
    ({"key": "team", "operator": "Gt", "value": "0"}, False),
    ({"key": "team", "operator": "Lt", "value": "9"}, False),
    ({"key": "team", "operator": "Unheard"}, False),
]


@pytest.mark.parametrize(("toleration", "tolerated"), TOLERATIONS, ids=str)
def test_tolerates(toleration: dict[str, Any], *, tolerated: bool) -> None:
    others = [{"key": "x", "operator": "Exists"}]
    assert taints.is_tolerated(TAINT, [*others, toleration]) is tolerated
    assert (taints.untolerated([TAINT], [*others, toleration]) is None) is tolerated


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_numbers_are_not_compared_while_their_gate_is_off(operator: str) -> None:
    toleration = {"key": "n", "operator": operator, "value": "5"}
    for value in ("4", "5", "6"):
        taint = {"key": "n", "value": value, "effect": "NoExecute"}
        assert taints.untolerated([taint], [toleration]) is taint


def test_no_value_is_an_empty_value() -> None:
    assert taints.is_tolerated({"key": "k", "effect": "NoSchedule"}, [{"key": "k", "value": ""}])
    assert taints.is_tolerated({"key": "k", "value": "", "effect": "NoSchedule"}, [{"key": "k"}])


@pytest.mark.parametrize(
    ("effect", "keeps_away"),
    [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False), ("Unheard", False)],
)
def test_effects(effect: str, *, keeps_away: bool) -> None:
    taint = {"key": "k", "effect": effect}
    assert taints.untolerated([taint], []) == (taint if keeps_away else None)


def test_the_first_that_is_not_tolerated_is_told() -> None:
    other = {**TAINT, "key": "other"}
    wish = {"key": "wish", "effect": "PreferNoSchedule"}
    tolerations = iter([{"key": "team", "operator": "Exists"}])
    assert taints.untolerated([wish, TAINT, other, {**other, "key": "z"}], tolerations) is other
