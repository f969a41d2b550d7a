"""What a document may look like: mappings with known fields, lists, and values left unread.

A shape reads a place: it returns what it understood and leaves problems at the places. None
means that the value was refused; a problem never stops the reading, so that all are found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rescheduler.documents.places import Place
from rescheduler.documents.suggestions import advice


class Shape(Protocol):
    def read(self, place: Place) -> object | None: ...


@dataclass(frozen=True, slots=True)
class Anything:
    """A field that we know but leave to others: any value is fine and none is kept."""

    def read(self, place: Place) -> None:
        del place


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping in which every field is known."""

    fields: Mapping[str, Shape]
    required: tuple[str, ...] = ()

    def read(self, place: Place) -> dict[str, object] | None:
        """The fields that were given and accepted, by their name in the file."""
        if place.value is None:  # "scope:" with all below commented out is an empty section.
            return {}
        if not isinstance(place.value, dict):
            place.expected("a mapping")
            return None
        for name in self.required:
            if name not in place.value:
                place.at(name).refuse("required field is missing")
        values = {name: self._read_field(name, place.at(name)) for name in place.value}
        return {name: value for name, value in values.items() if value is not None}

    def _read_field(self, name: str, place: Place) -> object | None:
        shape = self.fields.get(name)
        if shape is None:
            place.refuse(f"unknown field; {advice(name, self.fields)}")
            return None
        return shape.read(place)


@dataclass(frozen=True, slots=True)
class Items:
    """A list of things of one shape; an absent list is an empty one."""

    item: Shape

    def read(self, place: Place) -> list[object] | None:
        if place.value is not None and not isinstance(place.value, list):
            place.expected("a list")
            return None
        return [self.item.read(item) for item in place.each()]
