"""A surge with a crash or a lost answer at every step, and with users and nodes acting at it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding.actions import (
    CreateCopy,
    PatchPod,
    describe,
)
from rescheduler.model import names
from rescheduler.model.podmigration import Reason
from tests.unit.migrate.deciding.surge.surge_scenes import (
    DISTURBANCES,
    LOOKS,
    SHAPES,
    Disturbance,
    each_shape,
    problems,
)
from tests.unit.migrate.driving import FAULTS, MOMENTS, Drive, Event, Fault
from tests.unit.migrate.toy_cluster import ToyCluster, is_marked
from tests.unit.migrate.toy_objects import Refused, is_active, is_ready

MAKES_THE_REPLICA_SET_SHRINK = {"scales down", "scales to 0", "rolls out", "deletes the workload"}

# ---------------------------------------------------------------------- disturbed at every step


@each_shape
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_step_changes_nothing_in_the_end(
    shape: dict[str, Any], ticks: int, fault: Fault
) -> None:
    for look in LOOKS:
        event = Event(look, fault=fault)
        drive = Drive(ToyCluster(**shape), [event], ticks).to_the_end()
        assert list(problems(drive)) == [], look
        assert drive.swept == 0, look
        assert drive.cluster.original is None, look


@each_shape
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_all_is_well_whatever_happens_at_any_step(
    shape: dict[str, Any], ticks: int, disturbance: str
) -> None:
    for look, moment in Drive(ToyCluster(**shape), (), ticks).to_the_end().moments:
        event = Event(look, DISTURBANCES[disturbance], moment)
        drive = Drive(ToyCluster(**shape), [event], ticks).to_the_end()
        assert list(problems(drive)) == [], event
        if disturbance not in MAKES_THE_REPLICA_SET_SHRINK:
            spared = set(drive.cluster.removed_while_ready) - {drive.cluster.original_uid}
            assert spared == set(), event


events = st.builds(
    Event,
    look=st.integers(0, 16),
    disturbance=st.none() | st.sampled_from(list(DISTURBANCES.values())),
    moment=st.sampled_from(MOMENTS),
    fault=st.none() | st.sampled_from(FAULTS),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(events, min_size=2, max_size=3),
    st.sampled_from([each.values for each in SHAPES]),
    st.integers(0, 2),
)
def test_all_is_well_whatever_happens_together(
    happening: list[Event], shape: tuple[Any, ...], ticks: int
) -> None:
    drive = Drive(ToyCluster(**shape[0]), happening, ticks).to_the_end()
    assert list(problems(drive)) == []


# ---------------------------------------------------------------------- particular cases


def test_a_copy_that_a_user_deletes_is_not_made_again() -> None:
    for look in range(3, 6):
        drive = Drive(ToyCluster(), [Event(look, DISTURBANCES["deletes the copy"])]).to_the_end()
        assert drive.outcome.reason == "CopyLost", look
        assert sum(isinstance(action, CreateCopy) for action in drive.actions) == 1, look
        assert drive.cluster.original, look


def test_a_pod_that_was_taken_aside_is_not_evicted() -> None:
    for look in LOOKS[:6]:
        drive = Drive(
            ToyCluster(), [Event(look, DISTURBANCES["takes the original aside"])]
        ).to_the_end()
        assert drive.cluster.original_uid not in drive.cluster.evicted
        assert drive.cluster.original, look
        assert is_active(drive.cluster.original), look


def test_a_replica_set_deleted_without_its_pods_keeps_as_many_as_it_had() -> None:
    def orphan(cluster: ToyCluster) -> None:
        cluster.delete_replica_set(orphan=True)

    for look, moment in Drive(ToyCluster(bare=True)).to_the_end().moments:
        cluster = ToyCluster(bare=True)
        drive = Drive(cluster, [Event(look, orphan, moment)]).to_the_end()
        assert sum(is_active(pod) for pod in cluster.pods.values()) == 3, (look, moment)
        assert drive.wrongs == []


def test_a_copy_taken_in_by_another_replica_set_is_not_deleted() -> None:
    def orphan(cluster: ToyCluster) -> None:
        cluster.delete_replica_set(orphan=True)

    for look, moment in Drive(ToyCluster()).to_the_end().moments:
        drive = Drive(ToyCluster(), [Event(look, orphan, moment)]).to_the_end()
        assert list(problems(drive)) == [], (look, moment)


def test_a_mark_that_a_dead_process_left_is_taken_off_when_the_pod_is_moved_next() -> None:
    cluster = ToyCluster(own_cost="7")
    annotations = cluster.pods[cluster.original_uid]["metadata"]["annotations"]
    annotations[names.DELETION_COST] = names.LOWEST_DELETION_COST
    annotations[names.PREVIOUS_DELETION_COST] = "7"
    drive = Drive(cluster)
    drive.one_look()
    drive.look()
    action = drive.actions[-1]
    assert isinstance(action, PatchPod)
    assert action.change["annotations"][names.DELETION_COST] == "7"
    assert action.change["annotations"][names.PREVIOUS_DELETION_COST] is None
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.moved
    assert list(problems(drive)) == []


@pytest.mark.parametrize("replicas", [1, 3])
def test_sleeping_controllers_are_waited_for(replicas: int) -> None:
    def sleep(cluster: ToyCluster) -> None:
        cluster.controllers_sleep = True

    for look in LOOKS:
        drive = Drive(ToyCluster(replicas=replicas), [Event(look, sleep)]).to_the_end()
        assert list(problems(drive)) == [], look


def _drain(which: str) -> Disturbance:
    def act(cluster: ToyCluster) -> None:
        pods = [cluster.original] if which == "original" else cluster.siblings
        for pod in pods:
            if pod and is_active(pod) and pod is not cluster.copy:
                try:
                    cluster.evict(pod["metadata"]["uid"], dry_run=False)
                except Refused:
                    continue

    return act


@each_shape
def test_a_drain_that_the_copy_made_lawful_costs_nothing(shape: dict[str, Any], ticks: int) -> None:
    """The budget has one to spare while the copy serves, and a drain takes it."""
    for which in ("original", "sibling"):
        cluster = ToyCluster(**shape)
        ready = cluster.replicas - cluster.stuck
        cluster.add_budget("tight", min_available=ready)
        events = [Event(look, _drain(which)) for look in range(1, 9)]
        least = _least_ready(Drive(cluster, events, ticks))
        assert least >= ready, which


@pytest.mark.parametrize("user", ["pauses", "scales up", "rolls out", "two budgets appear"])
@pytest.mark.parametrize("ticks", [0, 1])
def test_nor_does_it_if_the_user_acts_just_then(user: str, ticks: int) -> None:
    """Who gives way to the user takes back a copy that serves for a pod that was drained."""

    def drain_and_act(cluster: ToyCluster) -> None:
        _drain("sibling")(cluster)
        if cluster.evicted:
            DISTURBANCES[user](cluster)

    for look in LOOKS:
        cluster = ToyCluster()
        cluster.add_budget("tight", min_available=cluster.replicas)
        drive = Drive(cluster, [Event(look, drain_and_act)], ticks)
        assert _least_ready(drive) >= cluster.replicas, look
        assert list(problems(drive)) == []


def _least_ready(drive: Drive) -> int:
    """The fewest Ready pods at any time, copies among them."""
    counts: list[int] = []
    tick = drive.cluster.tick

    def counted() -> None:
        tick()
        counts.append(sum(is_ready(pod) for pod in drive.cluster.pods.values()))

    drive.cluster.tick = counted  # type: ignore[method-assign]
    drive.to_the_end()
    return min(counts)


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        (lambda node: node["spec"].update(unschedulable=True), "target is cordoned"),
        (lambda node: node["status"].clear(), "target is not Ready"),
        (
            lambda node: node["spec"].update(taints=[{"key": "ToBeDeletedByClusterAutoscaler"}]),
            "cluster-autoscaler is about to remove target",
        ),
    ],
)
def test_the_target_is_looked_at_until_the_hand_over(
    happens: Callable[[Any], None], message: str
) -> None:
    for look in range(3, 7):
        cluster = ToyCluster()
        event = Event(look, lambda each: happens(each.target))
        drive = Drive(cluster, [event]).to_the_end()
        assert drive.outcomes[0].reason == Reason.TARGET_LOST, look
        assert drive.outcomes[0].message == message
        assert list(problems(drive)) == []


def test_an_original_whose_mark_was_overwritten_is_marked_anew_before_the_hand_over() -> None:
    def overwrite(cluster: ToyCluster) -> None:
        if cluster.original and is_marked(cluster.original):
            cluster.original["metadata"]["annotations"][names.DELETION_COST] = "1000"

    marked_at = next(
        look
        for look, action in enumerate(Drive(ToyCluster()).to_the_end().actions)
        if describe(action).startswith("marks the original")
    )
    drive = Drive(ToyCluster(), [Event(marked_at + 1, overwrite)]).to_the_end()
    marks = [
        action for action in drive.actions if describe(action).startswith("marks the original")
    ]
    assert len(marks) == 2
    assert drive.outcome.moved
    assert list(problems(drive)) == []
