"""What holds of every move by a copy: of a pod of a ReplicaSet, and of one that nobody controls."""

from collections.abc import Callable, Iterator

import pytest

from rescheduler.migrate.deciding.actions import DeleteCopy, Evict
from rescheduler.model.podmigration import Reason
from tests.unit.migrate.deciding.copy import test_copying
from tests.unit.migrate.deciding.surge import surge_scenes
from tests.unit.migrate.driving import Drive, Event
from tests.unit.migrate.toy_cluster import ToyCluster
from tests.unit.migrate.toy_objects import is_ready

Problems = Callable[[Drive], Iterator[str]]
each_kind = pytest.mark.parametrize(
    ("is_alone", "problems"),
    [
        pytest.param(False, surge_scenes.problems, id="controlled"),
        pytest.param(True, test_copying.problems, id="alone"),
    ],
)


def toy(fate_of_copies: str = "ready", *, is_alone: bool) -> ToyCluster:
    replicas = 1 if is_alone else 3
    return ToyCluster(alone=is_alone, replicas=replicas, fate_of_copies=fate_of_copies)


@each_kind
def test_the_grace_period_is_never_shorter_than_the_pods_own(
    problems: Problems, *, is_alone: bool
) -> None:
    cluster = toy(is_alone=is_alone)
    cluster.pods[cluster.original_uid]["spec"]["terminationGracePeriodSeconds"] = 600
    drive = Drive(cluster).to_the_end()
    assert {action.grace_seconds for action in drive.actions if isinstance(action, Evict)} == {600}
    assert list(problems(drive)) == []


@each_kind
@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("never ready", "NotReadyInTime"),
        ("image", "CopyFailed"),
        ("ended", "CopyFailed"),
        ("elsewhere", "CopyChanged"),
    ],
)
def test_a_copy_that_does_not_come_up_is_taken_back(
    problems: Problems, fate: str, reason: str, *, is_alone: bool
) -> None:
    drive = Drive(toy(fate, is_alone=is_alone)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, reason)
    assert drive.cluster.original
    assert is_ready(drive.cluster.original)
    # One that serves, but in the wrong place, goes as a serving pod should: by eviction.
    writes = {type(action) for action in drive.actions if isinstance(action, Evict | DeleteCopy)}
    assert writes == {Evict if fate == "elsewhere" else DeleteCopy}
    assert list(problems(drive)) == []


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_pod_that_never_ends_is_not_waited_for_for_ever(*, is_alone: bool) -> None:
    def hold(cluster: ToyCluster) -> None:
        cluster.due.pop(cluster.original_uid, None)

    drive = Drive(toy(is_alone=is_alone), [Event(look, hold) for look in range(90)]).to_the_end()
    assert drive.outcome.moved
    assert "the original lingers" in drive.outcome.message


@each_kind
@pytest.mark.parametrize("first", surge_scenes.LOOKS)
def test_writes_that_fail_for_ever_come_to_an_end(
    problems: Problems, first: int, *, is_alone: bool
) -> None:
    """A webhook that is down, a right that was taken away: it ends, and the next run goes on."""
    broken = [Event(look, fault="not done") for look in range(first, 400)]
    drive = Drive(toy(is_alone=is_alone), broken).to_the_end()
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
