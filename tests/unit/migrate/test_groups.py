"""Migrations that complete together or not at all."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding import groups, records
from rescheduler.migrate.deciding.facts import Progress
from rescheduler.migrate.deciding.outcomes import Reason
from rescheduler.migrate.deciding.records import Standing
from rescheduler.migrate.deciding.stages import Phase, Stage
from rescheduler.migrate.deciding.steps import GiveUp, Wait
from tests.unit.migrate.driving import FAULTS, Event
from tests.unit.migrate.test_surges_together import PATIENT, Together, chance, problems
from tests.unit.migrate.toy_cluster import BEGINNING, SETTINGS, ToyCluster, is_ready, name_of

AT_THE_BARRIER = Standing(phase=Phase.IN_PROGRESS, stage=Stage.WAIT_GROUP)


def at(stage: Stage, **more: str) -> Standing:
    return replace(AT_THE_BARRIER, stage=stage, **more)  # type: ignore[arg-type]


def ask(
    *others: Standing, size: int = 3, seconds: float = 1.0, group: str = "g"
) -> Wait | GiveUp | None:
    cluster = ToyCluster(moving=0)
    for uid in sorted(cluster.pods)[: 1 + len(others)]:
        cluster.ask_for(uid, group=group, group_size=size)
    for record, standing in zip([*cluster.records.values()][1:], others, strict=True):
        record["status"] = records.status_of(record, standing, BEGINNING)
    progress = Progress(now=BEGINNING, running_seconds=seconds)
    return groups.why_wait(cluster.intent, cluster.view(), progress)


def test_a_pod_that_moves_alone_waits_for_nobody() -> None:
    assert ask(at(Stage.CREATE), group="", size=0) is None


def test_who_is_the_last_to_come_waits_for_nobody() -> None:
    assert ask(AT_THE_BARRIER, AT_THE_BARRIER) is None


@pytest.mark.parametrize(
    "stage", [Stage.CHECK, Stage.MARK, Stage.CREATE, Stage.WAIT_READY, Stage.PROTECT, Stage.STEER]
)
def test_waits_for_those_that_are_not_ready(stage: Stage) -> None:
    step = ask(AT_THE_BARRIER, at(stage))
    assert isinstance(step, Wait)
    assert step.stage is Stage.WAIT_GROUP
    assert step.reason.startswith("not ready in its group: web-2-")


def test_but_not_for_ever() -> None:
    step = ask(AT_THE_BARRIER, at(Stage.CREATE), seconds=2 * SETTINGS.ready_timeout_seconds + 1)
    assert isinstance(step, GiveUp)
    assert step.outcome.reason == "GroupFailed"


def test_waits_for_those_that_nobody_has_asked_for_yet() -> None:
    step = ask(AT_THE_BARRIER)
    assert isinstance(step, Wait)
    assert step.reason == "1 of the 3 of its group have not been asked for"
    late = ask(AT_THE_BARRIER, seconds=SETTINGS.ready_timeout_seconds + 1)
    assert isinstance(late, GiveUp)


@pytest.mark.parametrize(
    "failed", [at(Stage.TAKE_BACK), replace(at(Stage.DONE), phase=Phase.FAILED)]
)
def test_gives_up_with_the_first_that_does(failed: Standing) -> None:
    step = ask(AT_THE_BARRIER, replace(failed, message="no room"))
    assert isinstance(step, GiveUp)
    assert step.outcome.reason == "GroupFailed"
    assert step.outcome.message.endswith("of its group does not move: no room")


@pytest.mark.parametrize(
    "gone",
    [
        at(Stage.HAND_OVER),
        at(Stage.EVICT),
        at(Stage.WAIT_GONE),
        at(Stage.WAIT_REPLACEMENT),
        replace(at(Stage.DONE), phase=Phase.COMPLETED),
    ],
)
def test_goes_on_once_one_has_left_for_there_is_no_way_back(gone: Standing) -> None:
    assert ask(gone, at(Stage.TAKE_BACK)) is None
    assert ask(gone, at(Stage.WAIT_READY)) is None


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


calm = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
        # One write each: nobody goes to and fro while it waits.
        assert len(drive.stages) == len(set(drive.stages)), drive.stages


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
