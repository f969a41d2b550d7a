"""Who selects pods by their labels."""

from typing import Any

import pytest

from rescheduler.migrate.deciding import selecting
from rescheduler.model import selectors


def _selector(**labels: str) -> dict[str, Any]:
    return {"matchLabels": labels}


def test_services_select_by_plain_labels() -> None:
    services = [{"spec": {"selector": {"app": "web"}}}, {"spec": {"selector": {"app": "db"}}}]
    assert [str(each) for each in selecting.of_services(services)] == ["app=web", "app=db"]


@pytest.mark.parametrize(
    "service", [{}, {"spec": {}}, {"spec": {"selector": None}}, {"spec": {"selector": {}}}]
)
def test_a_service_without_a_selector_selects_nothing(service: dict[str, Any]) -> None:
    assert selecting.of_services([service]) == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (_selector(app="web"), selectors.parse("app=web")),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, selectors.parse("a")),
        ({}, selectors.EVERYTHING),
        (None, selectors.NOTHING),
        ({"matchLabels": {"-": "not valid"}}, selectors.NOTHING),
    ],
    ids=["labels", "expressions", "empty", "none", "not-valid"],
)
def test_budgets(selector: dict[str, Any] | None, expected: selectors.Selector) -> None:
    assert selecting.of_budgets([{"spec": {"selector": selector}}]) == [expected]


def test_network_policies_count_with_their_peers() -> None:
    policy = {
        "spec": {
            "podSelector": _selector(app="web"),
            "ingress": [
                {"from": [{"podSelector": _selector(role="client")}, {"ipBlock": {"cidr": "::/0"}}]}
            ],
            "egress": [{"to": [{"podSelector": _selector(role="db")}]}, {"ports": []}],
        }
    }
    found = selecting.of_network_policies([policy])
    assert [str(each) for each in found] == ["app=web", "role=client", "role=db"]


@pytest.mark.parametrize("policy", [{}, {"spec": {"podSelector": {}, "ingress": None}}])
def test_network_policies_may_be_empty(policy: dict[str, Any]) -> None:
    used = [each.requirements for each in selecting.of_network_policies([policy])]
    assert used in ([selectors.NOTHING.requirements], [()])


def test_names_of_those_that_match() -> None:
    holders: list[dict[str, Any]] = [
        {"metadata": {"name": "all"}, "spec": {"selector": {}}},
        {"metadata": {"name": "web"}, "spec": {"selector": _selector(app="web")}},
        {"metadata": {"name": "db"}, "spec": {"selector": _selector(app="db")}},
        {"metadata": {"name": "none"}, "spec": {}},
    ]
    assert selecting.matching(holders, {"app": "web"}) == ["all", "web"]


def _slice(service: str | None, *endpoints: dict[str, Any]) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": service} if service else None
    return {"metadata": {"name": "slice-1", "labels": labels}, "endpoints": list(endpoints)}


def _endpoint(uid: str, *, ready: bool | None = True) -> dict[str, Any]:
    return {"targetRef": {"uid": uid}, "conditions": {"ready": ready}}


def test_services_that_hold_a_pod() -> None:
    slices = [
        _slice("web", _endpoint("1"), _endpoint("2", ready=False)),
        _slice("web", _endpoint("1")),
        _slice("admin", _endpoint("2")),
        _slice(None, _endpoint("1")),
    ]
    assert selecting.services_with(slices, "1") == {"web", "slice-1"}
    assert selecting.services_with(slices, "2") == {"web", "admin"}
    assert selecting.services_with(slices, "2", ready=True) == {"admin"}


@pytest.mark.parametrize(
    "endpoints",
    [None, [{}], [{"targetRef": None}], [{"targetRef": {"uid": "1"}}]],
    ids=["none", "empty", "no-target", "no-conditions"],
)
def test_slices_may_be_sparse(endpoints: list[Any] | None) -> None:
    slices = [{"metadata": {"name": "x"}, "endpoints": endpoints}]
    assert selecting.services_with(slices, "1", ready=True) == set()
