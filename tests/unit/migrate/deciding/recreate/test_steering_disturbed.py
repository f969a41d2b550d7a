"""Steered evictions of a toy workload with a crash or a lost answer at every step, and with users
and nodes acting at every step.
"""

import itertools
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.model.podmigration import Reason
from tests.unit.migrate.deciding.recreate.steering_drive import (
    FAULTS,
    Drive,
    Event,
    Fault,
)
from tests.unit.migrate.deciding.recreate.steering_scenes import (
    DISTURBANCES,
    LOOKS,
    counts,
    each_shape,
    problems,
    toy,
)
from tests.unit.migrate.toy_controllers import TARGET
from tests.unit.migrate.toy_objects import is_ready


@each_shape
@pytest.mark.parametrize("fault", FAULTS)
def test_survives_a_fault_of_any_write(shape: dict[str, Any], fault: Fault) -> None:
    for look in LOOKS:
        drive = Drive(toy(**shape), [Event(look, fault=fault)]).to_the_end()
        found = [*problems(drive), *counts(drive)]
        assert not found, f"look {look}: {found}"


@each_shape
@pytest.mark.parametrize("fault", FAULTS)
def test_survives_a_fault_where_a_kubelet_ends_the_successor(
    shape: dict[str, Any], fault: Fault
) -> None:
    for look in LOOKS:
        drive = Drive(toy(ends_on=TARGET, **shape), [Event(look, fault=fault)]).to_the_end()
        found = [*problems(drive), *counts(drive)]
        assert not found, f"look {look}: {found}"


@pytest.mark.parametrize("disturbance", DISTURBANCES)
@each_shape
def test_gives_way_to_whatever_happens_at_any_step(shape: dict[str, Any], disturbance: str) -> None:
    for look, moment in Drive(toy(**shape)).to_the_end().moments:
        drive = Drive(toy(**shape), [Event(look, DISTURBANCES[disturbance], moment)]).to_the_end()
        found = [*problems(drive)]
        if disturbance not in ("a sibling turns unready", "the original fails"):
            found += counts(drive)
        assert not found, f"{moment} {look}: {found}"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_survives_a_fault_while_somebody_acts(disturbance: str, fault: Fault) -> None:
    for first, second in itertools.product(range(3, 16), range(2)):
        events = [Event(first, fault=fault), Event(first + second, DISTURBANCES[disturbance])]
        drive = Drive(toy(), events).to_the_end()
        found = [*problems(drive)]
        assert not found, f"looks {first} and {first + second}: {found}"


def test_is_not_moved_twice_when_the_answer_to_its_eviction_was_lost() -> None:
    for look in LOOKS:
        drive = Drive(toy(), [Event(look, fault="dies after")]).to_the_end()
        assert drive.cluster.evicted == [drive.cluster.original_uid]
        assert drive.outcome.reason is Reason.COMPLETED


def test_is_ready_again_on_the_target_whoever_dies() -> None:
    drive = Drive(toy(), [Event(7, fault="dies after")]).to_the_end()
    pods = {p["metadata"]["name"]: p for p in drive.cluster.pods.values()}
    moved = pods[drive.cluster.intent.pod]
    assert is_ready(moved)
    assert moved["spec"]["nodeName"] == TARGET


@each_shape
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_wrong_changes_nothing(shape: dict[str, Any], hours: int) -> None:
    drive = Drive(toy(**shape), ahead=timedelta(hours=hours)).to_the_end()
    assert drive.outcome == Drive(toy(**shape)).to_the_end().outcome
    assert [*problems(drive), *counts(drive)] == []
