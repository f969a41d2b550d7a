"""The decisions of a steered eviction, driven through a toy workload to its end."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.outcomes import Reason
from rescheduler.migrate.deciding.steps import Wait, describe
from rescheduler.model import names
from tests.unit.migrate.steering_drive import SETTINGS, Drive, Event
from tests.unit.migrate.steering_scenes import (
    ACTIONS,
    LOOKS,
    counts,
    each_shape,
    problems,
    toy,
)
from tests.unit.migrate.toy_controllers import ELSEWHERE, SOURCE
from tests.unit.migrate.toy_objects import labels_of
from tests.unit.migrate.toy_workload import ToyWorkload

# ---------------------------------------------------------------------- undisturbed


@each_shape
def test_moves_the_pod_and_leaves_nothing_behind(shape: dict[str, Any]) -> None:
    drive = Drive(toy(**shape)).to_the_end()
    assert drive.outcome.moved
    assert drive.looks <= len(LOOKS)
    assert drive.cluster.evicted == [drive.cluster.original_uid]
    assert [*problems(drive), *counts(drive)] == []


def test_writes_in_this_order() -> None:
    drive = Drive(toy()).to_the_end()
    assert [describe(step) for step in drive.written()] == [
        "asks whether the original may be evicted",
        "marks the original as being moved",
        "guards the workload with a temporary budget",
        "asks the API server to steer",
        "evicts the original",
        "marks the successor as moved",
        "deletes the temporary budget",
        "stops steering",
    ]
    assert drive.outcome.reason is Reason.COMPLETED


def test_the_successor_carries_where_it_came_from() -> None:
    drive = Drive(toy()).to_the_end()
    cluster = drive.cluster
    pod = next(p for p in cluster.pods.values() if p["metadata"]["name"] == cluster.intent.pod)
    told = labels_of(pod)
    assert pod["metadata"]["uid"] != cluster.original_uid
    assert told[names.MIGRATION_ID] == cluster.intent.id
    assert told[names.MIGRATION_STATUS] == "completed"
    assert told[names.MIGRATED_FROM] == SOURCE
    assert told[names.MIGRATION_REASON] == "NodeMaintenance"
    annotations = pod["metadata"]["annotations"]
    assert annotations[names.ORIGINAL_POD] == cluster.original_uid
    assert annotations[names.ORIGINAL_POD_NAME] == cluster.intent.pod
    assert names.MIGRATION_TIME in annotations


def test_says_that_it_landed_elsewhere() -> None:
    drive = Drive(toy(lands=ELSEWHERE)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (True, Reason.LANDED_ELSEWHERE)


def test_back_on_the_source_is_a_failure_without_a_history() -> None:
    drive = Drive(toy(lands=SOURCE)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.BACK_ON_SOURCE)
    for pod in drive.cluster.pods.values():
        assert names.MIGRATION_ID not in labels_of(pod)
    assert list(problems(drive)) == []


@pytest.mark.parametrize("shape", [{"becomes_ready": False}, {"lands": ""}])
def test_a_successor_that_does_not_come_up_is_an_alarm(shape: dict[str, Any]) -> None:
    drive = Drive(toy(**shape)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.REPLACEMENT_NOT_READY)
    assert list(problems(drive)) == []


def test_what_is_temporary_goes_in_time_however_the_move_stands() -> None:
    settings = replace(SETTINGS, clean_up_timeout_seconds=4)
    cluster = toy(becomes_ready=False, settings=settings)
    left: list[bool] = []

    def note(cluster: ToyWorkload) -> None:
        left.append(bool(cluster.temporary) or cluster.is_steering)

    drive = Drive(cluster, [Event(look, note) for look in range(60)]).to_the_end()
    assert drive.outcome.reason is Reason.REPLACEMENT_NOT_READY
    assert any(left)
    assert not any(left[-15:])


# ---------------------------------------------------------------------- steering is not to be had


def test_without_the_policy_it_evicts_all_the_same_and_says_so() -> None:
    drive = Drive(toy(policy_after=None)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (True, Reason.LANDED_ELSEWHERE)
    assert drive.cluster.standing.fallback == "NotSteered"
    assert list(problems(drive)) == []


@pytest.mark.parametrize("dies", [None, *range(12)])
def test_nobody_is_steered_any_more_where_a_policy_refuses_steered_pods(dies: int | None) -> None:
    """Its successor would be refused, too."""
    cluster = toy(refuses_steered=True)
    left: list[bool] = []
    evict = cluster.evict

    def judged(uid: str, *, dry_run: bool) -> None:
        if not dry_run:
            left.append(cluster.is_steering)
        evict(uid, dry_run=dry_run)

    cluster.evict = judged  # type: ignore[method-assign]
    events = [] if dies is None else [Event(dies, fault="dies before")]
    drive = Drive(cluster, events).to_the_end()
    assert drive.outcome.moved
    assert cluster.standing.fallback == "SteeringRefused"
    assert left == [False]
    assert list(problems(drive)) == []


@pytest.mark.parametrize("dies", [None, *range(16)])
def test_nobody_is_evicted_whose_successor_would_be_refused(dies: int | None) -> None:
    """Its workload would be left with one less, for good."""
    events = [] if dies is None else [Event(dies, fault="dies before")]
    drive = Drive(toy(refuses_all=True), events).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.NOT_MOVABLE)
    assert drive.outcome.message.endswith("a policy refuses it")
    assert drive.cluster.evicted == []
    assert list(problems(drive)) == []


def test_without_the_policy_it_refuses_where_that_is_asked_for() -> None:
    cluster = toy(policy_after=None, settings=replace(SETTINGS, fallback="Never"))
    drive = Drive(cluster).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.NOT_STEERED)
    assert cluster.evicted == []
    assert list(problems(drive)) == []


def test_asks_at_least_once_however_short_its_patience() -> None:
    cluster = toy(policy_after=0, settings=replace(SETTINGS, steer_timeout_seconds=0))
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.COMPLETED
    assert cluster.standing.fallback == ""


def test_without_coordination_it_is_a_plain_eviction() -> None:
    cluster = toy(settings=replace(SETTINGS, coordination=False))
    drive = Drive(cluster).to_the_end()
    assert [describe(step) for step in drive.written()] == [
        "asks whether the original may be evicted",
        "marks the original as being moved",
        "evicts the original",
        "marks the successor as moved",
    ]
    assert cluster.standing.fallback == ""
    assert drive.outcome.reason is Reason.LANDED_ELSEWHERE


# ---------------------------------------------------------------------- nothing is begun


def _untouched(cluster: ToyWorkload) -> None:
    assert cluster.evicted == []
    assert cluster.temporary == []
    assert cluster.original
    assert names.MIGRATION_ID not in labels_of(cluster.original)


def test_two_budgets_are_refused_by_name_and_nothing_is_tried() -> None:
    cluster = toy()
    for name in ("one", "two"):
        cluster.add_budget(name, minAvailable=1)
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.NOT_MOVABLE
    assert "one, two" in drive.outcome.message
    assert drive.written() == []
    _untouched(cluster)


def test_a_budget_that_allows_nothing_is_asked_first() -> None:
    cluster = toy()
    cluster.add_budget("user", maxUnavailable=0)
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.BUDGET_REFUSED
    assert {describe(step) for step in drive.written()} == {
        "asks whether the original may be evicted"
    }
    _untouched(cluster)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("rolls out", Reason.NOT_NOW),
        ("scales to 0", Reason.NOT_NOW),
        ("a sibling turns unready", Reason.NOT_NOW),
        ("cordons the target", Reason.TARGET_LOST),
        ("the target is lost", Reason.TARGET_LOST),
        ("deletes the workload", Reason.NOT_NOW),
    ],
)
def test_begins_nothing_when_it_is_not_the_time(action: str, reason: Reason) -> None:
    cluster = toy()
    drive = Drive(cluster, [Event(0, ACTIONS[action])]).to_the_end()
    assert drive.outcome.reason is reason
    assert drive.written() == []


def test_leaves_the_workload_to_a_migration_that_began_before() -> None:
    cluster = toy()
    owner = cluster.intent.owner
    assert owner
    cluster.other_records.append(
        {
            "metadata": {"name": "web-1-1"},
            "spec": {},
            "status": {
                "phase": "InProgress",
                "startTime": "2025-12-31T00:00:00Z",
                "owner": {
                    "apiVersion": "apps/v1",
                    "kind": owner.kind,
                    "name": "",
                    "uid": owner.uid,
                },
            },
        }
    )
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.NOT_NOW
    _untouched(cluster)


# ---------------------------------------------------------------------- the temporary budget


def test_waits_until_the_temporary_budget_is_observed() -> None:
    drive = Drive(toy()).to_the_end()
    said = [each.reason for each in drive.steps if isinstance(each, Wait)]
    assert "the temporary budget is not observed yet" in said


def test_takes_all_back_when_nobody_observes_the_temporary_budget() -> None:
    drive = Drive(toy(disruption_controller_sleeps=True)).to_the_end()
    assert drive.outcome.reason is Reason.BUDGET_REFUSED
    assert drive.cluster.evicted == []
    assert list(problems(drive)) == []


def test_goes_on_under_a_budget_that_appears_and_takes_its_own_away() -> None:
    events = [Event(4, ACTIONS["a budget appears"])]
    drive = Drive(toy(), events).to_the_end()
    written = [describe(step) for step in drive.written()]
    guarded = written.index("guards the workload with a temporary budget")
    assert written[guarded + 1] == "deletes the temporary budget"
    assert "guards the workload with a temporary budget" not in written[guarded + 1 :]
    assert drive.outcome.reason is Reason.COMPLETED
    assert set(drive.cluster.budgets) == {"user"}


def test_a_single_pod_is_not_guarded() -> None:
    drive = Drive(toy(replicas=1)).to_the_end()
    written = [describe(step) for step in drive.written()]
    assert "guards the workload with a temporary budget" not in written
    assert drive.outcome.reason is Reason.COMPLETED


# ---------------------------------------------------------------------- one that is not Ready


def test_one_that_is_not_ready_needs_no_guard_and_its_successor_need_not_be_ready() -> None:
    drive = Drive(toy(kind="ReplicaSet", unready=True, becomes_ready=False)).to_the_end()
    assert [describe(step) for step in drive.written()] == [
        "asks whether the original may be evicted",
        "marks the original as being moved",
        "asks the API server to steer",
        "evicts the original",
        "marks the successor as moved",
        "stops steering",
    ]
    assert (drive.outcome.moved, drive.outcome.reason) == (True, Reason.COMPLETED)


def test_nobody_is_left_short_by_a_successor_that_finds_no_place() -> None:
    drive = Drive(toy(kind="ReplicaSet", unready=True, lands="")).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.TIMED_OUT)
    assert "its successor" in drive.outcome.message


def test_neither_siblings_nor_a_rollout_hold_one_that_is_not_ready() -> None:
    cluster = toy(kind="ReplicaSet", unready=True)
    for sibling in cluster.siblings:
        cluster.turn_unready(sibling["metadata"]["uid"])
    assert Drive(cluster).to_the_end().outcome.moved
    rolled = toy(kind="Deployment", unready=True)
    assert rolled.deployment
    rolled.deployment["metadata"]["generation"] += 1
    rolled.deployment["spec"]["paused"] = True
    assert Drive(rolled).to_the_end().outcome.moved


def test_one_that_has_become_ready_is_left_to_be_planned_anew() -> None:
    cluster = toy(kind="ReplicaSet", unready=True)
    cluster.turn_ready(cluster.original_uid)
    drive = Drive(cluster).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.NOT_NOW)
    assert drive.outcome.message == "it is Ready by now, and would be missed"
    assert cluster.evicted == []
