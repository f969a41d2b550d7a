"""Objects of any shape that the table allows, and how the API server writes them in protobuf.

The encoder is written from the rules of the wire format, not with the classes under test.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from rescheduler.wire.schema import MESSAGES, Field, Form

Object = dict[str, Any]

_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=5),
    "number": st.integers(-(2**63), 2**63 - 1) | st.just(0),
    "flag": st.booleans(),
    "time": st.integers(0, 2**33).map(
        lambda since: dt.datetime.fromtimestamp(since, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ),
    "quantity": st.sampled_from(["0", "1", "250m", "1Gi", "1e3"]),
    "intOrString": st.integers(0, 2**31 - 1) | st.text(max_size=4),
}
_MOST_FIELDS = 5


@st.composite
def objects(draw: st.DrawFn, message: str) -> Object:
    """In JSON, with some of the fields, empty or not."""
    fields = MESSAGES[message]
    if not fields:
        return {}
    chosen = draw(st.lists(st.sampled_from(fields), unique=True, max_size=_MOST_FIELDS))
    made: Object = {}
    for field in chosen:
        value = draw(_value(field))
        made |= value if field.form is Form.INLINE else {field.name: value}
    return made


def _value(field: Field) -> st.SearchStrategy[Any]:
    one = objects(field.type) if field.is_message else _SCALARS[field.type]
    match field.form:
        case Form.LIST:
            return st.lists(one, max_size=2)
        case Form.MAP | Form.OPAQUE_MAP:
            return st.dictionaries(st.text(max_size=3), one, max_size=3)
    return one


def reduced(message: str, content: Mapping[str, Any]) -> Object:
    """Without what is empty and no pointer."""
    made: Object = {}
    for field in MESSAGES[message]:
        if field.form is Form.INLINE:
            made |= reduced(field.type, content)
        elif field.name in content:
            value = _reduced_value(field, content[field.name])
            if value or field.pointer:
                made[field.name] = value
    return made


def _reduced_value(field: Field, value: Any) -> Any:  # noqa: ANN401
    if not field.is_message:
        return value
    if field.form is Form.LIST:
        return [reduced(field.type, each) for each in value]
    return reduced(field.type, value)


# ------------------------------------------------------------------ protobuf


def encoded(message: str, content: Mapping[str, Any]) -> bytes:
    return b"".join(_field(field, content) for field in MESSAGES[message])


def _field(field: Field, content: Mapping[str, Any]) -> bytes:
    if field.form is Form.INLINE:
        return part(field.number, encoded(field.type, content))
    if field.name not in content:
        return _absent(field)
    value = content[field.name]
    match field.form:
        case Form.LIST:
            return b"".join(_one(field.number, field, each) for each in value)
        case Form.MAP | Form.OPAQUE_MAP:
            # The server sorts them.
            entries = [
                part(1, key.encode()) + _one(2, field, each) for key, each in sorted(value.items())
            ]
            return b"".join(part(field.number, entry) for entry in entries)
    return _one(field.number, field, value)


def _absent(field: Field) -> bytes:
    """What is no pointer is written all the same."""
    if field.form is not Form.ONE or field.pointer:
        return b""
    match field.type:
        case "text" | "time":
            return part(field.number, b"")
        case "number" | "flag":
            return _number(field.number, 0)
    return part(field.number, encoded(field.type, {}))


def _one(number: int, field: Field, value: Any) -> bytes:  # noqa: ANN401
    match field.type:
        case "text":
            return part(number, value.encode())
        case "number" | "flag":
            return _number(number, value)
        case "time":
            since = int(dt.datetime.fromisoformat(value).timestamp())
            return part(number, _number(1, since) + _number(2, 0))
        case "quantity":
            return part(number, part(1, value.encode()))
        case "intOrString":
            is_text = isinstance(value, str)
            content = _number(1, is_text) + _number(2, 0 if is_text else value)
            return part(number, content + part(3, value.encode() if is_text else b""))
    return part(number, encoded(field.type, value))


def part(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value % 2**64)


def _varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


HEAD = part(1, part(1, b"v1") + part(2, b"Pod"))
TAIL = part(3, b"") + part(4, b"")


def wrapped(content: bytes, head: bytes = HEAD, tail: bytes = TAIL) -> bytes:
    """As the body of an answer."""
    return b"k8s\x00" + head + part(2, content) + tail


def frame(kind: str, content: bytes, head: bytes = HEAD, tail: bytes = TAIL) -> bytes:
    """As an event of a watch."""
    event = part(1, kind.encode()) + part(2, part(1, wrapped(content, head, tail)))
    return len(event).to_bytes(4) + event
