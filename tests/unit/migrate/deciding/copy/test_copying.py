"""The move of a pod that nobody controls, driven through a toy cluster: to its end, with a crash or
a lost answer at every step, and with users and nodes acting at every step.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding.actions import (
    CreateCopy,
    End,
    Evict,
    PatchPod,
    Wait,
    describe,
)
from rescheduler.model import names
from rescheduler.model.podmigration import Reason, Step
from tests.unit.migrate.deciding.surge import surge_scenes
from tests.unit.migrate.deciding.surge.surge_scenes import Disturbance, on
from tests.unit.migrate.driving import FAULTS, MOMENTS, Drive, Event, Fault
from tests.unit.migrate.toy_cluster import SOURCE, TARGET, ToyCluster, in_progress, is_marked
from tests.unit.migrate.toy_objects import is_active, is_ready, name_of, touch

LOOKS = range(15)
"""An undisturbed move looks 14 times at most."""


def alone(**more: str) -> ToyCluster:
    return ToyCluster(alone=True, replicas=1, fate_of_copies=more.get("fate_of_copies", "ready"))


def _recreate(cluster: ToyCluster, uid: str) -> None:
    """As GitOps does with what it misses."""
    cluster.stop(uid)
    del cluster.pods[uid]
    cluster.add_bare_pod("db")


def _cordon(cluster: ToyCluster) -> None:
    assert cluster.target
    cluster.target["spec"]["unschedulable"] = True


def _own(cluster: ToyCluster, uid: str) -> None:
    reference = {"kind": "Widget", "name": "w", "uid": "w", "controller": True}
    cluster.pods[uid]["metadata"]["ownerReferences"] = [reference]
    cluster.controllers_sleep = True  # they do not know this owner
    touch(cluster.pods[uid])


GONE: dict[str, Disturbance] = {
    **{
        name: surge_scenes.DISTURBANCES[name]
        for name in ("deletes the original", "the original fails")
    },
    "recreates the original": on("original", _recreate),
}
DISTURBANCES: dict[str, Disturbance] = {
    **GONE,
    **{
        name: surge_scenes.DISTURBANCES[name]
        for name in (
            "deletes the copy",
            "the copy fails",
            "the copy turns unready",
            "the copy turns unready for long",
            "a budget appears",
            "two budgets appear",
        )
    },
    "cordons the target": _cordon,
}


def problems(drive: Drive) -> Iterator[str]:
    """What is not as it should be once all has come to rest."""
    cluster, outcome = drive.cluster, drive.outcome
    original, copy = cluster.original, cluster.copy
    is_lost = copy is None or not is_active(copy)
    if outcome.moved and is_lost and "has ended there since" not in outcome.message:
        yield f"no copy is left: {outcome}"
    if outcome.moved and original and is_active(original):
        yield f"the original is still there: {outcome}"
    if not outcome.moved and copy:
        yield f"a copy is left: {outcome}"
    if any(is_active(pod) for pod in in_progress(cluster.pods)):
        yield "a copy is left in the middle"
    if any(is_marked(pod) for pod in cluster.pods.values()):
        yield "a mark is left"
    yield from drive.wrongs


# ---------------------------------------------------------------------- undisturbed


@pytest.mark.parametrize("ticks", [0, 1])
def test_moves_the_pod_and_leaves_nothing_behind(ticks: int) -> None:
    drive = Drive(alone(), ticks_after_a_write=ticks).to_the_end()
    assert drive.outcome.moved
    assert drive.looks <= len(LOOKS)
    assert drive.cluster.original is None
    assert drive.cluster.copy
    assert name_of(drive.cluster.copy).startswith("rescheduled-db-2026")
    assert drive.cluster.copy["spec"]["nodeName"] == TARGET
    assert list(problems(drive)) == []


def test_writes_in_this_order() -> None:
    drive = Drive(alone()).to_the_end()
    written = [describe(action) for action in drive.actions if not isinstance(action, Wait | End)]
    assert written == [
        "marks the original as being moved",
        "creates the copy",
        "asks whether the original may be evicted",
        "takes the original out of its Services",
        "asks whether the original may be evicted",
        "evicts the original",
        "marks the copy as moved",
    ]
    assert drive.steps == [
        Step.MARK,
        Step.CREATE,
        Step.WAIT_READY,
        Step.LEAVE,
        Step.EVICT,
        Step.WAIT_GONE,
        Step.CLEAN_UP,
        Step.DONE,
    ]


def test_there_is_always_one_that_is_ready() -> None:
    ready: list[int] = []

    def count(cluster: ToyCluster) -> None:
        ready.append(sum(is_ready(pod) for pod in cluster.pods.values()))

    Drive(alone(), [Event(look, count, m) for look in LOOKS for m in MOMENTS]).to_the_end()
    assert min(ready) == 1


def test_a_budget_that_lets_nobody_evict_is_met() -> None:
    cluster = alone()
    cluster.add_budget("all", min_available=1)
    assert Drive(cluster).to_the_end().outcome.moved


def test_a_second_move_does_not_pile_up_prefixes_pins_or_history() -> None:
    cluster = alone()
    first = Drive(cluster).to_the_end()
    assert cluster.copy
    uid = cluster.copy["metadata"]["uid"]
    # Back again.
    cluster.ask_for(uid, source=TARGET, target=SOURCE)
    second = Drive(cluster, which=1).to_the_end()
    assert second.outcome.moved
    (pod,) = cluster.pods.values()
    assert name_of(pod).startswith("rescheduled-db-2026")
    assert name_of(pod) != first.intent.copy
    assert pod["metadata"]["annotations"][names.ORIGINAL_POD] == uid
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    (terms,) = (each["nodeSelectorTerms"] for each in affinity.values())
    assert [each["values"] for term in terms for each in term["matchFields"]] == [[SOURCE]]


# ---------------------------------------------------------------------- disturbed at every step


@pytest.mark.parametrize("ticks", [0, 1])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_step_changes_nothing_in_the_end(ticks: int, fault: Fault) -> None:
    for look in LOOKS:
        drive = Drive(alone(), [Event(look, fault=fault)], ticks).to_the_end()
        assert list(problems(drive)) == [], look
        assert drive.outcome.moved, look
        assert drive.swept == 0, look


@pytest.mark.parametrize("ticks", [0, 1])
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_all_is_well_whatever_happens_at_any_step(ticks: int, disturbance: str) -> None:
    for look, moment in Drive(alone(), (), ticks).to_the_end().moments:
        event = Event(look, DISTURBANCES[disturbance], moment)
        drive = Drive(alone(), [event], ticks).to_the_end()
        assert list(problems(drive)) == [], event
        # What ends a copy in the very moment in which the original is evicted ends the pod.
        if disturbance not in GONE and not _evicts(drive, look):
            assert any(is_active(pod) for pod in drive.cluster.pods.values()), event


def _evicts(drive: Drive, look: int) -> bool:
    """At this look or before it."""
    return any(isinstance(each, Evict) and not each.dry_run for each in drive.actions[: look + 1])


events = st.builds(
    Event,
    look=st.integers(0, 14),
    disturbance=st.none() | st.sampled_from(list(DISTURBANCES.values())),
    moment=st.sampled_from(MOMENTS),
    fault=st.none() | st.sampled_from(FAULTS),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(events, min_size=2, max_size=3), st.integers(0, 2))
def test_all_is_well_whatever_happens_together(happening: list[Event], ticks: int) -> None:
    drive = Drive(alone(), happening, ticks).to_the_end()
    assert list(problems(drive)) == []


# ---------------------------------------------------------------------- particular cases


@pytest.mark.parametrize("disturbance", GONE)
def test_a_copy_of_a_pod_that_is_gone_goes_too_whatever_a_budget_asks_for(disturbance: str) -> None:
    forbids = Event(0, DISTURBANCES["a budget appears"], "before the look")
    deletes = Event(1, DISTURBANCES[disturbance], "before the write")
    drive = Drive(alone(), [forbids, deletes], 1).to_the_end()
    assert list(problems(drive)) == []
    assert not drive.is_unfinished


def _at(what: str) -> int:
    """The look at which an undisturbed move does this."""
    actions = Drive(alone()).to_the_end().actions
    return next(look for look, action in enumerate(actions) if describe(action) == what)


@pytest.mark.parametrize("disturbance", sorted(GONE.keys() - {"the original fails"}))
def test_a_copy_that_serves_goes_too_when_a_user_deletes_the_original(disturbance: str) -> None:
    look = _at("asks whether the original may be evicted")
    drive = Drive(alone(), [Event(look, DISTURBANCES[disturbance])]).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.ORIGINAL_GONE)
    assert drive.cluster.copy is None


def _evict_original(cluster: ToyCluster) -> None:
    """As a drain does, which our copy has made lawful."""
    if cluster.original is not None:
        cluster.stop(cluster.original["metadata"]["uid"])
        condition = {"type": "DisruptionTarget", "status": "True"}
        cluster.original["status"]["conditions"].append(condition)


@pytest.mark.parametrize("disturbance", [_evict_original, DISTURBANCES["the original fails"]])
def test_a_copy_that_serves_lives_on_when_the_original_is_evicted_or_fails(
    disturbance: Disturbance,
) -> None:
    look = _at("asks whether the original may be evicted")
    drive = Drive(alone(), [Event(look, disturbance)]).to_the_end()
    assert drive.outcome.moved
    assert "the original was deleted by someone else, or failed" in drive.outcome.message
    assert list(problems(drive)) == []


@pytest.mark.parametrize("disturbance", GONE)
def test_a_copy_that_does_not_serve_yet_goes_with_its_original(disturbance: str) -> None:
    look = _at("creates the copy") + 1
    drive = Drive(alone(), [Event(look, DISTURBANCES[disturbance])]).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.ORIGINAL_GONE)
    assert drive.cluster.copy is None


def test_an_original_that_failed_stays_for_who_wants_to_know_why() -> None:
    look = _at("evicts the original")
    drive = Drive(alone(), [Event(look, DISTURBANCES["the original fails"])]).to_the_end()
    assert drive.cluster.original
    assert not is_marked(drive.cluster.original)


def test_one_that_was_made_again_under_the_same_name_is_left_alone() -> None:
    look = _at("evicts the original") + 1
    drive = Drive(alone(), [Event(look, DISTURBANCES["recreates the original"])]).to_the_end()
    assert drive.outcome.moved
    assert drive.outcome.message.endswith("somebody has made another db since")
    assert sorted(name_of(pod) for pod in drive.cluster.pods.values() if is_active(pod)) == [
        "db",
        drive.intent.copy,
    ]


def test_a_pod_that_somebody_owns_by_now_is_left_alone() -> None:
    for look in range(_at("evicts the original")):
        drive = Drive(alone(), [Event(look, on("original", _own))])
        drive.start()
        while drive.look() not in ("ended", "died"):
            drive.tick(1)
        assert not drive.outcome.moved, look
        assert drive.outcome.message == "somebody owns the pod by now" or look == 0
        assert drive.cluster.copy is None
        assert drive.cluster.original_uid not in drive.cluster.evicted


def test_the_first_write_is_the_mark_and_the_second_the_copy() -> None:
    actions = Drive(alone()).to_the_end().actions
    assert isinstance(actions[0], PatchPod)
    assert actions[0].change["resourceVersion"] == actions[0].pod["metadata"]["resourceVersion"]
    assert isinstance(actions[1], CreateCopy)


NOT_BEGUN = [
    (on("original", ToyCluster.stop), "NotNow", "the pod is terminating"),
    (on("original", lambda c, uid: c.turn_unready(uid, for_seconds=9)), "NotNow", "the pod is no"),
    (_cordon, "NotNow", "target is cordoned"),
    (DISTURBANCES["two budgets appear"], "NotMovable", "several PodDisruptionBudgets select it"),
]


@pytest.mark.parametrize(
    ("disturbance", "reason", "message"), NOT_BEGUN, ids=[each[2] for each in NOT_BEGUN]
)
def test_nothing_is_written_when(disturbance: Disturbance, reason: str, message: str) -> None:
    cluster = alone()
    disturbance(cluster)
    (action,) = Drive(cluster).one_look()
    assert isinstance(action, End)
    assert (action.outcome.moved, action.outcome.reason) == (False, reason)
    assert action.outcome.message.startswith(message)


def test_nothing_is_written_when_a_replica_set_would_adopt_the_copy() -> None:
    cluster = alone()
    greedy = cluster.add_replica_set("greedy", 0)
    greedy["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    (action,) = Drive(cluster).one_look()
    assert isinstance(action, End)
    assert action.outcome.message == "another ReplicaSet would adopt the copy: web-greedy"


# ---------------------------------------------------------------------- one that is not Ready


def _unready(fate: str = "ready", *, asked: bool = True, phase: str = "Running") -> ToyCluster:
    cluster = ToyCluster(alone=True, replicas=1, asked=asked, fate_of_copies=fate)
    cluster.turn_unready(cluster.original_uid, for_seconds=10**6)
    cluster.pods[cluster.original_uid]["status"]["phase"] = phase
    return cluster


def test_one_that_is_not_ready_stays_until_somebody_asks() -> None:
    drive = Drive(_unready(asked=False)).to_the_end()
    assert (drive.outcome.reason, drive.outcome.message) == (Reason.NOT_NOW, "the pod is not Ready")


@pytest.mark.parametrize(
    ("fate", "phase", "moved"),
    [
        ("ready", "Running", True),
        ("image", "Pending", True),  # neither has its image
        ("image", "Running", False),  # its containers had been started
        ("ended", "Running", False),
    ],
)
def test_the_copy_has_to_be_as_far_as_it_was(fate: str, phase: str, *, moved: bool) -> None:
    drive = Drive(_unready(fate, phase=phase)).to_the_end()
    assert drive.outcome.moved == moved, drive.outcome
    left = [name_of(pod) for pod in drive.cluster.pods.values() if is_active(pod)]
    assert left == [drive.intent.copy if moved else "db"]
    if not moved:
        assert drive.outcome.reason is Reason.COPY_FAILED
        assert drive.cluster.evicted == []
