"""The setting `windows`: when something may be done without being asked."""

import re
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from rescheduler.documents.kinds import Text
from rescheduler.documents.name_lists import Choices
from rescheduler.documents.places import Place, quoted
from rescheduler.documents.shapes import Section
from rescheduler.documents.suggestions import nearest
from rescheduler.model.windows import DAYS, MINUTES_OF_A_DAY, Window

_HOURS: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-(?:([01]?\d|2[0-3]):([0-5]\d)|(24:00))")
_DAYS: Final = Choices(DAYS)
_TEXT: Final = Text(may_be_empty=False)
_SHAPE: Final = Section({"days": _DAYS, "hours": _TEXT, "zone": _TEXT})


@dataclass(frozen=True, slots=True)
class Windows:
    """A list of `{days, hours, zone}`; one of them has to be open. Without any, always."""

    def read(self, place: Place) -> tuple[Window, ...] | None:
        if not isinstance(place.value, list):
            place.expected("a list of days, hours and zone")
            return None
        found = []
        for item in place.each():
            if item.value is None:
                item.expected("a mapping with days, hours and zone")
                continue
            given = _SHAPE.read(item)
            window = None if given is None else self._window(item, given)
            if window is not None:
                found.append(window)
        return tuple(found)

    def _window(self, item: Place, given: dict[str, object]) -> Window | None:
        days, hours = given.get("days"), given.get("hours", "00:00-24:00")
        zone = given.get("zone", "UTC")
        if days == ():
            item.at("days").refuse("is empty; leave it out to mean every day")
            return None
        if not isinstance(hours, str) or not isinstance(zone, str):
            return None
        minutes, is_known = _minutes(item, hours), _is_known(item, zone)
        if minutes is None or not is_known:
            return None
        named = days if isinstance(days, tuple) else DAYS
        in_order = tuple(each for each in DAYS if each in named)
        return Window(days=in_order, begin=minutes[0], end=minutes[1], zone=zone)

    def write(self, value: tuple[Window, ...]) -> object:
        return [{"days": list(each.days), "hours": each.hours, "zone": each.zone} for each in value]


def _minutes(item: Place, hours: str) -> tuple[int, int] | None:
    found = _HOURS.fullmatch(hours)
    if found is None:
        item.at("hours").refuse(
            f'expected hours such as "22:00-06:00" or "00:00-24:00", found {quoted(hours)}'
        )
        return None
    begin = int(found[1]) * 60 + int(found[2])
    end = MINUTES_OF_A_DAY if found[5] else int(found[3]) * 60 + int(found[4])
    if begin == end:
        item.at("hours").refuse('begin and end are the same: for the whole day write "00:00-24:00"')
        return None
    return begin, end


def _is_known(item: Place, zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(available_timezones())
        near = nearest(zone, known)
        meant = f"; did you mean {quoted(near)}?" if near else ""
        words = f"{quoted(zone)} is no time zone such as Europe/Berlin{meant}"
        if not known:
            words = (
                f"{quoted(zone)} cannot be looked up, as there are no time zones on this machine: "
                "install the package tzdata, of the system or by pip install tzdata"
            )
        item.at("zone").refuse(words)
        return False
    return True
