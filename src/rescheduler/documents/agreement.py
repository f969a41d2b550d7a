"""Several places that each give some of the same settings: one result, or the contradictions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rescheduler.documents.places import Path, Place, shown
from rescheduler.documents.shapes import Section


def agreed(section: Section, places: Iterable[Place]) -> dict[str, object]:
    """The fields that any of the places gives; two that give the same field give it alike."""
    first_givers: dict[Path, tuple[Place, object]] = {}
    for place in places:
        for giver, value in _values(place, section.read(place) or {}):
            field = giver.path[len(place.path) :]
            first_giver, first_value = first_givers.setdefault(field, (giver, value))
            if value != first_value:
                giver.refuse(
                    f"contradicts {first_giver}: "
                    f"{shown(first_giver.value)} there, {shown(giver.value)} here"
                )
    return _nested({field: value for field, (_, value) in first_givers.items()})


def _values(place: Place, given: Mapping[str, object]) -> Iterator[tuple[Place, object]]:
    """The single values, wherever they are nested."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from _values(place.at(name), value)
        else:
            yield place.at(name), value


def _nested(values: Mapping[Path, object]) -> dict[str, object]:
    """As a section reads them: the opposite of taking the single values out."""
    nested: dict[str, Any] = {}
    for (*sections, name), value in values.items():
        target = nested
        for section in sections:
            target = target.setdefault(str(section), {})
        target[str(name)] = value
    return nested
