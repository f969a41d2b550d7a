"""Steered evictions beside others: of the same group, of the same workload."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.facts import Progress
from rescheduler.migrate.deciding.recreate import objections
from rescheduler.model.podmigration import Reason, Step
from tests.unit.migrate.deciding.recreate.steering_drive import Drive, Event
from tests.unit.migrate.deciding.recreate.steering_scenes import problems, toy
from tests.unit.migrate.toy_controllers import ELSEWHERE
from tests.unit.migrate.toy_objects import Object
from tests.unit.migrate.toy_workload import ToyWorkload


def _in_a_group(**shape: Any) -> ToyWorkload:  # noqa: ANN401 - whatever the toy takes
    cluster = toy(**shape)
    cluster.intent = replace(cluster.intent, group="gang", group_size=2)
    cluster.record["spec"]["group"] = {"id": "gang", "size": 2}
    return cluster


def _other(cluster: ToyWorkload, *, group: str = "gang", **status: str) -> Object:
    owner = cluster.intent.owner
    assert owner
    return {
        "metadata": {"name": "web-1-1"},
        "spec": {"pod": {"name": "other", "uid": "other"}, "group": {"id": group, "size": 2}}
        if group
        else {},
        "status": {
            "phase": "InProgress",
            "startTime": "2025-12-31T00:00:00Z",
            "owner": {"apiVersion": "apps/v1", "kind": owner.kind, "name": "", "uid": owner.uid},
            **status,
        },
    }


def _set(cluster: ToyWorkload, **status: str) -> None:
    cluster.other_records[:] = [_other(cluster, **status)]


def test_waits_ready_to_go_until_all_of_its_group_are() -> None:
    cluster = _in_a_group()
    _set(cluster, step="Steer")
    waited: list[bool] = []

    def follow(cluster: ToyWorkload) -> None:
        waited.append(cluster.status.step is Step.WAIT_GROUP)
        if waited[-1] and waited.count(True) == 3:
            assert cluster.evicted == []
            _set(cluster, step="WaitGroup")

    drive = Drive(cluster, [Event(look, follow) for look in range(40)]).to_the_end()
    assert waited.count(True) >= 3
    assert drive.outcome.reason is Reason.COMPLETED
    assert list(problems(drive)) == []


def test_takes_all_back_when_another_of_its_group_fails() -> None:
    cluster = _in_a_group()
    _set(cluster, step="Steer")

    def fail(cluster: ToyWorkload) -> None:
        if cluster.status.step is Step.WAIT_GROUP:
            _set(cluster, step="Done", phase="Failed")

    drive = Drive(cluster, [Event(look, fail) for look in range(40)]).to_the_end()
    assert drive.outcome.reason is Reason.GROUP_FAILED
    assert cluster.evicted == []
    assert list(problems(drive)) == []


def test_a_group_that_is_never_complete_is_not_waited_for_for_ever() -> None:
    drive = Drive(_in_a_group()).to_the_end()
    assert drive.outcome.reason in (Reason.GROUP_FAILED, Reason.TIMED_OUT)
    assert drive.cluster.evicted == []
    assert list(problems(drive)) == []


def test_that_it_was_not_steered_is_remembered_while_it_waits() -> None:
    cluster = _in_a_group(policy_after=None)
    _set(cluster, step="Steer")

    def follow(cluster: ToyWorkload) -> None:
        if cluster.status.step is Step.WAIT_GROUP:
            assert cluster.status.fallback == "NotSteered"
            _set(cluster, step="WaitGroup")

    drive = Drive(cluster, [Event(look, follow) for look in range(60)]).to_the_end()
    assert drive.outcome.reason is Reason.LANDED_ELSEWHERE
    assert cluster.status.fallback == "NotSteered"
    moved = [p for p in cluster.pods.values() if p["spec"].get("nodeName") == ELSEWHERE]
    assert len(moved) == 1


def _objection(cluster: ToyWorkload) -> objections.Objection | None:
    view, owner = cluster.view(), cluster.intent.owner
    assert owner
    assert view.original
    return objections.first(cluster.intent, owner, view, view.original, Progress(now=cluster.now))


@pytest.mark.parametrize(
    ("status", "is_held"),
    [
        pytest.param({"step": "WaitGroup"}, True, id="nobody-has-left"),
        pytest.param({"step": "Evict"}, False, id="leaves"),
        pytest.param({"step": "Done", "phase": "Completed"}, False, id="has-left"),
        pytest.param({"step": "Done", "phase": "Failed"}, True, id="stayed"),
    ],
)
def test_a_sibling_is_missed_unless_its_group_has_begun_to_leave(
    status: dict[str, str], *, is_held: bool
) -> None:
    cluster = _in_a_group()
    assert _objection(cluster) is None
    cluster.turn_unready(cluster.siblings[0]["metadata"]["uid"])
    _set(cluster, **status)
    found = _objection(cluster)
    assert (found is not None) is is_held
    assert found is None or found.midway is Reason.SIBLING_NOT_READY


@pytest.mark.parametrize(
    ("group", "status", "is_held"),
    [
        pytest.param("", {}, True, id="began-before"),
        pytest.param("gang", {}, False, id="same-group"),
        pytest.param("", {"startTime": "2030-01-01T00:00:00Z"}, False, id="began-later"),
        pytest.param("", {"phase": "Completed"}, False, id="is-over"),
        pytest.param("", {"phase": "Pending"}, False, id="has-not-begun"),
    ],
)
def test_one_of_a_workload_at_a_time(group: str, status: dict[str, str], *, is_held: bool) -> None:
    cluster = _in_a_group()
    cluster.record["status"]["startTime"] = "2026-01-01T00:00:00Z"
    cluster.other_records[:] = [_other(cluster, group=group, **status)]
    found = _objection(cluster)
    assert (found is not None) is is_held
    assert found is None or "web-1-1" in found.message
