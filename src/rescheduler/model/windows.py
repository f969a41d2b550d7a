"""Windows of the week in which something may be done without being asked: pure arithmetic.

By the clock on the wall of a zone: a window is open whenever that clock shows a time within it,
also in nights in which it is put forward or back.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MINUTES_OF_A_DAY: Final = 24 * 60
_QUARTER: Final = timedelta(minutes=15)
"""Clocks are put forward and back at such times only."""
_LOOK_AHEAD: Final = timedelta(days=16)
"""Every window opens once a week, but for one that is within the hour that clocks put forward leave
out: that one does not open in that week.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    days: tuple[str, ...] = DAYS
    """On which it opens."""
    begin: int = 0
    """Minutes after midnight."""
    end: int = MINUTES_OF_A_DAY
    """The same; before `begin`: on the next day."""
    zone: str = "UTC"
    """As IANA calls it."""

    def is_open(self, now: datetime) -> bool:
        local = now.astimezone(ZoneInfo(self.zone))
        minute, day = local.hour * 60 + local.minute, local.weekday()
        today, yesterday = DAYS[day] in self.days, DAYS[day - 1] in self.days
        if self.begin < self.end:
            return today and self.begin <= minute < self.end
        return (today and minute >= self.begin) or (yesterday and minute < self.end)

    @property
    def hours(self) -> str:
        return f"{_clock(self.begin)}-{_clock(self.end)}"

    def __str__(self) -> str:
        days = "" if self.days == DAYS else f"{','.join(self.days)} "
        return f"{days}{self.hours} {self.zone}"


def are_open(windows: Sequence[Window], now: datetime) -> bool:
    """Without any, always."""
    return not windows or any(each.is_open(now) for each in windows)


def opens_at(windows: Sequence[Window], now: datetime) -> datetime | None:
    """In UTC; None: one is open now."""
    if are_open(windows, now):
        return None
    return next((at for at in _moments(windows, now) if are_open(windows, at)), None)


def in_words(windows: Sequence[Window], now: datetime) -> str:
    """When the next one opens, as people in its zone say it; empty: one is open."""
    at = opens_at(windows, now)
    if at is None:
        return ""
    [window, *_] = [each for each in windows if each.is_open(at)]
    local = at.astimezone(ZoneInfo(window.zone))
    return f"the next window opens at {at:%Y-%m-%dT%H:%M:%SZ} ({local:%a %H:%M} {window.zone})"


def _moments(windows: Iterable[Window], now: datetime) -> Iterator[datetime]:
    """At which one of them may open, in order, from now on."""
    found = {_next_quarter(now) + step * _QUARTER for step in range(_LOOK_AHEAD // _QUARTER)}
    for window in windows:
        zone = ZoneInfo(window.zone)
        today = now.astimezone(zone).date()
        hour, rest = divmod(window.begin % MINUTES_OF_A_DAY, 60)
        for days in range(-1, _LOOK_AHEAD.days + 1):
            for fold in (0, 1):
                wall = time(hour, rest, tzinfo=zone, fold=fold)
                found.add(datetime.combine(today + timedelta(days), wall).astimezone(UTC))
    yield from sorted(each for each in found if each > now)


def _next_quarter(now: datetime) -> datetime:
    utc = now.astimezone(UTC).replace(second=0, microsecond=0)
    return utc - timedelta(minutes=utc.minute % 15) + _QUARTER


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
