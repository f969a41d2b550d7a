"""The decisions of a surge, driven through a toy cluster to its end, undisturbed."""

from typing import Any

from rescheduler.migrate.deciding.actions import (
    Action,
    End,
    Evict,
    PatchPod,
    Wait,
    describe,
)
from rescheduler.model import names
from tests.unit.migrate.deciding.surge.surge_scenes import LOOKS, each_shape, problems
from tests.unit.migrate.driving import MOMENTS, Drive, Event, is_adoption
from tests.unit.migrate.toy_cluster import TARGET, ToyCluster
from tests.unit.migrate.toy_objects import is_ready

SERVICE_NAME = "kubernetes.io/service-name"


# ---------------------------------------------------------------------- undisturbed


@each_shape
def test_moves_the_pod_and_leaves_nothing_behind(shape: dict[str, Any], ticks: int) -> None:
    drive = Drive(ToyCluster(**shape), ticks_after_a_write=ticks).to_the_end()
    assert drive.outcome.moved
    assert drive.looks <= len(LOOKS)
    assert drive.cluster.original is None
    assert drive.cluster.copy
    assert drive.cluster.copy["spec"]["nodeName"] == TARGET
    assert list(problems(drive)) == []


def test_writes_in_the_order_that_was_tried_on_a_real_control_plane() -> None:
    drive = Drive(ToyCluster()).to_the_end()
    written = [describe(action) for action in drive.actions if not isinstance(action, Wait | End)]
    assert written == [
        "asks what admission makes of a copy",
        "marks the original as being moved",
        "creates the copy",
        "asks whether the original may be evicted",
        "takes the original out of its Services",
        "asks whether the original may be evicted",
        "marks the original as first to go",
        "lets the ReplicaSet adopt the copy",
        "evicts the original",
    ]


def test_leaves_the_eviction_to_the_replica_set_when_the_budget_turns_against_it() -> None:
    def add_budget(cluster: ToyCluster) -> None:
        cluster.add_budget("late", min_available=99)

    events = [Event(look, add_budget, "after the adoption") for look in LOOKS]
    drive = Drive(ToyCluster(), events).to_the_end()
    assert drive.outcome.moved
    assert drive.cluster.evicted == []
    assert drive.cluster.removed_while_ready == [drive.cluster.original_uid]
    assert list(problems(drive)) == []


@each_shape
def test_never_fewer_are_ready_than_before(shape: dict[str, Any], ticks: int) -> None:
    cluster = ToyCluster(**shape)
    lowest: list[int] = []

    def count(cluster: ToyCluster) -> None:
        lowest.append(sum(is_ready(pod) for pod in cluster.pods.values()))

    watching = [Event(look, count, moment) for look in LOOKS for moment in MOMENTS]
    Drive(cluster, watching, ticks).to_the_end()
    assert min(lowest) == cluster.replicas - cluster.stuck


# ---------------------------------------------------------------------- details of steps


def test_the_adoption_is_bound_to_the_version_of_the_copy_that_was_judged() -> None:
    drive = Drive(ToyCluster()).to_the_end()
    (adoption,) = (
        action
        for action in drive.actions
        if isinstance(action, PatchPod) and "adopt" in action.what
    )
    assert adoption.change["resourceVersion"] == adoption.pod["metadata"]["resourceVersion"]
    assert adoption.is_final
    assert adoption.change["labels"] == {
        "pod-template-hash": "hash-1",
        names.MIGRATION_STATUS: "completed",
    }


def test_the_mark_is_bound_to_the_version_of_the_original_that_was_judged() -> None:
    cluster = ToyCluster(own_cost="7")
    drive = Drive(cluster).to_the_end()
    (mark,) = (
        action
        for action in drive.actions
        if isinstance(action, PatchPod) and "first" in action.what
    )
    assert mark.change["resourceVersion"] == mark.pod["metadata"]["resourceVersion"]
    assert mark.change["annotations"] == {
        names.DELETION_COST: "-2147483648",
        names.PREVIOUS_DELETION_COST: "7",
    }


def test_minimum_ready_seconds_and_settling_are_waited_for() -> None:
    cluster = ToyCluster()
    cluster.replica_sets["rs-1"]["spec"]["minReadySeconds"] = 5
    drive = Drive(cluster).to_the_end()
    waits = [action.reason for action in drive.actions if isinstance(action, Wait)]
    assert waits.count("the copy is Ready, but not yet for 5 s") == 5


def test_the_copy_must_be_in_every_service_that_holds_the_original() -> None:
    cluster = ToyCluster()
    held = {"targetRef": {"uid": cluster.original_uid}}
    other = {"metadata": {"name": "x", "labels": {SERVICE_NAME: "other"}}, "endpoints": [held]}
    drive = Drive(cluster, [Event(5, lambda c: c.slices.append(other))]).to_the_end()
    waits = {action.reason for action in drive.actions if isinstance(action, Wait)}
    assert "the copy is not yet a ready endpoint of other" in waits


def test_we_do_not_evict_before_the_copy_is_an_endpoint_where_that_comes_with_the_adoption() -> (
    None
):
    drive = Drive(ToyCluster(by_hash=True)).to_the_end()
    [adopted] = [number for number, action in enumerate(drive.actions) if is_adoption(action)]
    told = [action.reason for action in drive.actions[:adopted] if isinstance(action, Wait)]
    assert not [each for each in told if "endpoint" in each]
    after = drive.actions[adopted + 1]
    assert isinstance(after, Wait)
    assert after.reason == "the copy is not yet a ready endpoint of web"
    # By the time that it is one, the ReplicaSet has done its part.
    assert drive.cluster.evicted == []
    assert drive.cluster.removed_while_ready == [drive.cluster.original_uid]


def test_a_copy_in_a_slice_is_not_ready_merely_because_its_service_publishes_all() -> None:
    """publishNotReadyAddresses: it says of every endpoint that it is ready."""
    cluster = ToyCluster(fate_of_copies="never ready")

    def publish(cluster: ToyCluster) -> None:
        [piece] = cluster.slices
        uids = [cluster.copy["metadata"]["uid"]] if cluster.copy else []
        all_of_them = [{"targetRef": {"uid": uid}, "conditions": {"ready": True}} for uid in uids]
        piece["endpoints"] = [*piece["endpoints"], *all_of_them]

    drive = Drive(cluster, [Event(look, publish) for look in range(60)]).to_the_end()
    assert drive.outcome.reason == "NotReadyInTime"
    assert list(problems(drive)) == []


def test_an_original_that_nobody_removes_is_left_to_the_next_run() -> None:
    """The controllers sleep, and a budget that came late refuses the eviction."""

    def obstruct(cluster: ToyCluster) -> None:
        cluster.controllers_sleep = True
        cluster.add_budget("late", min_available=99)

    events = [Event(look, obstruct, "after the adoption") for look in LOOKS]
    drive = Drive(ToyCluster(), events).to_the_end()
    assert drive.outcomes[0].reason == "NotFinished"
    # It ends only because the controllers wake up; until then each run leaves it to the next.
    assert {outcome.reason for outcome in drive.outcomes} == {"NotFinished"}
    assert drive.cluster.original is None


def test_a_refusal_of_before_a_wait_does_not_count_against_the_budget_timeout() -> None:
    """Refused once, then a sibling is away for long: after that the budget is asked anew."""
    cluster = ToyCluster()
    cluster.add_budget("tight", min_available=99)

    def relax(cluster: ToyCluster) -> None:
        cluster.budgets.clear()
        sibling = cluster.siblings[0]
        cluster.turn_unready(sibling["metadata"]["uid"], for_seconds=10)

    asked = next(
        look
        for look, action in enumerate(Drive(ToyCluster()).to_the_end().actions)
        if _asks(action)
    )
    drive = Drive(cluster, [Event(asked + 2, relax)]).to_the_end()
    assert drive.outcome.moved


def _asks(action: Action) -> bool:
    return isinstance(action, Evict) and action.dry_run
