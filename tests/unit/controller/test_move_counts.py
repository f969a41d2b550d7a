"""How migrations go, counted by what is written into their records."""

from typing import Any

import pytest

from rescheduler.controller import move_counts
from rescheduler.controller.move_counts import MoveCounts
from rescheduler.migrate import Outcome
from rescheduler.model.podmigration import Reason
from rescheduler.serve import Board
from tests.unit.controller.reading_metrics import A_WHILE, HandClock, nonzero


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def board(clock: HandClock) -> Board:
    return Board(["pods"], clock)


@pytest.fixture
def counts(clock: HandClock, board: Board) -> MoveCounts:
    return MoveCounts(clock, board.record)


def record(step: str, *, uid: str = "r", attempt: int = 1, **status: str) -> dict[str, Any]:
    return {
        "metadata": {"name": uid, "namespace": "shop", "uid": uid},
        "spec": {"strategy": "LoadBalancing", "attempt": attempt},
        "status": {"phase": "InProgress", "step": step, "way": "Surge", **status},
    }


def outcome(reason: Reason = Reason.COMPLETED) -> Outcome:
    return Outcome(moved=reason is Reason.COMPLETED, reason=reason, message="")


def test_a_move_is_timed_from_its_first_write_to_its_end_and_step_by_step(
    clock: HandClock, board: Board, counts: MoveCounts
) -> None:
    for step, seconds in (("Check", 1.0), ("WaitReady", 2.0), ("WaitReady", 4.0), ("CleanUp", 8.0)):
        counts.wrote(record(step))
        clock.seconds += seconds
    over = record("Done", phase="Completed")
    counts.wrote(over)
    counts.ended(over, outcome())
    key = ("Completed", "completed", "LoadBalancing", "Surge")
    assert nonzero(board, "moves_total") == {key: 1}
    assert nonzero(board, "move_duration_seconds_sum") == {("completed",): 15}
    steps = {("Check",): 1.0, ("WaitReady",): 6.0, ("CleanUp",): 8.0}
    assert nonzero(board, "step_duration_seconds_sum") == steps
    assert nonzero(board, "retries_total") == nonzero(board, "fallbacks_total") == {}


def test_what_an_earlier_process_began_is_timed_from_its_beginning(
    clock: HandClock, board: Board, counts: MoveCounts
) -> None:
    clock.seconds = 100.0
    counts.wrote(record("WaitReady", startTime="2026-01-02T00:00:30Z"))
    clock.seconds = 110.0
    counts.ended(record("Done", phase="Failed"), outcome(Reason.NOT_READY_IN_TIME))
    assert nonzero(board, "move_duration_seconds_sum") == {("failed",): 80}
    assert nonzero(board, "step_duration_seconds_sum") == {("WaitReady",): 10}


def test_a_clock_that_is_behind_makes_no_time_negative(
    clock: HandClock, board: Board, counts: MoveCounts
) -> None:
    counts.wrote(record("Check", startTime="2026-01-02T01:00:00Z"))
    clock.seconds = 5.0
    counts.ended(record("Done", phase="Completed"), outcome())
    assert nonzero(board, "move_duration_seconds_sum") == {("completed",): 5}


def test_a_further_attempt_counts_once_however_often_it_is_written(
    board: Board, counts: MoveCounts
) -> None:
    counts.wrote(record("Check", uid="first"))
    for step in ("Check", "WaitReady", "CleanUp"):
        counts.wrote(record(step, uid="second", attempt=2))
    assert nonzero(board, "retries_total") == {(): 1}


@pytest.mark.parametrize(
    ("cause", "told"), [("NotSteered", "NotSteered"), ("of a later version", "other")]
)
def test_a_fall_back_counts_when_the_move_ends(
    clock: HandClock, board: Board, counts: MoveCounts, cause: str, told: str
) -> None:
    counts.wrote(record("Evict", way="Recreate", fallback=cause))
    assert nonzero(board, "fallbacks_total") == {}
    clock.seconds += A_WHILE
    counts.ended(record("Done", phase="Completed", way="Recreate", fallback=cause), outcome())
    assert nonzero(board, "fallbacks_total") == {(told,): 1}


def test_one_that_was_never_seen_to_begin_counts_all_the_same(
    board: Board, counts: MoveCounts
) -> None:
    counts.ended(record("Done", phase="Failed"), outcome(Reason.CANCELLED))
    assert sum(nonzero(board, "moves_total").values()) == 1
    assert nonzero(board, "step_duration_seconds_count") == {}


def test_of_those_that_never_end_a_bounded_number_is_kept(
    board: Board, counts: MoveCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_counts, "_MOST", 2)
    for uid in ("a", "b", "c"):
        counts.wrote(record("Check", uid=uid))
    for uid in ("a", "b", "c"):
        counts.ended(record("Done", uid=uid, phase="Completed"), outcome())
    assert nonzero(board, "step_duration_seconds_count") == {("Check",): 2}
    assert sum(nonzero(board, "moves_total").values()) == 3
