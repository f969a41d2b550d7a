"""The decisions of the way Recreate, driven through a toy workload to its end."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.actions import Wait, describe
from rescheduler.model import names
from rescheduler.model.podmigration import Reason
from tests.unit.migrate.deciding.recreate.steering_drive import SETTINGS, Drive, Event
from tests.unit.migrate.deciding.recreate.steering_scenes import (
    DISTURBANCES,
    LOOKS,
    counts,
    each_shape,
    problems,
    toy,
)
from tests.unit.migrate.toy_controllers import ELSEWHERE, TARGET

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
    assert [describe(action) for action in drive.written()] == [
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


def test_where_karpenter_may_remove_the_node_the_successor_asks_it_to_wait() -> None:
    for lands, expected in ((TARGET, "11m"), (ELSEWHERE, None)):
        workload = toy(lands=lands)
        assert workload.target is not None
        workload.target["metadata"]["labels"] = {names.NODE_POOL: "general"}
        cluster = Drive(workload).to_the_end().cluster
        pod = next(p for p in cluster.pods.values() if p["metadata"]["name"] == cluster.intent.pod)
        assert pod["metadata"]["annotations"].get(names.DO_NOT_DISRUPT) == expected


@each_shape
def test_where_a_kubelet_ends_the_successor_the_next_one_is_not_steered(
    shape: dict[str, Any],
) -> None:
    drive = Drive(toy(ends_on=TARGET, **shape)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (True, Reason.LANDED_ELSEWHERE)
    assert list(problems(drive)) == []
    # Else its workload would make pods for it to end for as long as the steering lasts.
    assert drive.cluster.made <= drive.cluster.replicas + 4


@pytest.mark.parametrize("shape", [{"becomes_ready": False}, {"lands": ""}])
def test_a_successor_that_does_not_come_up_is_an_alarm(shape: dict[str, Any]) -> None:
    drive = Drive(toy(**shape)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.REPLACEMENT_NOT_READY)
    assert list(problems(drive)) == []


# ---------------------------------------------------------------------- steering is not to be had


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
    assert cluster.status.fallback == "SteeringRefused"
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


def test_asks_at_least_once_however_short_its_patience() -> None:
    cluster = toy(policy_after=0, settings=replace(SETTINGS, steer_timeout_seconds=0))
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.COMPLETED
    assert cluster.status.fallback == ""


@pytest.mark.parametrize("dies", [None, *range(20)])
@pytest.mark.parametrize(
    ("asks", "lands", "fallback"),
    [(True, TARGET, ""), (True, ELSEWHERE, "NotSteered"), (False, TARGET, "NotSteered")],
)
def test_where_only_a_scheduler_that_asks_us_steers_that_is_no_fallback(
    dies: int | None,
    asks: bool,  # noqa: FBT001
    lands: str,
    fallback: str,
) -> None:
    """If it has come to the target: one that was not among the nodes it looked at is another."""
    cluster = toy(policy_after=None, unsteered=lands, extender_steers=asks)
    events = [] if dies is None else [Event(dies, fault="dies before")]
    drive = Drive(cluster, events).to_the_end()
    assert drive.outcome.moved
    assert cluster.status.fallback == fallback
    assert ("not steered: NotSteered" in drive.outcome.message) == (lands == ELSEWHERE)
    assert list(problems(drive)) == []


def test_without_coordination_it_is_a_plain_eviction() -> None:
    cluster = toy(settings=replace(SETTINGS, coordination=False))
    drive = Drive(cluster).to_the_end()
    assert [describe(action) for action in drive.written()] == [
        "asks whether the original may be evicted",
        "marks the original as being moved",
        "evicts the original",
        "marks the successor as moved",
    ]
    assert cluster.status.fallback == ""
    assert drive.outcome.reason is Reason.LANDED_ELSEWHERE


# ---------------------------------------------------------------------- nothing is begun


@pytest.mark.parametrize(
    ("disturbance", "reason"),
    [
        ("rolls out", Reason.NOT_NOW),
        ("scales to 0", Reason.NOT_NOW),
        ("a sibling turns unready", Reason.NOT_NOW),
        ("cordons the target", Reason.TARGET_LOST),
        ("the target is lost", Reason.TARGET_LOST),
        ("deletes the workload", Reason.NOT_NOW),
    ],
)
def test_begins_nothing_when_it_is_not_the_time(disturbance: str, reason: Reason) -> None:
    cluster = toy()
    drive = Drive(cluster, [Event(0, DISTURBANCES[disturbance])]).to_the_end()
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
    assert (cluster.evicted, cluster.temporary) == ([], [])
    assert cluster.original
    assert names.MIGRATION_ID not in cluster.original["metadata"]["labels"]


# ---------------------------------------------------------------------- the temporary budget


def test_waits_until_the_temporary_budget_is_observed() -> None:
    drive = Drive(toy()).to_the_end()
    said = [each.reason for each in drive.actions if isinstance(each, Wait)]
    assert "the temporary budget is not observed yet" in said


def test_goes_on_under_a_budget_that_appears_and_takes_its_own_away() -> None:
    events = [Event(4, DISTURBANCES["a budget appears"])]
    drive = Drive(toy(), events).to_the_end()
    written = [describe(action) for action in drive.written()]
    guarded = written.index("guards the workload with a temporary budget")
    assert written[guarded + 1] == "deletes the temporary budget"
    assert "guards the workload with a temporary budget" not in written[guarded + 1 :]
    assert drive.outcome.reason is Reason.COMPLETED
    assert set(drive.cluster.budgets) == {"user"}


# ---------------------------------------------------------------------- one that is not Ready


def test_one_that_is_not_ready_needs_no_guard_and_its_successor_need_not_be_ready() -> None:
    drive = Drive(toy(kind="ReplicaSet", unready=True, becomes_ready=False)).to_the_end()
    assert [describe(action) for action in drive.written()] == [
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
