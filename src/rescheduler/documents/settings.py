"""Fields of a dataclass that stand in a file: described once, next to their default.

The description of a field is its kind; from it follow the shape of the section to read, the
dataclass built from what was given, and the document written back.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from rescheduler.documents.kinds import Kind
from rescheduler.documents.shapes import Section

T = TypeVar("T")

_NAME: Final = "name in the file"
_KIND: Final = "kind of the value; none for a nested section"


def setting(name: str, kind: Kind[T], *, default: T) -> T:
    """A field of a dataclass that is a single value in the file."""
    metadata = {_NAME: name, _KIND: kind}
    return dataclasses.field(default=default, metadata=metadata)


def subsection(name: str, *, default: T) -> T:
    """A field of a dataclass that is a dataclass itself, and a mapping in the file."""
    return dataclasses.field(default=default, metadata={_NAME: name})


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    name: str
    """In the file."""
    field: str
    """Of the dataclass."""
    kind: "Kind[Any] | None"
    """None: it is a nested section."""
    default: Any


def settings_of(settings_type: type[Any]) -> Iterator[Setting]:
    """Those that stand in a file, for whoever describes them."""
    for name, field in _fields(settings_type):
        yield Setting(name, field.name, field.metadata.get(_KIND), field.default)


def section_of(settings_type: type[Any]) -> Section:
    """How the file of these settings looks."""
    return Section(
        {
            name: field.metadata[_KIND] if _KIND in field.metadata else section_of(_type(field))
            for name, field in _fields(settings_type)
        }
    )


def build(settings_type: type[T], given: Mapping[str, object], **others: object) -> T:
    """The settings from what a section read; a value that was not given keeps its default."""
    values: dict[str, Any] = dict(others)
    for name, field in _fields(settings_type):
        value = given.get(name)
        if isinstance(value, Mapping):
            value = build(_type(field), value)
        if value is not None:
            values[field.name] = value
    return settings_type(**values)


def document_of(settings: object) -> dict[str, object]:
    """What reads back as these settings, defaults included."""
    document: dict[str, object] = {}
    for name, field in _fields(type(settings)):
        value = getattr(settings, field.name)
        is_single = _KIND in field.metadata
        written = field.metadata[_KIND].write(value) if is_single else document_of(value)
        if written is not None:
            document[name] = written
    return document


def _fields(settings_type: type[Any]) -> Iterator[tuple[str, "dataclasses.Field[Any]"]]:
    """Those that stand in a file."""
    for field in dataclasses.fields(settings_type):
        if _NAME in field.metadata:
            yield field.metadata[_NAME], field


def _type(field: "dataclasses.Field[Any]") -> type[Any]:
    return type(field.default)
