"""The decisions of a surge, driven through a toy cluster: to its end, with a crash or a lost answer
at every step, and with users and nodes acting at every step.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding.deciding import decide
from rescheduler.migrate.deciding.facts import Progress
from rescheduler.migrate.deciding.outcomes import Reason
from rescheduler.migrate.deciding.steps import (
    CreateCopy,
    DeleteCopy,
    End,
    Evict,
    GiveUp,
    PatchPod,
    Step,
    Wait,
    describe,
)
from rescheduler.model import names
from tests.unit.migrate.driving import FAULTS, MOMENTS, Drive, Event, Fault
from tests.unit.migrate.toy_cluster import (
    BEGINNING,
    TARGET,
    Refused,
    ToyCluster,
    controller_of,
    in_progress,
    is_active,
    is_marked,
    is_ready,
    touch,
)

Action = Callable[[ToyCluster], None]

LOOKS = range(12)
"""An undisturbed surge looks 11 times."""
SERVICE_NAME = "kubernetes.io/service-name"
MAKES_THE_REPLICA_SET_SHRINK = {"scales down", "scales to 0", "rolls out", "deletes the workload"}


# ---------------------------------------------------------------------- what may happen


def _on(which: str, act: Callable[[ToyCluster, str], None]) -> Action:
    def action(cluster: ToyCluster) -> None:
        pods = {"original": [cluster.original], "copy": [cluster.copy]}
        for pod in pods.get(which) or cluster.siblings[:1]:
            if pod is not None:
                act(cluster, pod["metadata"]["uid"])

    return action


def _take_aside(cluster: ToyCluster, uid: str) -> None:
    """As one does to debug a pod: its ReplicaSet replaces it, and it stays."""
    cluster.pods[uid]["metadata"]["labels"]["app"] = "aside"
    touch(cluster.pods[uid])


def _delete_workload(cluster: ToyCluster) -> None:
    if cluster.bare:
        cluster.delete_replica_set(orphan=False)
    cluster.deployment = None


def _roll_out(cluster: ToyCluster) -> None:
    if cluster.deployment:
        cluster.roll_out()


def _pause(cluster: ToyCluster) -> None:
    if cluster.deployment:
        cluster.deployment["spec"]["paused"] = True
        cluster.deployment["metadata"]["generation"] += 1


def _delete_replica_set(cluster: ToyCluster) -> None:
    if "rs-1" in cluster.replica_sets:
        cluster.delete_replica_set(orphan=False)


def _add_two_budgets(cluster: ToyCluster) -> None:
    for name in ("one", "two"):
        cluster.add_budget(name, min_available=1)


def _unready(seconds: int) -> Callable[[ToyCluster, str], None]:
    return lambda cluster, uid: cluster.turn_unready(uid, for_seconds=seconds)


ACTIONS: dict[str, Action] = {
    "rolls out": _roll_out,
    "pauses": _pause,
    "scales up": lambda cluster: cluster.scale(cluster.wanted + 2),
    "scales down": lambda cluster: cluster.scale(max(0, cluster.wanted - 1)),
    "scales to 0": lambda cluster: cluster.scale(0),
    "deletes the workload": _delete_workload,
    "deletes the ReplicaSet": _delete_replica_set,
    "deletes the original": _on("original", ToyCluster.stop),
    "deletes the copy": _on("copy", ToyCluster.stop),
    "deletes a sibling": _on("sibling", ToyCluster.stop),
    "takes the original aside": _on("original", _take_aside),
    "takes a sibling aside": _on("sibling", _take_aside),
    "the original fails": _on("original", ToyCluster.fail),
    "the copy fails": _on("copy", ToyCluster.fail),
    "a sibling fails": _on("sibling", ToyCluster.fail),
    "the original turns unready": _on("original", _unready(4)),
    "the copy turns unready": _on("copy", _unready(4)),
    "a sibling turns unready": _on("sibling", _unready(4)),
    "a sibling turns unready for long": _on("sibling", _unready(60)),
    "the copy turns unready for long": _on("copy", _unready(60)),
    "a budget appears": lambda cluster: cluster.add_budget("late", min_available=99),
    "two budgets appear": _add_two_budgets,
}


# ---------------------------------------------------------------------- what must hold at the end


def problems(drive: Drive) -> Iterator[str]:
    """What is not as it should be once all has come to rest."""
    cluster = drive.cluster
    active = [pod for pod in cluster.pods.values() if is_active(pod)]
    aside = [pod for pod in active if pod["metadata"]["labels"]["app"] == "aside"]
    owned = [pod for pod in active if controller_of(pod) in cluster.replica_sets]
    if len(owned) != cluster.wanted:
        yield f"{len(owned)} pods, {cluster.wanted} wanted"
    if strays := [pod for pod in active if pod not in owned and pod not in aside]:
        yield f"pods that nobody owns: {strays}"
    if any(is_active(pod) for pod in in_progress(cluster.pods)):
        yield "a copy is left in the middle"
    if any(is_marked(pod) for pod in cluster.pods.values()):
        yield "a mark is left"
    if cluster.original and is_active(cluster.original):
        cost = cluster.original["metadata"]["annotations"].get(names.DELETION_COST, "")
        if cost != cluster.own_cost:
            yield f"the original's deletion cost is {cost!r}"
    yield from drive.wrongs


SHAPES = [
    pytest.param({"replicas": 1}, 0, id="one-replica-slow-controllers"),
    pytest.param({"replicas": 3}, 1, id="three-replicas-fast-controllers"),
    pytest.param({"replicas": 3, "bare": True, "own_cost": "7"}, 0, id="bare-slow-controllers"),
    pytest.param({"replicas": 1, "bare": True}, 1, id="bare-fast-controllers"),
]
each_shape = pytest.mark.parametrize(("shape", "ticks"), SHAPES)


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
    written = [describe(step) for step in drive.steps if not isinstance(step, Wait | End)]
    assert written == [
        "marks the original as being moved",
        "creates the copy",
        "asks whether the original may be evicted",
        "marks the original as first to go",
        "lets the ReplicaSet adopt the copy",
        "evicts the original",
    ]


def test_evicts_the_original_itself_when_the_replica_set_is_slow() -> None:
    drive = Drive(ToyCluster()).to_the_end()
    assert drive.cluster.evicted == [drive.cluster.original_uid]
    assert drive.cluster.removed_while_ready == []


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
    assert min(lowest) == cluster.replicas


def test_a_budget_that_lets_nobody_evict_is_met() -> None:
    cluster = ToyCluster()
    cluster.add_budget("all", min_available=cluster.replicas)
    assert Drive(cluster).to_the_end().outcome.moved


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
@pytest.mark.parametrize("action", ACTIONS)
def test_all_is_well_whatever_happens_at_any_step(
    shape: dict[str, Any], ticks: int, action: str
) -> None:
    for look, moment in itertools.product(LOOKS, MOMENTS):
        event = Event(look, ACTIONS[action], moment)
        drive = Drive(ToyCluster(**shape), [event], ticks).to_the_end()
        assert list(problems(drive)) == [], event
        if action not in MAKES_THE_REPLICA_SET_SHRINK:
            spared = set(drive.cluster.removed_while_ready) - {drive.cluster.original_uid}
            assert spared == set(), event


events = st.builds(
    Event,
    look=st.integers(0, 16),
    action=st.none() | st.sampled_from(list(ACTIONS.values())),
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


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("never ready", "NotReadyInTime"),
        ("image", "CopyFailed"),
        ("ended", "CopyFailed"),
        ("elsewhere", "CopyChanged"),
    ],
)
def test_a_copy_that_does_not_come_up_is_taken_back(fate: str, reason: str) -> None:
    drive = Drive(ToyCluster(fate_of_copies=fate)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, reason)
    assert drive.cluster.original
    assert is_ready(drive.cluster.original)
    writes = {type(step) for step in drive.steps} - {Wait, GiveUp, End}
    # One that serves, but in the wrong place, goes as a serving pod should: by eviction.
    assert writes == {PatchPod, CreateCopy, Evict if fate == "elsewhere" else DeleteCopy}
    assert list(problems(drive)) == []


def test_a_copy_that_a_user_deletes_is_not_made_again() -> None:
    for look in range(2, 5):
        drive = Drive(ToyCluster(), [Event(look, ACTIONS["deletes the copy"])]).to_the_end()
        assert drive.outcome.reason == "CopyLost", look
        assert sum(isinstance(step, CreateCopy) for step in drive.steps) == 1, look
        assert drive.cluster.original, look


def test_a_budget_that_is_never_met_is_asked_for_a_while_and_then_left() -> None:
    cluster = ToyCluster()
    cluster.add_budget("too much", min_available=99)
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason == "BudgetRefused"
    assert cluster.evicted == []
    assert cluster.original
    assert list(problems(drive)) == []


def test_a_pod_that_was_taken_aside_is_not_evicted() -> None:
    for look in LOOKS[:6]:
        drive = Drive(ToyCluster(), [Event(look, ACTIONS["takes the original aside"])]).to_the_end()
        assert drive.cluster.original_uid not in drive.cluster.evicted
        assert drive.cluster.original, look
        assert is_active(drive.cluster.original), look


def test_a_replica_set_deleted_without_its_pods_keeps_as_many_as_it_had() -> None:
    def orphan(cluster: ToyCluster) -> None:
        cluster.delete_replica_set(orphan=True)

    for look, moment in itertools.product(LOOKS, MOMENTS):
        cluster = ToyCluster(bare=True)
        drive = Drive(cluster, [Event(look, orphan, moment)]).to_the_end()
        assert sum(is_active(pod) for pod in cluster.pods.values()) == 3, (look, moment)
        assert drive.wrongs == []


def test_a_copy_taken_in_by_another_replica_set_is_not_deleted() -> None:
    def orphan(cluster: ToyCluster) -> None:
        cluster.delete_replica_set(orphan=True)

    for look, moment in itertools.product(LOOKS, MOMENTS):
        drive = Drive(ToyCluster(), [Event(look, orphan, moment)]).to_the_end()
        assert list(problems(drive)) == [], (look, moment)


def test_a_mark_that_a_dead_process_left_is_taken_off_when_the_pod_is_moved_next() -> None:
    cluster = ToyCluster(own_cost="7")
    annotations = cluster.pods[cluster.original_uid]["metadata"]["annotations"]
    annotations[names.DELETION_COST] = names.LOWEST_DELETION_COST
    annotations[names.PREVIOUS_DELETION_COST] = "7"
    (step,) = Drive(cluster).one_look()
    assert isinstance(step, PatchPod)
    assert step.change["annotations"][names.DELETION_COST] == "7"
    assert step.change["annotations"][names.PREVIOUS_DELETION_COST] is None
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


# ---------------------------------------------------------------------- what is not begun at all


def _vanish(cluster: ToyCluster, uid: str) -> None:
    del cluster.pods[uid]


def _paused(cluster: ToyCluster) -> None:
    _pause(cluster)
    cluster.tick()


def _recreate(cluster: ToyCluster) -> None:
    assert cluster.deployment
    cluster.deployment["spec"]["strategy"] = {"type": "Recreate"}


def _same_node(cluster: ToyCluster) -> None:
    cluster.intent = replace(cluster.intent, target=cluster.intent.source)


def _name_taken(cluster: ToyCluster) -> None:
    cluster.siblings[0]["metadata"]["name"] = cluster.intent.copy


def _names_a_node(cluster: ToyCluster) -> None:
    cluster.replica_sets["rs-1"]["spec"]["template"]["spec"]["nodeName"] = "node-1"


def _greedy(cluster: ToyCluster) -> None:
    greedy = cluster.add_replica_set("greedy", 0)
    greedy["spec"]["selector"] = {"matchLabels": {"app": "web"}}


_INTERRUPTS = "its move would interrupt it: "
NOT_BEGUN = [
    (_on("original", ToyCluster.stop), "NotNow", "the pod is terminating"),
    (_on("original", _vanish), "NotNow", "the pod is gone"),
    (_on("original", _unready(9)), "NotNow", "the pod is not Ready"),
    (_on("original", _take_aside), "NotNow", "the pod is no longer one of its ReplicaSet's"),
    (_on("sibling", _unready(9)), "NotNow", "its sibling web-1 is not Ready"),
    (lambda c: c.replica_sets.clear(), "NotNow", "its ReplicaSet is gone"),
    (lambda c: c.scale(5), "NotNow", "its Deployment has just been changed"),
    (_paused, "NotNow", "its Deployment is paused"),
    (_name_taken, "NotNow", "a pod that is not ours has the name of the copy"),
    (_same_node, "NotMovable", "source and target are the same node"),
    (_recreate, "NotMovable", f"{_INTERRUPTS}its Deployment has strategy Recreate: two of"),
    (_names_a_node, "NotMovable", f"{_INTERRUPTS}its template names a node, past the scheduler"),
    (ACTIONS["two budgets appear"], "NotMovable", "several PodDisruptionBudgets select it"),
    (_greedy, "NotMovable", f"{_INTERRUPTS}another ReplicaSet would adopt the copy: web-greedy"),
]


@pytest.mark.parametrize(
    ("action", "reason", "message"), NOT_BEGUN, ids=[each[2][:70] for each in NOT_BEGUN]
)
def test_nothing_is_written_when(action: Action, reason: str, message: str) -> None:
    cluster = ToyCluster()
    action(cluster)
    (step,) = Drive(cluster).one_look()
    assert isinstance(step, End)
    assert step.outcome.reason == reason
    assert step.outcome.message.startswith(message)
    assert not step.outcome.moved


def test_nothing_is_written_when_every_label_is_selected_by() -> None:
    cluster = ToyCluster()
    selector = cluster.replica_sets["rs-1"]["spec"]["selector"]
    view = replace(cluster.view(), network_policies=({"spec": {"podSelector": selector}},))
    step = decide(cluster.intent, view, Progress(now=BEGINNING))
    assert isinstance(step, End)
    assert step.outcome.reason == "NotMovable"


# ---------------------------------------------------------------------- details of steps


def test_the_grace_period_is_never_shorter_than_the_pods_own() -> None:
    cluster = ToyCluster()
    cluster.pods[cluster.original_uid]["spec"]["terminationGracePeriodSeconds"] = 600
    drive = Drive(cluster).to_the_end()
    assert {step.grace_seconds for step in drive.steps if isinstance(step, Evict)} == {600}


def test_the_adoption_is_bound_to_the_version_of_the_copy_that_was_judged() -> None:
    drive = Drive(ToyCluster()).to_the_end()
    (adoption,) = (
        step for step in drive.steps if isinstance(step, PatchPod) and "adopt" in step.what
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
    (mark,) = (step for step in drive.steps if isinstance(step, PatchPod) and "first" in step.what)
    assert mark.change["resourceVersion"] == mark.pod["metadata"]["resourceVersion"]
    assert mark.change["annotations"] == {
        names.DELETION_COST: "-2147483648",
        names.PREVIOUS_DELETION_COST: "7",
    }


def test_minimum_ready_seconds_and_settling_are_waited_for() -> None:
    cluster = ToyCluster()
    cluster.replica_sets["rs-1"]["spec"]["minReadySeconds"] = 5
    drive = Drive(cluster).to_the_end()
    waits = [step.reason for step in drive.steps if isinstance(step, Wait)]
    assert waits.count("the copy is Ready, but not yet for 5 s") == 5


def test_the_copy_must_be_in_every_service_that_holds_the_original() -> None:
    cluster = ToyCluster()
    held = {"targetRef": {"uid": cluster.original_uid}}
    other = {"metadata": {"name": "x", "labels": {SERVICE_NAME: "other"}}, "endpoints": [held]}
    drive = Drive(cluster, [Event(4, lambda c: c.slices.append(other))]).to_the_end()
    waits = {step.reason for step in drive.steps if isinstance(step, Wait)}
    assert "the copy is not yet a ready endpoint of other" in waits


def test_a_pod_that_never_ends_is_not_waited_for_for_ever() -> None:
    def hold(cluster: ToyCluster) -> None:
        cluster.due.pop(cluster.original_uid, None)

    events = [Event(look, hold) for look in range(60)]
    drive = Drive(ToyCluster(), events).to_the_end()
    assert drive.outcome.moved
    assert "the original lingers" in drive.outcome.message


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


@pytest.mark.parametrize("first", LOOKS)
def test_writes_that_fail_for_ever_come_to_an_end(first: int) -> None:
    """A webhook that is down, a right that was taken away: it ends, and the next run goes on."""
    broken = [Event(look, fault="not done") for look in range(first, 400)]
    drive = Drive(ToyCluster(), broken)
    drive.to_the_end()
    for outcome in drive.outcomes:
        assert outcome.reason in (
            Reason.NOT_NOW,
            Reason.TIMED_OUT,
            Reason.NOT_FINISHED,
            Reason.COMPLETED,
        )
    drive.events = ()
    drive.to_the_end()
    assert list(problems(drive)) == []


def test_a_refusal_of_before_a_wait_does_not_count_against_the_budget_timeout() -> None:
    """Refused once, then a sibling is away for long: after that the budget is asked anew."""
    cluster = ToyCluster()
    cluster.add_budget("tight", min_available=99)

    def relax(cluster: ToyCluster) -> None:
        cluster.budgets.clear()
        sibling = cluster.siblings[0]
        cluster.turn_unready(sibling["metadata"]["uid"], for_seconds=10)

    asked = next(
        look for look, step in enumerate(Drive(ToyCluster()).to_the_end().steps) if _asks(step)
    )
    drive = Drive(cluster, [Event(asked + 2, relax)]).to_the_end()
    assert drive.outcome.moved


def test_minimum_ready_seconds_come_on_top_of_the_time_to_become_ready() -> None:
    cluster = ToyCluster()
    cluster.replica_sets["rs-1"]["spec"]["minReadySeconds"] = 40
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.moved


def _asks(step: Step) -> bool:
    return isinstance(step, Evict) and step.dry_run


def _drain(which: str) -> Action:
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
        cluster.add_budget("tight", min_available=cluster.replicas)
        events = [Event(look, _drain(which)) for look in range(1, 8)]
        least = _least_ready(Drive(cluster, events, ticks))
        assert least >= cluster.replicas, which


@pytest.mark.parametrize("user", ["pauses", "scales up", "rolls out", "two budgets appear"])
@pytest.mark.parametrize("ticks", [0, 1])
def test_nor_does_it_if_the_user_acts_just_then(user: str, ticks: int) -> None:
    """Who gives way to the user takes back a copy that serves for a pod that was drained."""

    def drain_and_act(cluster: ToyCluster) -> None:
        _drain("sibling")(cluster)
        if cluster.evicted:
            ACTIONS[user](cluster)

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
    ],
)
def test_the_target_is_looked_at_until_the_hand_over(
    happens: Callable[[Any], None], message: str
) -> None:
    for look in range(2, 6):
        cluster = ToyCluster()
        event = Event(look, lambda each: happens(each.target))
        drive = Drive(cluster, [event]).to_the_end()
        assert drive.outcomes[0].reason == Reason.TARGET_LOST, look
        assert drive.outcomes[0].message == message
        assert list(problems(drive)) == []


def test_a_sibling_that_would_go_first_forbids_the_move() -> None:
    cluster = ToyCluster()
    cost = {names.DELETION_COST: names.LOWEST_DELETION_COST}
    cluster.siblings[0]["metadata"]["annotations"] |= cost
    (step,) = Drive(cluster).one_look()
    assert isinstance(step, End)
    assert step.outcome.reason == Reason.NOT_MOVABLE


def test_an_original_whose_mark_was_overwritten_is_marked_anew_before_the_hand_over() -> None:
    def overwrite(cluster: ToyCluster) -> None:
        if cluster.original and is_marked(cluster.original):
            cluster.original["metadata"]["annotations"][names.DELETION_COST] = "1000"

    marked_at = next(
        look
        for look, step in enumerate(Drive(ToyCluster()).to_the_end().steps)
        if describe(step).startswith("marks the original")
    )
    drive = Drive(ToyCluster(), [Event(marked_at + 1, overwrite)]).to_the_end()
    marks = [step for step in drive.steps if describe(step).startswith("marks the original")]
    assert len(marks) == 2
    assert drive.outcome.moved
    assert list(problems(drive)) == []
