"""Which moves may be in flight at once."""

from dataclasses import replace

import pytest

from rescheduler.config import Configuration, InFlight
from rescheduler.model import names
from rescheduler.model.cluster import Owner, Pod
from rescheduler.plan import Desk
from rescheduler.plan.waves import waves
from rescheduler.wire import POD_MIGRATIONS, RESOURCE_QUOTAS
from tests.unit.plan.clusters import snapshot
from tests.unit.plan.small import apart, desk, node, pod, row_of

NODES = [node(f"n{number}", cpu=64000) for number in range(6)]


def of(workload: str, name: str, where: str) -> Pod:
    owner = Owner(kind="ReplicaSet", name=workload, uid=f"rs-{workload}")
    return replace(pod(name, where), owner=owner)


def planned(pods: list[Pod], moves: list[tuple[str, int]], **limits: int) -> list[int]:
    at = desk(NODES, pods, Configuration(in_flight=InFlight(**limits)))
    for name, target in moves:
        at.move(row_of(at, name), target, "test")
    return list(waves(at))


def test_two_at_once_for_each_node() -> None:
    pods = [pod(f"p{number}", "n0") for number in range(4)]
    moves = [(f"p{number}", number + 1) for number in range(4)]
    assert planned(pods, moves) == [0, 0, 1, 1]
    assert planned(pods, moves, per_node=1) == [0, 1, 2, 3]
    assert planned(pods, moves, per_node=0) == [0, 0, 0, 0]


def test_a_target_counts_as_much_as_a_source() -> None:
    pods = [pod(f"p{number}", f"n{number}") for number in range(3)]
    assert planned(pods, [("p0", 5), ("p1", 5), ("p2", 5)]) == [0, 0, 1]


@pytest.mark.parametrize(("size", "at_once"), [(3, 1), (4, 2), (10, 2), (30, 3)])
def test_a_workload_by_its_size(size: int, at_once: int) -> None:
    pods = [of("web", f"p{number}", f"n{number % 3}") for number in range(size)]
    moves = [(f"p{number}", 3 + number % 3) for number in range(min(size, 6))]
    found = planned(pods, moves, per_node=0)
    assert max(found.count(wave) for wave in set(found)) == at_once
    assert found == sorted(found)


def test_a_namespace_when_it_is_limited() -> None:
    pods = [pod("one/a", "n0"), pod("one/b", "n1"), pod("two/c", "n2")]
    moves = [("one/a", 3), ("two/c", 4), ("one/b", 5)]
    assert planned(pods, moves) == [0, 0, 0]
    assert planned(pods, moves, per_namespace=1) == [0, 0, 1]


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


def test_interruptions_come_one_after_the_other() -> None:
    pods = [pod("a", "n0", hostNetwork=True), pod("b", "n1", hostNetwork=True)]
    assert planned(pods, [("a", 3), ("b", 4)]) == [0, 1]


def test_while_a_pod_is_missing_no_other_of_its_workload_is_moved() -> None:
    pods = [of("web", f"p{number}", f"n{number % 3}") for number in range(4)]
    steered = replace(pods[0], annotations={names.WAY: "Steer"})
    moves = [("p0", 3), ("p1", 4), ("p2", 5)]
    assert planned(pods, moves, per_node=0) == [0, 0, 1]
    assert planned([steered, *pods[1:]], moves, per_node=0) == [0, 1, 1]
    assert planned([steered, *pods[1:]], moves[1:] + moves[:1], per_node=0) == [0, 0, 1]


def test_a_group_is_in_flight_as_a_whole() -> None:
    label = {"scheduling.x-k8s.io/pod-group": "gang"}
    members = [pod(f"g{number}", "n0", labels=label) for number in range(3)]
    pods = [pod("a", "n1"), *members, pod("b", "n1")]
    moves = [("a", 2), ("g0", 3), ("g1", 4), ("g2", 5), ("b", 2)]
    # More of them leave n0 at once than the limit of a node, which others keep.
    assert planned(pods, moves) == [0, 1, 1, 1, 1]
    assert planned([pod("x", "n0"), *pods], [("x", 1), *moves]) == [0, 0, 1, 1, 1, 1]


def test_what_a_record_asks_for_counts_for_the_first_wave() -> None:
    record = {
        "metadata": {"namespace": "shop", "name": "r"},
        "spec": {"pod": {"name": "old", "uid": "uid-old"}, "source": "n0", "target": "n1"},
    }
    ended = {**record, "status": {"phase": "Completed"}}
    pods = [pod("old", "n0"), pod("a", "n2"), pod("b", "n3")]
    for told, wave in ((record, 1), (ended, 0)):
        taken = snapshot(NODES, pods, others={POD_MIGRATIONS: [told]})
        for name, target in (("a", 0), ("b", 1)):
            at = Desk(taken, Configuration(in_flight=InFlight(per_node=1)))
            at.move(row_of(at, name), target, "test")
            assert list(waves(at)) == [wave]


def test_what_fits_because_another_has_left_waits_for_it() -> None:
    pods = [pod("a", "n0"), pod("b", "n1")]
    assert planned(pods, [("a", 2), ("b", 0)]) == [0, 1]


def test_what_a_rule_ties_together_is_not_in_flight_together() -> None:
    pods = [pod("a", "n0", affinity=apart("b")), pod("b", "n1"), pod("c", "n2")]
    assert planned(pods, [("b", 3), ("c", 4), ("a", 5)]) == [0, 0, 1]


def test_a_copy_that_is_there_counts_for_its_node() -> None:
    original = of("web", "old", "n0")
    copy = replace(
        of("web", "new", "n1"),
        labels={"app": "new", names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS},
        annotations={names.ORIGINAL_POD: original.uid, names.ORIGINAL_POD_NAME: "old"},
    )
    pods = [original, copy, pod("a", "n2")]
    assert planned(pods, [("a", 1)], per_node=1) == [1]


def test_what_is_in_flight_already_counts_for_the_first_wave() -> None:
    original = of("web", "old", "n0")
    copy = replace(
        of("web", "new", "n1"),
        annotations={names.ORIGINAL_POD: original.uid, names.ORIGINAL_POD_NAME: "old"},
    )
    pods = [original, copy, of("web", "sibling", "n2")]
    assert planned(pods, [("sibling", 4)]) == [1]
