"""Which moves may be in flight at once."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.cluster import Owner, Pod
from rescheduler.plan import Desk
from rescheduler.plan.waves import waves
from rescheduler.wire import POD_DISRUPTION_BUDGETS, POD_MIGRATIONS, RESOURCE_QUOTAS, Resource
from tests.unit.plan.support.small_clusters import apart, node, pod, row_of
from tests.unit.plan.support.snapshots import snapshot

NODES = [node(f"n{number}", cpu=64000) for number in range(6)]


def of(workload: str, name: str, where: str) -> Pod:
    owner = Owner(kind="ReplicaSet", name=workload, uid=f"rs-{workload}")
    return replace(pod(name, where), owner=owner)


def planned(
    pods: list[Pod],
    moves: list[tuple[str, int]],
    others: Mapping[Resource, Iterable[dict[str, Any]]] | None = None,
) -> list[int]:
    at = Desk(snapshot(NODES, pods, others=others), Configuration())
    for name, target in moves:
        at.move(row_of(at, name), target, "test")
    return list(waves(at))


def test_copies_come_before_their_originals_go_so_all_go_at_once() -> None:
    pods = [of("web", f"p{number}", "n0") for number in range(30)]
    assert planned(pods, [(f"p{number}", 1 + number % 5) for number in range(30)]) == [0] * 30


def with_quota(
    pods: list[Pod], moves: list[tuple[str, int]], hard: dict[str, str], used: dict[str, str]
) -> list[int]:
    quota = {
        "metadata": {"namespace": "shop", "name": "few"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }
    at = Desk(snapshot(NODES, pods, others={RESOURCE_QUOTAS: [quota]}), Configuration())
    for name, target in moves:
        at.move(row_of(at, name), target, "test")
    return list(waves(at))


@pytest.mark.parametrize(
    ("hard", "used", "expected"),
    [
        ({"pods": "4"}, {"pods": "3"}, [0, 0, 1, 2]),
        ({"pods": "5"}, {"pods": "3"}, [0, 0, 0, 1]),
        ({"pods": "6"}, {"pods": "3"}, [0, 0, 0, 0]),
        ({"pods": "9", "cpu": "5"}, {"pods": "3", "cpu": "3"}, [0, 0, 0, 1]),
        ({"pods": "9", "cpu": "4500m"}, {"pods": "3", "cpu": "3"}, [0, 0, 1, 2]),
    ],
)
def test_as_many_copies_at_once_as_a_quota_has_room_for(
    hard: dict[str, str], used: dict[str, str], expected: list[int]
) -> None:
    pods = [pod("a", "n0"), pod("other/x", "n3"), pod("b", "n1"), pod("c", "n2")]
    moves = [("a", 4), ("other/x", 4), ("b", 5), ("c", 5)]
    assert with_quota(pods, moves, hard, used) == expected


def test_what_is_in_flight_has_its_share_of_a_quota() -> None:
    original = of("web", "old", "n0")
    copy = replace(
        of("web", "new", "n1"),
        annotations={names.ORIGINAL_POD: original.uid, names.ORIGINAL_POD_NAME: "old"},
    )
    pods, moves = [original, copy, pod("a", "n2")], [("a", 4)]
    assert with_quota(pods, moves, {"pods": "5"}, {"pods": "3"}) == [0]
    assert with_quota(pods, moves, {"pods": "4"}, {"pods": "3"}) == [1]


def steered(each: Pod) -> Pod:
    return replace(each, annotations={names.WAY: "Recreate"})


def budget(name: str, *, allows: int) -> dict[str, Any]:
    counted = {"expectedPods": 4, "currentHealthy": 4, "desiredHealthy": 4 - allows}
    return {
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"selector": {"matchLabels": {"tier": "data"}}},
        "status": {**counted, "disruptionsAllowed": allows},
    }


@pytest.mark.parametrize(
    ("allows", "expected"), [(1, [0, 1, 2]), (2, [0, 0, 1]), (3, [0, 0, 0]), (None, [0, 0, 0])]
)
def test_as_many_pods_are_missing_at_once_as_their_budget_allows(
    allows: int | None, expected: list[int]
) -> None:
    pods = [
        steered(replace(of(f"w{number}", f"p{number}", "n0"), labels={"tier": "data"}))
        for number in range(3)
    ]
    budgets = [] if allows is None else [budget("data", allows=allows)]
    moves = [(f"p{number}", number + 1) for number in range(3)]
    assert planned(pods, moves, {POD_DISRUPTION_BUDGETS: budgets}) == expected


def test_while_a_pod_is_missing_no_other_of_its_workload_is_moved() -> None:
    pods = [of("web", f"p{number}", f"n{number % 3}") for number in range(4)]
    moves = [("p0", 3), ("p1", 4), ("p2", 5)]
    assert planned(pods, moves) == [0, 0, 0]
    assert planned([steered(pods[0]), *pods[1:]], moves) == [0, 1, 1]
    assert planned([steered(pods[0]), *pods[1:]], moves[1:] + moves[:1]) == [0, 0, 1]
    assert planned([steered(each) for each in pods], moves) == [0, 1, 2]


def test_a_group_is_in_flight_as_a_whole() -> None:
    label = {"scheduling.x-k8s.io/pod-group": "gang"}
    members = [pod(f"g{number}", "n0", labels=label) for number in range(3)]
    pods = [pod("a", "n1"), *members, pod("b", "n2")]
    moves = [("a", 2), ("g0", 3), ("g1", 1), ("g2", 5), ("b", 3)]
    assert planned(pods, moves) == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("status", "wave"),
    [
        ({}, 1),
        ({"phase": "InProgress", "step": "WaitReady", "way": "Surge"}, 1),
        ({"phase": "InProgress", "step": "WaitGone", "way": "Surge"}, 0),
        ({"phase": "InProgress", "step": "WaitGone", "way": "Recreate"}, 1),
        ({"phase": "Completed"}, 0),
    ],
)
def test_what_a_record_asks_for_counts_for_the_first_wave(
    status: dict[str, str], wave: int
) -> None:
    record = {
        "metadata": {"namespace": "shop", "name": "r"},
        "spec": {"pod": {"name": "old", "uid": "uid-old"}, "source": "n0", "target": "n1"},
        "status": status,
    }
    pods = [of("web", "old", "n0"), steered(of("web", "a", "n2"))]
    assert planned(pods, [("a", 3)], {POD_MIGRATIONS: [record]}) == [wave]


def test_what_fits_because_another_has_left_waits_for_it() -> None:
    pods = [pod("a", "n0"), pod("b", "n1")]
    assert planned(pods, [("a", 2), ("b", 0)]) == [0, 1]


def test_what_a_rule_ties_together_is_not_in_flight_together() -> None:
    pods = [pod("a", "n0", affinity=apart("b")), pod("b", "n1"), pod("c", "n2")]
    assert planned(pods, [("b", 3), ("c", 4), ("a", 5)]) == [0, 0, 1]


def test_what_is_in_flight_already_counts_for_the_first_wave() -> None:
    original = of("web", "old", "n0")
    copy = replace(
        of("web", "new", "n1"),
        annotations={names.ORIGINAL_POD: original.uid, names.ORIGINAL_POD_NAME: "old"},
    )
    pods = [original, copy, steered(of("web", "sibling", "n2"))]
    assert planned(pods, [("sibling", 4)]) == [1]
