"""Names: of namespaces, strategies, sources. Each is checked, and in a list none appears twice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rescheduler.documents.object_names import why_no_namespace
from rescheduler.documents.places import Place, quoted
from rescheduler.documents.suggestions import advice


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """Names of namespaces (DNS-1123 labels); patterns are not among them."""

    left_out_means: str = ""
    """When set, an empty list is refused, as its reader cannot tell "all" from "none"."""

    def read(self, place: Place) -> tuple[str, ...] | None:
        if self.left_out_means and place.value in (None, []):
            place.refuse(f"is empty; leave the field out to mean {self.left_out_means}")
            return None
        return _read_names(place, _namespace_refusal)

    def write(self, value: tuple[str, ...] | None) -> object:
        return None if value is None else list(value)


@dataclass(frozen=True, slots=True)
class Choices:
    """Some of a few known names, or none."""

    known: tuple[str, ...]

    def read(self, place: Place) -> tuple[str, ...] | None:
        return _read_names(place, self._refusal)

    def _refusal(self, name: str) -> str:
        return "" if name in self.known else f"unknown name; {advice(name, self.known)}"

    def write(self, value: tuple[str, ...]) -> object:
        return list(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few known names."""

    known: tuple[str, ...]
    for_flags: Mapping[bool, str] = field(default_factory=dict)
    """What true and false were called when this was a flag, in files that are older."""

    def read(self, place: Place) -> str | None:
        if isinstance(place.value, bool) and (now := self.for_flags.get(place.value)):
            place.expected(f"one of {', '.join(self.known)}", f"write {quoted(now)}")
            return None
        if not isinstance(place.value, str):
            place.expected(f"one of {', '.join(self.known)}")
            return None
        if place.value not in self.known:
            place.refuse(f"{quoted(place.value)}: unknown name; {advice(place.value, self.known)}")
            return None
        return place.value

    def write(self, value: str) -> object:
        return value


def _namespace_refusal(name: str) -> str:
    why = why_no_namespace(name)
    return f"not the name of a namespace: {why}" if why else ""


def _read_names(place: Place, refusal: Callable[[str], str]) -> tuple[str, ...] | None:
    if not isinstance(place.value, list):
        place.expected("a list of names")
        return None
    first_places: dict[str, Place] = {}
    for item in place.each():
        if not isinstance(item.value, str):
            hint = "put it in quotes" if isinstance(item.value, int | float) else ""
            item.expected("a name (string)", hint)
        elif item.value in first_places:
            item.refuse(f"duplicate of {first_places[item.value]} ({quoted(item.value)})")
        elif message := refusal(item.value):
            item.refuse(f"{quoted(item.value)}: {message}")
        else:
            first_places[item.value] = item
    return tuple(first_places)
