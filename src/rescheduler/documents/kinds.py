"""The kinds of single values: how each is checked, read from a document and written to one."""

import ipaddress
import math
import re
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from rescheduler.documents import durations
from rescheduler.documents.places import Place, quoted
from rescheduler.model import selectors

_NUMERAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?")
_ADDRESS: Final = re.compile(
    r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?(/[!-~]*)?"
)
_LAST_PORT: Final = 65535
_SHARE: Final = re.compile(r"(0|[1-9][0-9]?|100)%")

T = TypeVar("T")


class Kind(Protocol[T]):
    def read(self, place: Place) -> T | None: ...

    def write(self, value: T) -> object:
        """What reads back as this value; None leaves the field out."""


@dataclass(frozen=True, slots=True)
class Flag:
    def read(self, place: Place) -> bool | None:
        if isinstance(place.value, bool):
            return place.value
        place.expected("true or false")
        return None

    def write(self, value: bool) -> object:  # noqa: FBT001 - the protocol of all kinds
        return value


@dataclass(frozen=True, slots=True)
class Text:
    may_be_empty: bool = True
    longest: int | None = None

    def read(self, place: Place) -> str | None:
        if not isinstance(place.value, str):
            place.expected("a string", _quotes_hint(place.value))
            return None
        if not place.value and not self.may_be_empty:
            place.refuse("must not be empty")
            return None
        if self.longest is not None and len(place.value) > self.longest:
            place.refuse(f"must have at most {self.longest} characters, has {len(place.value)}")
            return None
        return place.value

    def write(self, value: str) -> object:
        return value


@dataclass(frozen=True, slots=True)
class IpAddress:
    """Of IPv4 or IPv6; empty: none in particular."""

    def read(self, place: Place) -> str | None:
        value = Text().read(place)
        if value:
            try:
                ipaddress.ip_address(value)
            except ValueError:
                place.refuse(f"must be an IP address, or empty, found {quoted(value)}")
                return None
        return value

    def write(self, value: str) -> object:
        return value


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where a server is, without anything that could be a secret; the empty text: nowhere."""

    def read(self, place: Place) -> str | None:
        address = place.value
        if not isinstance(address, str):
            place.expected('an address such as "http://prometheus.monitoring:9090"')
            return None
        if "@" in address:  # The text is not repeated: there may be a password in it.
            place.refuse(
                "must not hold a user name or password, which would end up in logs: "
                "give them as basicAuth.username and basicAuth.passwordFile"
            )
            return None
        if "?" in address or "#" in address:  # Nor here: some put tokens there.
            place.refuse("must end before the first '?' or '#'")
            return None
        found = _ADDRESS.fullmatch(address)
        if address and (not found or int(found["port"] or 0) > _LAST_PORT):
            place.refuse(
                'expected an address such as "http://prometheus.monitoring:9090", with http:// or '
                f"https:// in front, found {quoted(address)}"
            )
            return None
        return address.rstrip("/")

    def write(self, value: str) -> object:
        return value


@dataclass(frozen=True, slots=True)
class Percentage:
    """0 to 100, as a number with or without fraction."""

    zero_allowed: bool
    unit: str = "per cent"

    def read(self, place: Place) -> float | None:
        value = _number(place)
        if value is None:
            return None
        lowest = "at least 0" if self.zero_allowed else "more than 0"
        is_too_low = value < 0 or (value == 0 and not self.zero_allowed)
        if not math.isfinite(value) or is_too_low or value > 100:  # noqa: PLR2004 - per cent
            place.refuse(f"must be {lowest} and at most 100 ({self.unit}), found {value}")
            return None
        return float(value)

    def write(self, value: float) -> object:
        return value


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, with or without fraction, in whatever unit its reader likes."""

    highest: float = 1e9

    def read(self, place: Place) -> float | None:
        value = _number(place)
        if value is None:
            return None
        if not 0 <= value <= self.highest:  # NaN is not, either.
            place.refuse(f"must be at least 0 and at most {self.highest:.0f}, found {value}")
            return None
        return float(value)

    def write(self, value: float) -> object:
        return value


@dataclass(frozen=True, slots=True)
class Optional(Generic[T]):
    """A value, or null, which is the same as leaving the field out."""

    kind: Kind[T]

    def read(self, place: Place) -> T | None:
        return None if place.value is None else self.kind.read(place)

    def write(self, value: T | None) -> object:
        return None if value is None else self.kind.write(value)


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number."""

    lowest: int = 0
    highest: int = 2**31 - 1  # int32, as the counts of the Kubernetes API

    def read(self, place: Place) -> int | None:
        value = place.value
        if isinstance(value, bool) or not isinstance(value, int):
            place.expected("a whole number", _no_quotes_hint(value))
            return None
        if not self.lowest <= value <= self.highest:
            bounds = f"at least {self.lowest} and at most {self.highest}"
            place.refuse(f"must be {bounds}, found {value}")
            return None
        return value

    def write(self, value: int) -> object:
        return value


@dataclass(frozen=True, slots=True)
class CountOrShare:
    """A whole number, or a percentage as text, as in a PodDisruptionBudget."""

    lowest_share: int = 0

    def read(self, place: Place) -> int | str | None:
        value = place.value
        if isinstance(value, str) and _SHARE.fullmatch(value):
            if int(value[:-1]) < self.lowest_share:
                place.refuse(f'must be at least "{self.lowest_share}%", found {quoted(value)}')
                return None
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            hint = _no_quotes_hint(value)
            place.expected('a whole number, or a percentage such as "25%"', hint)
            return None
        return Count().read(place)

    def write(self, value: int | str) -> object:
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Go syntax in the file, seconds in the program; bounds in nanoseconds."""

    lowest: int
    highest: int = 24 * durations.HOUR

    def read(self, place: Place) -> float | None:
        nanoseconds = self.read_nanoseconds(place)
        return None if nanoseconds is None else nanoseconds / durations.SECOND

    def read_nanoseconds(self, place: Place) -> int | None:
        if not isinstance(place.value, str):
            place.expected('a duration such as "30s" or "1m30s"')
            return None
        try:
            nanoseconds = durations.parse_nanoseconds(place.value)
        except ValueError as error:
            place.refuse(
                f'expected a duration such as "30s" or "1m30s", '
                f"found {quoted(place.value)}: {error}"
            )
            return None
        if not self.lowest <= nanoseconds <= self.highest:
            bounds = map(durations.format_nanoseconds, (self.lowest, self.highest))
            place.refuse(f"must be between {' and '.join(bounds)}, found {quoted(place.value)}")
            return None
        return nanoseconds

    def write(self, value: float) -> object:
        # Up to 24 hours a float holds every nanosecond, so rounding brings back the exact one.
        return durations.format_nanoseconds(round(value * durations.SECOND))


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSeconds:
    """A duration for fields of the Kubernetes API that know no fractions of a second."""

    duration: Duration

    def read(self, place: Place) -> int | None:
        nanoseconds = self.duration.read_nanoseconds(place)
        if nanoseconds is None:
            return None
        seconds, rest = divmod(nanoseconds, durations.SECOND)
        if rest:
            place.refuse("must be whole seconds: the Kubernetes API takes no fractions here")
            return None
        return seconds

    def write(self, value: int) -> object:
        return self.duration.write(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelector:
    """A selector as text; what the empty text means differs from field to field."""

    empty: selectors.Selector

    def read(self, place: Place) -> selectors.Selector | None:
        if not isinstance(place.value, str):
            place.expected("a label selector as a string", _quotes_hint(place.value))
            return None
        try:
            selector = selectors.parse(place.value)
        except selectors.InvalidSelectorError as error:
            place.refuse(f"not a label selector: {error}")
            return None
        return self.empty if selector == selectors.EVERYTHING else selector

    def write(self, value: selectors.Selector) -> object:
        return "" if value == self.empty else str(value)


@dataclass(frozen=True, slots=True)
class LabelKey:
    """The name of a label; the empty text: none."""

    def read(self, place: Place) -> str | None:
        if not isinstance(place.value, str):
            place.expected("the name of a label as a string", _quotes_hint(place.value))
            return None
        try:
            if place.value:
                selectors.Requirement(place.value, selectors.Operator.EXISTS)
        except selectors.InvalidSelectorError as error:
            place.refuse(f"not the name of a label: {error}")
            return None
        return place.value

    def write(self, value: str) -> object:
        return value


def _number(place: Place) -> int | float | None:
    value = place.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        place.expected("a number", _no_quotes_hint(value))
        return None
    return value


def _quotes_hint(value: object) -> str:
    return "put it in quotes" if isinstance(value, int | float) else ""


def _no_quotes_hint(value: object) -> str:
    is_quoted_number = isinstance(value, str) and _NUMERAL.fullmatch(value)
    return "write it without quotes" if is_quoted_number else ""
