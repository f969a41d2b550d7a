"""Which pods go first: each rule alone, and each before the next, as for a ReplicaSet."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.embedded.controllers.ranking import deletion_cost, to_delete
from rescheduler.embedded.statuses import stamp
from rescheduler.embedded.virtual_time import START
from rescheduler.kube import Object

NOW = START + timedelta(days=10)


def pod(  # noqa: PLR0913 - every rule of the ranking has its own
    uid: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready_seconds: float | None = 4000,
    cost: str | None = None,
    restarts: int = 0,
    sidecar_restarts: int = 0,
    age_seconds: float = 5000,
) -> Object:
    """Like all others, but for what is said."""
    ready: Object = {"type": "Ready", "status": "False"}
    if ready_seconds is not None:
        since = stamp(NOW - timedelta(seconds=ready_seconds))
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    metadata: Object = {
        "name": uid,
        "uid": uid,
        "creationTimestamp": stamp(NOW - timedelta(seconds=age_seconds)),
    }
    if cost is not None:
        metadata["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    return {
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "once"}],
        },
        "status": {
            "phase": phase,
            "conditions": [ready],
            "containerStatuses": [{"name": "web", "restartCount": restarts}],
            "initContainerStatuses": [
                {"name": "proxy", "restartCount": sidecar_restarts},
                {"name": "once", "restartCount": 99},
            ],
        },
    }


def first(*pods: Object, related: Sequence[Object] = ()) -> str:
    found = to_delete(pods, related, 1, NOW)
    # What came first must not matter.
    assert to_delete(pods[::-1], related, 1, NOW) == found
    (gone,) = found
    return str(gone["metadata"]["uid"])


# Each kind of pod loses against the one above it, whatever else speaks for it: `a` goes.
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "unassigned before assigned": (
        {"node": "", "phase": "Running", "cost": "9"},
        {"phase": "Pending", "ready_seconds": None, "cost": "-9"},
    ),
    "pending before unknown": (
        {"phase": "Pending", "cost": "9"},
        {"phase": "Unknown", "ready_seconds": None, "cost": "-9"},
    ),
    "unknown before running": (
        {"phase": "Unknown", "cost": "9"},
        {"ready_seconds": None, "cost": "-9"},
    ),
    "not ready before ready": (
        {"ready_seconds": None, "cost": "2147483647"},
        {"cost": "-2147483648", "restarts": 9},
    ),
    "lower cost before higher": (
        {"cost": "-1"},
        {"ready_seconds": 1, "restarts": 9, "age_seconds": 2},
    ),
    "cost of nothing before a cost": ({}, {"cost": "1", "ready_seconds": 1, "age_seconds": 2}),
    "ready for less time": (
        {"ready_seconds": 100},
        {"ready_seconds": 4000, "restarts": 9, "age_seconds": 4001},
    ),
    "more restarts": ({"restarts": 2}, {"restarts": 1, "sidecar_restarts": 9}),
    "more restarts of a sidecar": (
        {"sidecar_restarts": 2},
        {"sidecar_restarts": 1, "age_seconds": 4001},
    ),
    "newer": ({"age_seconds": 4100}, {"age_seconds": 40_000}),
}


@pytest.mark.parametrize("rule", RULES)
def test_goes_first(rule: str) -> None:
    going, staying = RULES[rule]
    # By their UIDs it would be the other one.
    assert first(pod("b", **going), pod("a", **staying)) == "b"


def test_one_of_two_on_a_node_goes_before_one_that_is_alone() -> None:
    alone = pod("a", node="alone", ready_seconds=1, restarts=9, age_seconds=2)
    double = pod("b", node="double")
    of_another_revision = pod("c", node="double")
    related = [alone, double, of_another_revision]
    assert first(alone, double, related=related) == "b"
    # Its lower cost decides before that.
    cheap = pod("a", node="alone", cost="-1")
    assert first(cheap, double, related=[cheap, double, of_another_revision]) == "a"


def test_pods_that_have_ended_or_are_to_end_double_nobody_up() -> None:
    young, old = pod("b", node="x", ready_seconds=100), pod("a", node="y")
    ended = pod("c", node="y", phase="Failed")
    ending = pod("d", node="y")
    ending["metadata"]["deletionTimestamp"] = stamp(NOW)
    assert first(young, old, related=[young, old, ended, ending]) == "b"


def test_ready_for_about_as_long_is_decided_by_the_uid() -> None:
    # 2^41 and 2^42 nanoseconds are about 2,199 and 4,398 seconds.
    assert first(pod("a", ready_seconds=4300), pod("b", ready_seconds=2300)) == "a"
    assert first(pod("a", ready_seconds=4500), pod("b", ready_seconds=4300)) == "b"


def test_of_about_the_same_age_is_decided_by_the_uid() -> None:
    assert first(pod("a", age_seconds=8700), pod("b", age_seconds=4500)) == "a"
    assert first(pod("a", age_seconds=8900), pod("b", age_seconds=4500)) == "b"


def test_ready_since_nobody_knows_when_goes_first() -> None:
    unknown = pod("b")
    unknown["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert first(unknown, pod("a", ready_seconds=1)) == "b"


def test_all_go_in_the_order_of_the_rules() -> None:
    pods = [
        pod("ready-long", ready_seconds=100_000, age_seconds=100_001),
        pod("cheap", cost="-5"),
        pod("pending", phase="Pending", ready_seconds=None),
        pod("unready", ready_seconds=None),
        pod("ready-shortly", ready_seconds=10),
        pod("unassigned", node="", phase="Pending", ready_seconds=None),
    ]
    order = [each["metadata"]["uid"] for each in to_delete(pods, [], 5, NOW)]
    assert order == ["unassigned", "pending", "unready", "cheap", "ready-shortly"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("5", 5),
        ("0", 0),
        ("-2147483648", -2147483648),
        ("2147483647", 2147483647),
        ("-007", -7),
        ("2147483648", 0),
        ("+5", 0),
        ("007", 0),
        ("1.5", 0),
        ("-", 0),
        ("", 0),
        ("five", 0),
    ],
)
def test_a_cost_that_cannot_be_read_is_none(text: str, cost: int) -> None:
    assert deletion_cost(pod("a", cost=text)) == cost
