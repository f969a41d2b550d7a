"""Which failed migrations are asked for once more."""

from datetime import UTC, datetime

import pytest

from rescheduler.config import Retry
from rescheduler.migrate.record.aftermath import due
from tests.unit.migrate.documents import Object, record

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SETTINGS = Retry(attempts=3, back_off_seconds=60.0)


def failed(
    attempt: int = 1,
    ended: str = "2026-01-01T11:58:45Z",
    *,
    strategy: str = "Manual",
    reason: str = "NotReadyInTime",
) -> Object:
    status = {"reason": reason}
    return record(phase="Failed", attempt=attempt, ended=ended, status=status, strategy=strategy)


def test_after_the_back_off_which_doubles_and_is_spread() -> None:
    assert due([failed()], SETTINGS, NOW) == [failed()]
    assert due([failed(ended="2026-01-01T11:59:01Z")], SETTINGS, NOW) == []
    assert due([failed(2)], SETTINGS, NOW) == []
    second = failed(2, ended="2026-01-01T11:57:30Z")
    assert due([second], SETTINGS, NOW) == [second]


def test_who_gave_way_before_has_not_used_up_an_attempt() -> None:
    """As planning counts."""
    moved = [failed(n, reason="WorkloadChanged") for n in (1, 2)]
    third = failed(3, ended="2026-01-01T11:00:00Z")
    assert due([*moved, third], SETTINGS, NOW) == [third]


def test_not_beyond_the_limit() -> None:
    assert due([failed(3, ended="2025-01-01T00:00:00Z")], SETTINGS, NOW) == []


def test_only_the_last_attempt_counts() -> None:
    assert due([failed(), record(attempt=2, strategy="Manual")], SETTINGS, NOW) == []


def test_what_a_strategy_wanted_is_planned_again_instead() -> None:
    assert due([failed(strategy="LoadBalancing")], SETTINGS, NOW) == []


@pytest.mark.parametrize("reason", ["WorkloadChanged", "SeveralBudgets"])
def test_who_gave_way_to_a_user_does_not_come_back(reason: str) -> None:
    assert due([failed(reason=reason)], SETTINGS, NOW) == []


@pytest.mark.parametrize("reason", ["BudgetRefused", "SiblingNotReady"])
def test_who_had_to_wait_for_too_long_is_tried_again(reason: str) -> None:
    assert due([failed(reason=reason)], SETTINGS, NOW) == [failed(reason=reason)]


def test_what_is_invalid_stays_so() -> None:
    assert due([failed(reason="Invalid")], SETTINGS, NOW) == []


def test_what_is_not_over_or_went_well_is_left_alone() -> None:
    assert due([record(strategy="Manual"), record("b", phase="Completed")], SETTINGS, NOW) == []


def test_one_that_may_be_recreated_goes_another_way_when_no_copy_may_be_made() -> None:
    refused = failed(reason="CopyRefused")
    assert due([refused], SETTINGS, NOW) == []
    refused["spec"]["mayRecreate"] = True
    assert due([refused], SETTINGS, NOW) == [refused]


def test_but_not_for_ever() -> None:
    refused = [failed(n, ended="2025-01-01T00:00:00Z", reason="CopyRefused") for n in (1, 2, 3)]
    for each in refused:
        each["spec"]["mayRecreate"] = True
    assert due(refused[:2], SETTINGS, NOW) == [refused[1]]
    assert due(refused, SETTINGS, NOW) == []
