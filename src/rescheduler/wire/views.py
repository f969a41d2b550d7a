"""What to do with a view, or a part of one, whichever format it came in.

Attributes read alike in both formats but for times, maps and what is absent; for those, ask here.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, TypeVar

import msgspec

from rescheduler.wire import protobuf, structs
from rescheduler.wire.news import View
from rescheduler.wire.resources import Resource
from rescheduler.wire.schema import MESSAGES, Field, Form, kind_of

Json = dict[str, Any]
T = TypeVar("T")
_Reader = Callable[[Any, Json], None]
"""Reads one field of a part, and puts it into the object unless it is absent."""

_encode = msgspec.json.Encoder().encode
_decoders = {name: msgspec.json.Decoder(struct) for name, struct in structs.STRUCTS.items()}
_decode_strings = msgspec.json.Decoder(dict[str, str]).decode
_decode_quantities = msgspec.json.Decoder(dict[str, str | int | float]).decode
_decode_anything = msgspec.json.Decoder().decode


_LONGEST_SHARED = 63
"""As long as the value of a label may be."""
_PROTOBUF_TIME = protobuf.CLASSES["Time"]


# ------------------------------------------------------------------ parts of a view


def seconds(time: View) -> int:
    """Since 1970; 0 for a time that is absent."""
    if type(time) is _PROTOBUF_TIME:
        return time.seconds  # type: ignore[no-any-return]
    return 0 if time is None else int(time.timestamp())


def has(part: View, name: str) -> bool:
    """Whether the server sent this pointer, be it empty."""
    if isinstance(part, msgspec.Struct):
        return getattr(part, name) is not _absences[type(part)][name]
    return bool(part.HasField(name))


def strings(part: View) -> dict[str, str]:
    """A map of texts, opaque or not. ValueError when it is none."""
    found: Mapping[str, str]
    if isinstance(part, msgspec.Raw):
        found = _decoded(_decode_strings, part)
    elif isinstance(part, Mapping):
        found = part
    else:
        found = {key: value.value for key, value in _entries("text", part)}
    return {intern(key): _text(value) for key, value in found.items()}


def quantities(part: View) -> dict[str, str]:
    """A map of quantities, opaque or not, as text. ValueError when it is none."""
    if isinstance(part, msgspec.Raw):
        part = _decoded(_decode_quantities, part)
    if isinstance(part, Mapping):
        return {intern(key): _quantity(value) for key, value in part.items()}
    return {intern(key): _text(value.value.string) for key, value in _entries("quantity", part)}


def opaque_key(part: View) -> bytes:
    """Of an opaque map: equal maps of one format have equal keys."""
    # The server sorts maps, and writes key and value of every entry: none runs into another.
    return bytes(part) if type(part) is msgspec.Raw else b"".join(part)


opaque_strings = strings


def fingerprint(part: View) -> bytes:
    """Of an object or a part of one: equal parts of one format have equal fingerprints."""
    if isinstance(part, msgspec.Struct):
        return _encode(part)
    return bytes(part.SerializeToString(deterministic=True))


# ------------------------------------------------------------------ whole objects


def to_json(part: View) -> Json:
    """The object as the server has it in JSON, reduced to the fields of the table.

    Whatever is empty and no pointer is left out, whether or not the server would write it.
    """
    made: Json = {}
    for read in _readers[type(part)]:
        read(part, made)
    return made


def from_json(resource: Resource, raw: Mapping[str, Any]) -> View:
    """A view on an object from elsewhere. ValueError, naming the field, for another shape."""
    try:
        encoded = _encode(raw)
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise ValueError(f"not JSON: {problem}") from problem
    view = decode(resource, encoded)
    # Opaque maps are not looked into above.
    to_json(view)
    return view


def decode(resource: Resource, encoded: bytes | msgspec.Raw) -> View:
    """A view on an object in JSON. ValueError, naming the field, for another shape."""
    decoder = _decoders[kind_of(resource).message]
    try:
        try:
            return decoder.decode(encoded)
        except msgspec.ValidationError:
            # Go takes null for absent everywhere, and writes it for some empty lists.
            return decoder.decode(_encode(_without_nulls(_decode_anything(encoded))))
    except (ValueError, RecursionError) as problem:
        raise ValueError(str(problem)) from problem


def status(encoded: bytes) -> Json:
    """A Status in protobuf, as the server has it in JSON. ValueError when it is none."""
    try:
        return to_json(protobuf.CLASSES["Status"].FromString(encoded))
    except protobuf.DecodeError as problem:
        raise ValueError(str(problem)) from problem


def _without_nulls(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value if each is not None]
    return value


# ------------------------------------------------------------------ maps and scalars


def _decoded(decode_: Callable[[bytes], dict[str, T]], raw: msgspec.Raw) -> dict[str, T]:
    encoded = bytes(raw)
    if encoded in (b"", b"null"):
        return {}
    try:
        return decode_(encoded)
    except msgspec.DecodeError as problem:
        raise ValueError(str(problem)) from problem


def _entries(type_: str, part: View) -> list[tuple[str, Any]]:
    read = protobuf.ENTRIES[type_].FromString
    try:
        return [(entry.key, entry) for entry in map(read, part)]
    except protobuf.DecodeError as problem:
        raise ValueError(f"not a map: {problem}") from problem


def _quantity(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return _text(value)
    return _text(str(value) if isinstance(value, int | float) else str(value.string))


def _text(value: str) -> str:
    """Objects by the thousand say the same in many places: they share the words."""
    return intern(value) if len(value) <= _LONGEST_SHARED else value


def _int_or_string(value: Any) -> int | str:  # noqa: ANN401
    if isinstance(value, int | str):
        return value
    return str(value.strVal) if value.type else int(value.intVal)


def _time(value: Any) -> str | None:  # noqa: ANN401
    if value is None:
        return None
    if not isinstance(value, dt.datetime) and not value.HasField("seconds"):
        return None
    return _moment(seconds(value)).replace(tzinfo=None).isoformat() + "Z"


def _moment(since_1970: int) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(seconds=since_1970)
    except OverflowError as problem:
        raise ValueError(f"not a time: {since_1970}") from problem


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


# ------------------------------------------------------------------ readers, one for each field


def _reader(field: Field) -> _Reader:
    name = field.name
    value_of = _values(field)
    if field.form is Form.INLINE:

        def read(part: View, made: Json) -> None:
            made.update(to_json(getattr(part, name)))

    elif field.form is Form.ONE and field.pointer and field.type != "time":

        def read(part: View, made: Json) -> None:
            if has(part, name):
                made[name] = value_of(getattr(part, name))

    else:

        def read(part: View, made: Json) -> None:
            if value := value_of(getattr(part, name)):
                made[name] = value

    return read


def _values(field: Field) -> Callable[[Any], Any]:
    one = _SCALARS.get(field.type, to_json)
    match field.form:
        case Form.LIST:
            return lambda part: [one(each) for each in part]
        case Form.MAP | Form.OPAQUE_MAP:
            return _named(field.name, strings if field.type == "text" else quantities)
    return one


def _named(name: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_named(part: View) -> Any:  # noqa: ANN401
        try:
            return read(part)
        except ValueError as problem:
            raise ValueError(f"{problem} in {name}") from problem

    return read_named


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "number": int,
    "flag": bool,
    "time": _time,
    "quantity": _quantity,
    "intOrString": _int_or_string,
    "anything": dict,
}


def _all_readers() -> dict[type, tuple[_Reader, ...]]:
    of_structs = {
        struct: tuple(map(_reader, structs.flat(name)))
        for struct, name in structs.MESSAGE_OF.items()
    }
    of_protobuf = {
        class_: tuple(map(_reader, MESSAGES[name])) for class_, name in protobuf.MESSAGE_OF.items()
    }
    return of_structs | of_protobuf


_readers = _all_readers()
_absences: dict[type, dict[str, Any]] = {
    struct: {field.name: structs.absence(field) for field in structs.flat(name) if field.pointer}
    for struct, name in structs.MESSAGE_OF.items()
}
