"""What a candidate does with the lease as it sees it: no server, no clock, no waiting."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.leading.deciding import (
    Memory,
    Record,
    StandBy,
    Take,
    Term,
    decide,
    held,
    notice,
    record_of,
    released,
    spec_of,
)

US = "us_1"
OTHER = "other_2"
DURATION = 15
HOUR = 3600.0
NOW = datetime(2026, 11, 15, 10, 30, 45, 123456, tzinfo=UTC)


def lease_of(holder: str = OTHER, **changes: object) -> Record:
    fields: dict[str, object] = {
        "holder": holder,
        "duration_seconds": DURATION,
        "transitions": 3,
        "acquired": "2026-11-15T10:00:00.000000Z",
        "renewed": "2026-11-15T10:30:00.000000Z",
    }
    return Record(**{**fields, **changes})  # type: ignore[arg-type]


def seen(*sights: tuple[float, Record | None]) -> Memory:
    memory = Memory()
    for now, record in sights:
        memory = notice(memory, record, now)
    return memory


def after(*sights: tuple[float, Record | None]) -> Take | StandBy:
    return decide(seen(*sights), US, DURATION, sights[-1][0])


# ------------------------------------------------------------------ free, or held


def test_a_lease_that_never_was_is_taken_at_once_with_number_0() -> None:
    assert after((100.0, None)) == Take(0)


def test_a_released_lease_is_taken_at_once_with_the_next_number() -> None:
    assert after((100.0, lease_of(""))) == Take(4)


def test_a_held_one_is_left_alone_for_its_duration_from_when_we_first_saw_it_so() -> None:
    assert after((100.0, lease_of())) == StandBy(OTHER, 15.0)
    assert after((100.0, lease_of()), (114.0, lease_of())) == StandBy(OTHER, 1.0)
    assert after((100.0, lease_of()), (115.0, lease_of())) == Take(4)


@pytest.mark.parametrize(
    "changed",
    [
        lease_of(renewed="2026-11-15T10:30:02.000000Z"),
        lease_of("third_3", transitions=4),
        lease_of(transitions=5),
        lease_of(acquired="2026-11-15T10:30:01.000000Z"),
    ],
    ids=["renewed", "taken-over", "number-edited", "acquired-anew"],
)
def test_whatever_changes_in_it_the_waiting_begins_anew(changed: Record) -> None:
    decision = after((100.0, lease_of()), (114.9, changed), (120.0, changed))
    assert isinstance(decision, StandBy)
    assert decision.seconds == pytest.approx(9.9)


def test_our_own_whose_writing_we_did_not_hear_of_is_ours_with_the_number_that_it_has() -> None:
    assert after((100.0, lease_of(US, transitions=7))) == Take(7)


# ------------------------------------------------------------------ other people's clocks


@pytest.mark.parametrize("hours", [-24 * 365, -1, 0, 1, 24 * 365])
def test_a_renewal_in_the_past_or_future_is_waited_for_like_any_other(hours: int) -> None:
    renewed = (NOW + timedelta(hours=hours)).isoformat()
    record = lease_of(renewed=renewed)
    assert after((100.0, record)) == StandBy(OTHER, 15.0)
    assert after((100.0, record), (115.0, record)) == Take(4)


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "forth"])
def test_a_leader_whose_clock_jumps_stays_the_leader(jump: float) -> None:
    """Each renewal is another record, whatever time it claims."""
    times = [NOW, NOW + timedelta(seconds=jump), NOW + timedelta(seconds=jump + 2)]
    records = [held(Term(OTHER, 3), DURATION, NOW, time) for time in times]
    sights = [(100.0 + 10 * index, record) for index, record in enumerate(records)]
    assert after(*sights) == StandBy(OTHER, 15.0)


def test_two_clocks_that_disagree_by_an_hour_come_to_the_same_decision() -> None:
    for skew in (-HOUR, 0.0, HOUR):
        sights = ((skew + 100.0, lease_of()), (skew + 114.0, lease_of()))
        assert after(*sights) == StandBy(OTHER, 1.0)


# ------------------------------------------------------------------ edited and deleted by hand


def test_a_deleted_one_is_left_alone_as_long_as_its_holder_may_not_know() -> None:
    assert after((100.0, lease_of()), (101.0, None)) == StandBy(OTHER, 14.0)
    assert after((100.0, lease_of()), (101.0, None), (115.0, None)) == Take(4)


def test_a_released_one_that_was_deleted_then_is_taken_at_once_and_the_number_goes_on() -> None:
    assert after((100.0, lease_of("")), (101.0, None)) == Take(4)


def test_a_number_that_was_set_back_does_not_count() -> None:
    edited = lease_of("", transitions=0)
    assert after((100.0, lease_of()), (101.0, edited)) == Take(4)


@pytest.mark.parametrize("duration", [0, 1])
def test_a_duration_that_is_too_short_is_not_believed(duration: int) -> None:
    record = lease_of(duration_seconds=duration)
    assert after((100.0, record), (114.0, record)) == StandBy(OTHER, 1.0)


def test_a_leader_with_a_longer_lease_than_ours_is_given_its_time() -> None:
    record = lease_of(duration_seconds=60)
    assert after((100.0, record), (115.0, record)) == StandBy(OTHER, 45.0)


@pytest.mark.parametrize("lease", [{}, {"spec": None}, {"spec": {}}])
def test_an_empty_one_is_free(lease: dict[str, object]) -> None:
    assert record_of(lease) == Record()
    assert after((100.0, record_of(lease))) == Take(1)


def test_null_in_its_fields_reads_as_nothing() -> None:
    spec = dict.fromkeys(
        ("holderIdentity", "leaseDurationSeconds", "leaseTransitions", "renewTime", "acquireTime")
    )
    assert record_of({"spec": spec}) == Record()


# ------------------------------------------------------------------ what is written


def test_a_record_is_written_as_it_is_read() -> None:
    record = held(Term(US, 4), DURATION, NOW, NOW + timedelta(seconds=2))
    assert record_of({"spec": spec_of(record)}) == record
    assert (record.holder, record.transitions, record.duration_seconds) == (US, 4, DURATION)


def test_times_are_written_as_the_server_writes_them() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=8)))
    record = held(Term(US, 4), DURATION, elsewhere, NOW.replace(microsecond=0))
    assert record.acquired == "2026-11-15T10:30:45.123456Z"
    assert record.renewed == "2026-11-15T10:30:45.000000Z"


def test_a_released_one_has_no_holder_and_keeps_its_number() -> None:
    record = released(lease_of(US), NOW)
    assert (record.holder, record.duration_seconds, record.transitions) == ("", 1, 3)


# ------------------------------------------------------------------ in general

RECORDS = st.builds(
    Record,
    holder=st.sampled_from(["", OTHER, "third_3"]),
    duration_seconds=st.sampled_from([0, 1, 15, 30]),
    transitions=st.integers(0, 5),
    renewed=st.sampled_from(["", "a", "b"]),
)
SIGHTS = st.lists(st.tuples(st.floats(0.0, 20.0), st.none() | RECORDS), min_size=1, max_size=12)


@given(SIGHTS)
def test_nobody_is_followed_before_its_lease_looked_the_same_for_long_enough(
    steps: list[tuple[float, Record | None]],
) -> None:
    now, sights = 100.0, []
    for step, record in steps:
        now += step
        sights.append((now, record))
    decision = after(*sights)
    there = [(time, record) for time, record in sights if record is not None]
    if isinstance(decision, StandBy):
        assert decision.holder == there[-1][1].holder != ""
        assert decision.seconds > 0
    elif there and there[-1][1].holder:
        last = there[-1][1]
        since = there[-1][0]
        for time, record in reversed(there):
            if record != last:
                break
            since = time
        assert now - since >= max(DURATION, last.duration_seconds)


@given(SIGHTS)
def test_the_number_is_higher_than_any_that_was_seen(
    steps: list[tuple[float, Record | None]],
) -> None:
    now, sights = 100.0, []
    for step, record in steps:
        now += step
        sights.append((now, record))
    decision = after(*sights)
    if isinstance(decision, Take):
        assert all(record is None or decision.number > record.transitions for _, record in sights)
