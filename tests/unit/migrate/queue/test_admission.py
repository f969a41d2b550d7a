"""Which migrations may begin beside those that run."""

from typing import Any

import pytest

from rescheduler.config import InFlight
from rescheduler.migrate.queue.admission import Workload, admitted
from tests.unit.migrate.documents import record

FREE = InFlight(per_node=0, per_namespace=0, per_workload=0)


def names(found: Any) -> list[str]:  # noqa: ANN401
    return [each["spec"]["pod"]["name"] for each in found]


def begin(
    waiting: list[dict[str, Any]],
    running: list[dict[str, Any]] | None = None,
    *,
    room: int = 10,
    limits: InFlight = FREE,
    workloads: dict[str, Workload | None] | None = None,
    overdue: tuple[str, ...] = (),
) -> list[str]:
    return names(
        admitted(
            waiting,
            running or [],
            room=room,
            limits=limits,
            workloads=workloads or {},
            overdue=overdue,
        )
    )


def of(workload: str, *, recreated: bool = False) -> Workload:
    return Workload(uid=workload, is_recreated=recreated)


def test_no_more_than_there_is_room_for_and_in_order() -> None:
    assert begin([record("a"), record("b"), record("c")], room=2) == ["a", "b"]
    assert begin([record("a")], room=0) == []


def test_what_has_begun_goes_on_in_any_case() -> None:
    assert begin([record("a"), record("b", phase="InProgress")], room=0) == ["b"]


def test_of_what_takes_nothing_away_all_at_once_unless_a_limit_is_set() -> None:
    pods = [record(name) for name in "abcd"]
    workloads = {f"uid-of-{name}": of("rs") for name in "abcd"}
    assert begin(pods, workloads=dict(workloads)) == ["a", "b", "c", "d"]
    two = InFlight(per_workload=2)
    assert begin(pods, limits=two, workloads=dict(workloads)) == ["a", "b"]


def test_of_what_is_recreated_only_one_whatever_is_configured() -> None:
    pods = [record(name) for name in "ab"]
    workloads = {f"uid-of-{name}": of("sts", recreated=True) for name in "ab"}
    assert begin(pods, limits=InFlight(per_workload=50), workloads=dict(workloads)) == ["a"]


def test_while_a_pod_of_a_workload_is_missing_no_other_of_it_begins() -> None:
    workloads = {f"uid-of-{name}": of("rs") for name in "ab"}
    steered = record("a", status={"way": "Recreate", "phase": "InProgress", "step": "WaitGone"})
    assert begin([record("b")], [steered], workloads=dict(workloads)) == []
    ending = record("a", status={"way": "Surge", "phase": "InProgress", "step": "WaitGone"})
    assert begin([record("b")], [ending], workloads=dict(workloads)) == ["b"]


def test_so_many_start_on_a_node_at_a_time() -> None:
    limits = InFlight(per_node=2)
    running = [record("x")]
    chosen = [record(name) for name in "ab"]
    elsewhere = record("c", target="node-e")
    assert begin([*chosen, elsewhere], running, limits=limits) == ["a", "c"]


@pytest.mark.parametrize("step", ["WaitGroup", "Leave", "HandOver", "WaitGone", "TakeBack"])
def test_a_copy_that_runs_is_no_start(step: str) -> None:
    limits = InFlight(per_node=1)
    status = {"phase": "InProgress", "step": step, "way": "Surge"}
    running = [record("x", status=status)]
    assert begin([record("a")], running, limits=limits) == ["a"]


def test_a_successor_that_is_still_to_come_is_a_start() -> None:
    limits = InFlight(per_node=1)
    status = {"phase": "InProgress", "step": "WaitGone", "way": "Recreate"}
    running = [record("x", status=status)]
    assert begin([record("a")], running, limits=limits) == []


def test_what_a_person_asked_for_starts_beside_as_many_as_there_are() -> None:
    limits = InFlight(per_node=1)
    assert begin([record(name, asked=True) for name in "abc"], limits=limits) == ["a", "b", "c"]
    assert begin([record("a", asked=True), record("b")], limits=limits) == ["a"]


def test_so_many_in_a_namespace() -> None:
    waiting = [record("a"), record("b")]
    assert begin(waiting, [record("x")], limits=InFlight(per_namespace=2)) == ["a"]


def test_a_group_begins_as_a_whole_or_not_at_all() -> None:
    group = [record(name, group="g", group_size=3) for name in "abc"]
    assert begin(group, [record("x")], room=2) == []
    assert begin(group, [record("x")], room=3) == ["a", "b", "c"]


def test_a_group_larger_than_all_the_room_begins_when_nothing_else_runs() -> None:
    group = [record(name, group="g", group_size=3) for name in "abc"]
    assert begin(group, room=2) == ["a", "b", "c"]


def test_a_group_is_not_held_by_limits_under_which_it_would_wait_for_ever() -> None:
    group = [record(name, group="g", group_size=3) for name in "abc"]
    workloads = {f"uid-of-{name}": of("rs") for name in "abc"}
    assert begin(group, limits=InFlight(per_node=1), workloads=dict(workloads)) == ["a", "b", "c"]


def test_a_group_of_which_records_are_still_to_come_waits_for_them() -> None:
    group = [record(name, group="g", group_size=3) for name in "ab"]
    assert begin(group) == []


def test_the_rest_of_a_group_that_has_begun_before_a_restart_begins_too() -> None:
    begun = record("a", group="g", group_size=3, phase="InProgress")
    rest = [record(name, group="g", group_size=3) for name in "bc"]
    assert begin([begun, *rest], room=0) == ["a", "b", "c"]
    assert begin(rest, [begun], room=0) == ["b", "c"]


def test_a_group_that_stays_incomplete_is_let_in_to_end() -> None:
    group = [record(name, group="g", group_size=3) for name in "ab"]
    assert begin(group, overdue=("shop/g",)) == ["a", "b"]


def test_of_two_records_for_one_pod_the_second_waits() -> None:
    first, second = record("a"), record("a", attempt=2)
    assert begin([first, second]) == ["a"]
    assert begin([second], [first]) == []
    member = record("a", attempt=2, group="g", group_size=1)
    assert begin([member], [first]) == []
    other = record("a", attempt=3, group="h", group_size=1)
    assert begin([member, other]) == ["a"]


def test_a_group_is_held_by_the_circuit_breaker_too() -> None:
    group = [record(name, group="g", group_size=2) for name in "ab"]
    assert begin(group, room=0) == []
