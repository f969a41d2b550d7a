"""Durations as Go writes them: `30s`, `1m30s`, `500ms`, `1.5h`; exact, in whole nanoseconds."""

import re
from typing import Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "h": HOUR,
    "m": MINUTE,
    "s": SECOND,
    "ms": MILLISECOND,
    "us": 1_000,
    "ns": 1,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek letter mu
}
_PRINTED_UNITS: Final = ("h", "m", "s", "ms", "us", "ns")
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_LONGEST_TEXT: Final = 64
_LARGEST: Final = 2**63 - 1  # Go's time.Duration


def parse_nanoseconds(text: str) -> int:
    """Read a duration as time.ParseDuration does.

    Raises:
        ValueError: the text is none; the message completes "not a duration: ...".
    """
    if len(text) > _LONGEST_TEXT:
        raise ValueError("too long")
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned == "0":  # The one number that needs no unit.
        return 0
    if not unsigned:
        raise ValueError("empty")
    total = sum(_part_nanoseconds(part) for part in _PART.finditer(unsigned) if part.group())
    if total > _LARGEST:
        raise ValueError("too large")
    return -total if text.startswith("-") else total


def _part_nanoseconds(part: re.Match[str]) -> int:
    whole, fraction, unit = part.group(1), part.group(2) or "", part.group(3)
    if not whole and not fraction:
        raise ValueError("a number is missing")
    if not unit:
        raise ValueError("a unit is missing (h, m, s, ms, us, ns)")
    if unit not in _UNITS:
        raise ValueError("unknown unit (known: h, m, s, ms, us, ns)")
    return int(whole + fraction) * _UNITS[unit] // int(10 ** len(fraction))


def format_nanoseconds(nanoseconds: int) -> str:
    """The shortest text that reads back as the same: `1m30s`, `24h`, `0s`."""
    text, rest = "", nanoseconds
    for unit in _PRINTED_UNITS:
        count, rest = divmod(rest, _UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text or "0s"
