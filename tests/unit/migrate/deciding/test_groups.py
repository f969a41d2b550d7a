"""Migrations that complete together or not at all."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding import groups, records, serving
from rescheduler.migrate.deciding.actions import GiveUp, Wait
from rescheduler.migrate.deciding.facts import Progress
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model import conditions, names
from rescheduler.model.podmigration import Phase, Reason, Step
from tests.unit.migrate.deciding.surge.test_surges_together import (
    PATIENT,
    Together,
    chance,
    problems,
)
from tests.unit.migrate.driving import FAULTS, Event
from tests.unit.migrate.toy_cluster import BEGINNING, SETTINGS, ToyCluster
from tests.unit.migrate.toy_objects import is_ready, name_of

AT_THE_BARRIER = MigrationStatus(phase=Phase.IN_PROGRESS, step=Step.WAIT_GROUP)


def at(step: Step, **more: str) -> MigrationStatus:
    return replace(AT_THE_BARRIER, step=step, **more)  # type: ignore[arg-type]


def ask(
    *others: MigrationStatus, size: int = 3, seconds: float = 1.0, group: str = "g"
) -> Wait | GiveUp | None:
    cluster = ToyCluster(moving=0)
    for uid in sorted(cluster.pods)[: 1 + len(others)]:
        cluster.ask_for(uid, group=group, group_size=size)
    for record, status in zip([*cluster.records.values()][1:], others, strict=True):
        record["status"] = records.status_document(record, status, BEGINNING)
    progress = Progress(now=BEGINNING, running_seconds=seconds)
    return groups.why_wait(cluster.intent, cluster.view(), progress)


def test_a_pod_that_moves_alone_waits_for_nobody() -> None:
    assert ask(at(Step.CREATE), group="", size=0) is None


def test_who_is_the_last_to_come_waits_for_nobody() -> None:
    assert ask(AT_THE_BARRIER, AT_THE_BARRIER) is None


@pytest.mark.parametrize(
    "step", [Step.CHECK, Step.MARK, Step.CREATE, Step.WAIT_READY, Step.PROTECT, Step.STEER]
)
def test_waits_for_those_that_are_not_ready(step: Step) -> None:
    action = ask(AT_THE_BARRIER, at(step))
    assert isinstance(action, Wait)
    assert action.step is Step.WAIT_GROUP
    assert action.reason.startswith("not ready in its group: web-2-")


def test_but_not_for_ever() -> None:
    action = ask(AT_THE_BARRIER, at(Step.CREATE), seconds=2 * SETTINGS.ready_timeout_seconds + 1)
    assert isinstance(action, GiveUp)
    assert action.outcome.reason == "GroupFailed"


def test_waits_for_those_that_nobody_has_asked_for_yet() -> None:
    action = ask(AT_THE_BARRIER)
    assert isinstance(action, Wait)
    assert action.reason == "1 of the 3 of its group have not been asked for"
    late = ask(AT_THE_BARRIER, seconds=SETTINGS.ready_timeout_seconds + 1)
    assert isinstance(late, GiveUp)


@pytest.mark.parametrize("failed", [at(Step.TAKE_BACK), replace(at(Step.DONE), phase=Phase.FAILED)])
def test_gives_up_with_the_first_that_does(failed: MigrationStatus) -> None:
    action = ask(AT_THE_BARRIER, replace(failed, message="no room"))
    assert isinstance(action, GiveUp)
    assert action.outcome.reason == "GroupFailed"
    assert action.outcome.message.endswith("of its group does not move: no room")


@pytest.mark.parametrize(
    "gone",
    [
        at(Step.HAND_OVER),
        at(Step.EVICT),
        at(Step.WAIT_GONE),
        at(Step.WAIT_REPLACEMENT),
        replace(at(Step.DONE), phase=Phase.COMPLETED),
    ],
)
def test_goes_on_once_one_has_left_for_there_is_no_way_back(gone: MigrationStatus) -> None:
    assert ask(gone, at(Step.TAKE_BACK)) is None
    assert ask(gone, at(Step.WAIT_READY)) is None


# ---------------------------------------------------------------------- as a whole


def group_of(size: int, replicas: int) -> ToyCluster:
    cluster = ToyCluster(replicas=replicas, moving=0, settings=PATIENT)
    for uid in sorted(cluster.pods)[:size]:
        cluster.ask_for(uid, group="g", group_size=size)
    return cluster


class Watching(Together):
    """Notes how many copies were Ready when the first original left."""

    ready_copies: int | None = None

    def _count(self) -> None:
        super()._count()
        originals = {intent.uid for intent in self.cluster.intents}
        leaving = originals - {
            uid
            for uid, pod in self.cluster.pods.items()
            if "deletionTimestamp" not in pod["metadata"]
        }
        if leaving and self.ready_copies is None:
            copies = {intent.copy for intent in self.cluster.intents}
            self.ready_copies = sum(
                is_ready(pod) and name_of(pod) in copies for pod in self.cluster.pods.values()
            )


calm = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@calm
@given(st.integers(2, 3), st.integers(0, 1), st.integers(0, 10**9))
def test_all_copies_are_ready_before_the_first_original_leaves(
    size: int, more: int, seed: int
) -> None:
    watching = Watching(group_of(size, size + more), chance(seed)).begin().to_the_end()
    assert list(problems(watching)) == []
    assert [drive.outcome.reason for drive in watching.drives] == ["Completed"] * size
    assert watching.ready_copies == size
    for drive in watching.drives:
        # One write each: nobody goes to and fro while it waits. Who is about to leave steps back at
        # most once for each sibling that is handed over just then; who is late for that goes at
        # once, with the others.
        first = Step.LEAVE if Step.LEAVE in drive.steps else Step.HAND_OVER
        steps = drive.steps[: drive.steps.index(first)]
        assert len(steps) == len(set(steps)), drive.steps
        assert drive.steps.count(Step.LEAVE) <= size, drive.steps


@calm
@given(st.integers(2, 3), st.integers(0, 10**9), st.sampled_from(["never ready", "image"]))
def test_one_that_fails_takes_all_of_them_back(size: int, seed: int, fate: str) -> None:
    cluster = group_of(size, size)
    watching = Watching(cluster, chance(seed), watches_late=0.0).begin()
    fates = iter([fate])

    def fail(cluster: ToyCluster) -> None:
        cluster.fate_of_copies = next(fates, "ready")

    start = cluster._start  # noqa: SLF001 - the kubelet of the first copy alone

    def start_one(pod: dict[str, object]) -> None:
        fail(cluster)
        start(pod)

    cluster._start = start_one  # type: ignore[method-assign]  # noqa: SLF001
    watching.to_the_end()
    assert list(problems(watching)) == []
    assert not any(drive.outcome.moved for drive in watching.drives)
    reasons = sorted(drive.outcome.reason for drive in watching.drives)
    assert reasons.count(Reason.GROUP_FAILED) == size - 1, reasons


@pytest.mark.parametrize("seed", range(30))
def test_one_that_fails_while_another_finishes_what_it_has_takes_all_of_them_back(
    seed: int,
) -> None:
    """One looks after itself, so it would be gone long before the other has left."""
    cluster = group_of(2, 2)
    cluster.settings = replace(PATIENT, linger_seconds=25)
    cluster.intents[:] = [replace(each, settings=cluster.settings) for each in cluster.intents]
    slow, quick = (each.uid for each in cluster.intents)
    for container in cluster.pods[quick]["spec"]["containers"]:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": 1}}}
    together = Together(cluster, chance(seed)).begin()
    left: list[int] = []

    def fail_once_it_leaves(cluster: ToyCluster) -> None:
        if not left and slow in cluster.pods and conditions.has_left(cluster.pods[slow]):
            left.append(cluster.time)
            [copy] = [
                uid
                for uid, pod in cluster.pods.items()
                if pod["metadata"]["annotations"].get(names.ORIGINAL_POD) == slow
            ]
            cluster.turn_unready(copy, for_seconds=10_000)

    together.happens = dict.fromkeys(range(5_000), fail_once_it_leaves)
    together.to_the_end()
    if left:
        assert not any(drive.outcome.moved for drive in together.drives)
        assert {slow, quick} <= cluster.pods.keys()
    else:  # it was late for leaving
        assert all(drive.outcome.moved for drive in together.drives)
    assert list(problems(together)) == []


@calm
@given(
    st.integers(0, 10**9),
    st.lists(
        st.lists(
            st.builds(Event, look=st.integers(0, 14), fault=st.sampled_from(FAULTS)), max_size=2
        ),
        min_size=2,
        max_size=2,
    ),
)
def test_whatever_happens_to_their_writes(seed: int, happening: list[list[Event]]) -> None:
    watching = Watching(group_of(2, 3), chance(seed)).begin(*happening).to_the_end()
    assert list(problems(watching)) == []
    assert watching.least >= 3


def test_whose_spread_would_be_too_uneven_is_taken_back_unless_its_group_goes() -> None:
    def decided(other: Step) -> GiveUp | None:
        cluster = ToyCluster(moving=0)
        for uid in sorted(cluster.pods)[:2]:
            cluster.ask_for(uid, group="g", group_size=2)
        _, record = cluster.records.values()
        record["status"] = records.status_document(record, at(other), BEGINNING)
        progress = Progress(now=BEGINNING, uneven_after="its topology spread would not hold")
        return serving.why_uneven(cluster.intent, cluster.view(), progress)

    assert decided(Step.HAND_OVER) is None
    alone = decided(Step.LEAVE)
    assert alone is not None
    assert alone.outcome.reason is Reason.TARGET_LOST
    assert "is not right for it any more: its topology spread" in alone.outcome.message
