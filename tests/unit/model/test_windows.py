"""Windows of the week, also in nights in which clocks are put forward or back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rescheduler.model import windows
from rescheduler.model.windows import Window

BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = Window(days=("Mon", "Fri"), begin=22 * 60, end=6 * 60, zone="Europe/Berlin")
# In 2026 clocks go forward on 29 March, from 02:00 to 03:00, and back on 25 October, from 03:00.
SMALL_HOURS = Window(begin=2 * 60, end=3 * 60, zone="Europe/Berlin")
HALF_PAST = Window(begin=2 * 60 + 30, end=3 * 60 + 30, zone="Europe/Berlin")


def local(text: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        ("2026-11-16T21:59", False),  # a Monday
        ("2026-11-16T22:00", True),
        ("2026-11-17T05:59", True),
        ("2026-11-17T06:00", False),
        ("2026-11-17T23:00", False),
        ("2026-11-20T23:00", True),
        ("2026-11-21T01:00", True),
        ("2026-11-22T23:00", False),
        ("2026-11-16T01:00", False),
    ],
)
def test_a_night_belongs_to_the_day_on_which_it_begins(at: str, is_open: bool) -> None:  # noqa: FBT001
    assert windows.are_open([NIGHTS], local(at)) is is_open


def test_without_windows_it_is_always_time() -> None:
    now = utc("2026-11-18T12:00")
    assert windows.are_open([], now)
    assert windows.opens_at([], now) is None
    assert windows.in_words([], now) == ""


def test_when_the_next_one_opens() -> None:
    assert windows.opens_at([NIGHTS], local("2026-11-17T12:00")) == local("2026-11-20T22:00")
    assert windows.opens_at([NIGHTS], local("2026-11-20T23:00")) is None
    words = windows.in_words([NIGHTS], local("2026-11-17T12:00"))
    assert words == "the next window opens at 2026-11-20T21:00:00Z (Fri 22:00 Europe/Berlin)"


def test_one_of_several_is_enough() -> None:
    noon = Window(days=("Tue",), begin=12 * 60, end=13 * 60)
    both = [NIGHTS, noon]
    assert windows.opens_at(both, utc("2026-11-17T08:00")) == utc("2026-11-17T12:00")
    assert windows.opens_at(both, utc("2026-11-17T12:30")) is None


def test_a_whole_day_begins_at_midnight() -> None:
    weekend = Window(days=("Sat", "Sun"), zone="Europe/Berlin")
    assert windows.opens_at([weekend], local("2026-11-20T10:00")) == local("2026-11-21T00:00")


def test_a_time_that_clocks_skip_is_never_shown_so_that_window_does_not_open() -> None:
    assert windows.opens_at([SMALL_HOURS], local("2026-03-29T00:00")) == local("2026-03-30T02:00")
    # One that begins in the hour that is skipped opens when the hour is over.
    assert windows.opens_at([HALF_PAST], local("2026-03-29T00:00")) == utc("2026-03-29T01:00")


def test_a_time_that_clocks_show_twice_is_open_twice() -> None:
    assert windows.are_open([SMALL_HOURS], local("2026-10-25T02:30"))
    assert windows.are_open([SMALL_HOURS], local("2026-10-25T02:30", fold=1))
    assert windows.opens_at([SMALL_HOURS], local("2026-10-25T00:00")) == utc("2026-10-25T00:00")
    # From the first 02:30 to 03:00, when it is 02:00 again; and from the second 02:30 on.
    assert windows.opens_at([HALF_PAST], local("2026-10-25T00:00")) == utc("2026-10-25T00:30")
    assert windows.opens_at([HALF_PAST], utc("2026-10-25T01:00")) == utc("2026-10-25T01:30")


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"])
@pytest.mark.parametrize("begin", [0, 59, 7 * 60 + 13, 23 * 60 + 59])
def test_moments_agree_with_the_clock_on_the_wall(zone: str, begin: int) -> None:
    """Minute by minute, over days around a change: it opens when it is said to."""
    window = Window(begin=begin, end=(begin + 200) % 1440 or 1440, zone=zone)
    now = utc("2026-03-31T00:00")
    for _ in range(6):
        while window.is_open(now):
            assert windows.opens_at([window], now) is None
            now += timedelta(minutes=1)
        then = windows.opens_at([window], now)
        assert then is not None
        while now < then:
            assert not window.is_open(now)
            now += timedelta(minutes=1)
        assert window.is_open(then)


def test_it_reads_as_it_is_written() -> None:
    assert str(NIGHTS) == "Mon,Fri 22:00-06:00 Europe/Berlin"
    assert str(Window()) == "00:00-24:00 UTC"


def test_one_within_the_hour_that_is_left_out_opens_a_week_later() -> None:
    window = Window(days=("Sun",), begin=2 * 60 + 10, end=2 * 60 + 50, zone="Europe/Berlin")
    after = utc("2026-03-22T12:00")
    assert windows.opens_at([window], after) == utc("2026-04-05T00:10")
    assert "2026-04-05T00:10:00Z" in windows.in_words([window], after)
