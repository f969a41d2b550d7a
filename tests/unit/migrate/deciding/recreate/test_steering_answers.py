"""What the way Recreate says when it was disturbed: the reason fits what happened."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.actions import Action, Evict, PatchPod
from rescheduler.migrate.deciding.facts import Progress
from rescheduler.migrate.deciding.recreate import replacing, resting
from rescheduler.model.podmigration import Reason, Step
from tests.unit.migrate.deciding.recreate.steering_drive import Drive, Event
from tests.unit.migrate.deciding.recreate.steering_scenes import (
    DISTURBANCES,
    each_shape,
    problems,
    toy,
)
from tests.unit.migrate.toy_controllers import ELSEWHERE, TARGET
from tests.unit.migrate.toy_workload import ToyWorkload


def _look_of(shape: dict[str, Any], wanted: type[Action], step: Step) -> int:
    """The look at which an undisturbed one takes this step."""
    actions = Drive(toy(**shape)).to_the_end().actions
    is_it = [isinstance(each, wanted) and each.step is step for each in actions]
    return is_it.index(True)


@pytest.mark.parametrize(
    ("disturbance", "reason"),
    [
        ("rolls out", Reason.WORKLOAD_CHANGED),
        ("scales to 0", Reason.WORKLOAD_CHANGED),
        ("deletes the workload", Reason.WORKLOAD_GONE),
        ("deletes the original", Reason.ORIGINAL_GONE),
        ("the original fails", Reason.ORIGINAL_GONE),
        ("a sibling turns unready", Reason.SIBLING_NOT_READY),
        ("cordons the target", Reason.TARGET_LOST),
        ("the target is lost", Reason.TARGET_LOST),
        ("two budgets appear", Reason.SEVERAL_BUDGETS),
        ("a budget that allows nothing appears", Reason.BUDGET_REFUSED),
    ],
)
def test_says_why_it_gave_up_before_the_eviction(disturbance: str, reason: Reason) -> None:
    look = _look_of({}, Evict, Step.EVICT)
    drive = Drive(toy(), [Event(look, DISTURBANCES[disturbance])]).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, reason)
    assert drive.cluster.evicted == []
    assert list(problems(drive)) == []


@pytest.mark.parametrize(
    ("disturbance", "reason"),
    [
        ("scales to 0", Reason.WORKLOAD_CHANGED),
        ("deletes the workload", Reason.WORKLOAD_GONE),
        ("deletes the namespace", Reason.WORKLOAD_GONE),
    ],
)
@each_shape
def test_waits_for_no_successor_when_nobody_makes_one(
    shape: dict[str, Any], disturbance: str, reason: Reason
) -> None:
    look = _look_of(shape, Evict, Step.EVICT) + 1
    drive = Drive(toy(**shape), [Event(look, DISTURBANCES[disturbance])]).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, reason)
    assert drive.cluster.evicted == [drive.cluster.original_uid]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "Job"])
def test_waits_for_no_successor_when_one_less_is_wanted(kind: str) -> None:
    shape = {"kind": kind}
    look = _look_of(shape, Evict, Step.EVICT)
    events = [Event(look, DISTURBANCES["scales down"], "after the write")]
    drive = Drive(toy(**shape), events).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.WORKLOAD_CHANGED)
    assert list(problems(drive)) == []


@pytest.mark.parametrize(
    ("pod", "spec", "is_made"),
    [
        ("web-2", {"replicas": 3}, True),
        ("web-2", {"replicas": 2}, False),
        ("web-6", {"replicas": 2, "ordinals": {"start": 5}}, True),
        ("web-7", {"replicas": 2, "ordinals": {"start": 5}}, False),
    ],
)
def test_a_stateful_set_makes_only_its_ordinals(
    pod: str, spec: dict[str, Any], *, is_made: bool
) -> None:
    cluster = toy()
    stateful_set = {**cluster.workloads[cluster.owner_uid]}
    stateful_set["spec"] = {**stateful_set["spec"], **spec}
    view = replace(cluster.view(), stateful_set=stateful_set)
    why = resting.why_no_successor(replace(cluster.intent, pod=pod), view)
    assert (why == "") is is_made


@pytest.mark.parametrize(
    ("completions", "succeeded", "is_made"), [(None, 0, True), (5, 2, True), (4, 2, False)]
)
def test_a_job_makes_only_what_is_left_to_do(
    completions: int | None, succeeded: int, *, is_made: bool
) -> None:
    cluster = toy(kind="Job")
    cluster.pods.pop(cluster.original_uid)
    job = cluster.workloads[cluster.owner_uid]
    job["spec"] |= {"completions": completions} if completions else {}
    job["status"] |= {"succeeded": succeeded}
    why = resting.why_no_successor(cluster.intent, cluster.view())
    assert (why == "") is is_made


@pytest.mark.parametrize(
    ("spec", "failed", "bears_it"),
    [
        ({}, 5, True),
        ({}, 6, False),
        ({"backoffLimit": 0}, 0, False),
        ({"backoffLimit": 1}, 0, True),
        ({"backoffLimitPerIndex": 0}, 0, False),
        ({"backoffLimitPerIndex": 1}, 9, True),
        (
            {
                "backoffLimit": 0,
                "podFailurePolicy": {
                    "rules": [
                        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
                    ]
                },
            },
            0,
            True,
        ),
    ],
)
def test_a_job_is_asked_whether_it_bears_an_eviction(
    spec: dict[str, Any], failed: int, *, bears_it: bool
) -> None:
    cluster = toy(kind="Job")
    job = cluster.workloads[cluster.owner_uid]
    job["spec"] |= spec
    job["status"] |= {"failed": failed}
    drive = Drive(cluster).to_the_end()
    expected = Reason.COMPLETED if bears_it else Reason.NOT_MOVABLE
    assert drive.outcome.reason is expected
    assert bool(cluster.evicted) is bears_it


# ---------------------------------------------------------------------- whose successor


def test_the_successor_of_a_stateful_pod_has_its_name() -> None:
    cluster = toy()
    progress = Progress(now=cluster.now, siblings=frozenset(cluster.pods))
    cluster.pods.pop(cluster.original_uid)
    cluster.stop(cluster.siblings[0]["metadata"]["uid"])
    for _ in range(12):
        cluster.tick()
    view = cluster.view()
    # That another one was made anew, too, and even on the target, makes it no successor.
    for pod in view.pods:
        pod["spec"]["nodeName"] = ELSEWHERE if pod["metadata"]["name"] == "web-0" else TARGET
    found = replacing.replacement(cluster.intent, view, progress)
    assert found
    assert found["metadata"]["name"] == "web-0"
    new = {pod["metadata"]["uid"] for pod in view.pods} - progress.siblings
    assert len(new) == 2


def test_of_several_successors_it_is_the_one_on_the_target() -> None:
    cluster = toy(kind="ReplicaSet")
    progress = Progress(now=cluster.now, siblings=frozenset(cluster.pods))
    for uid in list(cluster.pods)[:2]:
        cluster.pods.pop(uid)
    for _ in range(5):
        cluster.tick()
    view = cluster.view()
    new = [pod for pod in view.pods if pod["metadata"]["uid"] not in progress.siblings]
    assert len(new) == 2
    for last in new:
        for pod in new:
            pod["spec"]["nodeName"] = TARGET if pod is last else ELSEWHERE
        assert replacing.replacement(cluster.intent, view, progress) == last


def test_there_is_no_successor_before_the_eviction() -> None:
    cluster = toy()
    cluster.pods.pop(cluster.original_uid)
    for _ in range(5):
        cluster.tick()
    assert any(pod["metadata"]["name"] == "web-0" for pod in cluster.view().pods)
    progress = Progress(now=cluster.now)
    assert replacing.replacement(cluster.intent, cluster.view(), progress) is None
    assert not replacing.has_begun(cluster.view(), progress)


# ---------------------------------------------------------------------- after all


def test_an_eviction_that_takes_effect_after_we_gave_up_is_followed_to_its_end() -> None:
    look = _look_of({}, Evict, Step.EVICT)

    def uncordon(cluster: ToyWorkload) -> None:
        if cluster.target:
            cluster.target["spec"].clear()

    events = [
        Event(look, fault="done late"),
        Event(look + 1, DISTURBANCES["cordons the target"]),
        *(Event(each, fault="not done") for each in range(look + 2, look + 6)),
        Event(look + 6, uncordon),
    ]
    drive = Drive(toy(), events).to_the_end()
    assert drive.cluster.evicted == [drive.cluster.original_uid]
    assert any(action.step is Step.TAKE_BACK for action in drive.actions)
    assert drive.outcome.moved
    assert list(problems(drive)) == []


def test_a_successor_that_must_not_be_marked_does_not_keep_it_open() -> None:
    look = _look_of({}, PatchPod, Step.WAIT_REPLACEMENT)
    events = [Event(each, fault="not done") for each in range(look, look + 70)]
    drive = Drive(toy(), events).to_the_end()
    assert drive.outcome.moved
    assert not drive.cluster.temporary
