"""How the API server wraps what it says in protobuf: magic, envelope, frames.

See k8s.io/apimachinery/pkg/runtime/serializer/protobuf. A body is the magic, then a
`runtime.Unknown` whose field 2 is the object. A watch is frames of four bytes of length and a
`WatchEvent`, whose object has magic and envelope again.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rescheduler.wire.protobuf import CLASSES, DecodeError

MAGIC = b"k8s\x00"
_LENGTH_BYTES = 4
# Objects are of a megabyte or two at most, so a longer frame is none.
_LONGEST_FRAME = 2**28
_DELIMITED = 2
_LONGEST_SHIFT = 63

_VARINT = rb"[\x80-\xff]*[\0-\x7f]"
_USUAL = re.compile(
    rb"\n.(ADDED|MODIFIED|DELETED)\x12%b\n%b" % (_VARINT, _VARINT)
    + rb"k8s\0\n.\n.[\w./]+\x12.\w+\x12(%b)" % _VARINT,
    re.DOTALL,
)
"""Type, object, magic, version and kind, and then the object itself, whose length is the last: as
API servers write their events, but as nobody has promised.
"""
_USUAL_TAIL = b'\x1a\0"\0'
"""No encoding, and no type of its own."""

_unknown = CLASSES["Unknown"].FromString
_watch_event = CLASSES["WatchEvent"].FromString

Buffer = bytes | bytearray


class Frame(NamedTuple):
    """One event of a watch."""

    type: str
    object: bytes


class Frames:
    """Cuts the bytes of a watch into its events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[Frame]:
        """The events that are whole with these bytes. ValueError when it is no such stream."""
        rest = self._rest
        rest += chunk
        frames, position = [], 0
        while len(rest) >= position + _LENGTH_BYTES:
            begin = position + _LENGTH_BYTES
            length = int.from_bytes(rest[position:begin])
            if length > _LONGEST_FRAME:
                raise ValueError(f"a frame of {length} bytes")
            if len(rest) < begin + length:
                break
            position = begin + length
            frames.append(_usual_frame(rest, begin, position) or _frame(rest[begin:position]))
        del rest[:position]
        return frames

    @property
    def is_between_events(self) -> bool:
        return not self._rest


def _usual_frame(rest: bytearray, begin: int, end: int) -> Frame | None:
    """At the first sync every object comes in one: copied once, and not four times."""
    head = _USUAL.match(rest, begin, end)
    if head is None:
        return None
    first = head.end()
    last = first + _read_varint(head[2], 0)[0]
    if rest[last:end] != _USUAL_TAIL:
        return None
    with memoryview(rest) as whole:
        return Frame(head[1].decode(), bytes(whole[first:last]))


def _frame(content: bytearray) -> Frame:
    try:
        event = _watch_event(bytes(content))
    except DecodeError as problem:
        raise ValueError(f"not a watch event: {problem}") from problem
    return Frame(event.type, unwrap(event.object.raw))


def unwrap(body: bytes) -> bytes:
    """The object in a body. ValueError when there is none."""
    if not body.startswith(MAGIC):
        raise ValueError("not wrapped as the API server wraps protobuf")
    try:
        return bytes(_unknown(body[len(MAGIC) :]).raw)
    except DecodeError as problem:
        raise ValueError(f"not wrapped as the API server wraps protobuf: {problem}") from problem


def wrap_as_list(objects: list[bytes]) -> bytes:
    """As the items of a list, which decode at once."""
    return b"".join([part for each in objects for part in (b"\x12", _varint(len(each)), each)])


class Span(NamedTuple):
    """Where in a body something is."""

    begin: int
    end: int


def list_in(body: Buffer) -> Span:
    """Where the list is; the first bytes suffice. ValueError when there is none."""
    if not body.startswith(MAGIC):
        raise ValueError("not wrapped as the API server wraps protobuf")
    position = len(MAGIC)
    while True:
        number, content = _field(body, position)
        if number == 2:  # noqa: PLR2004
            return content
        position = content.end


def fields(body: Buffer, within: Span) -> Iterator[tuple[int, Span, Span]]:
    """Of each delimited field its number, where it is with its tag, and where without."""
    position = within.begin
    while position < within.end:
        number, content = _field(body, position)
        yield number, Span(position, content.end), content
        position = content.end


def _field(body: Buffer, position: int) -> tuple[int, Span]:
    try:
        tag, position = _read_varint(body, position)
        length, position = _read_varint(body, position)
    except IndexError:
        raise ValueError("a list that ends in the middle") from None
    if tag & 7 != _DELIMITED:
        raise ValueError("a list with fields that no list has")
    return tag >> 3, Span(position, position + length)


def _read_varint(body: Buffer, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return value, position
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise ValueError("a list with a number that no list has")


@lru_cache(4096)
def _varint(value: int) -> bytes:
    """Pods of one template are mostly of one length."""
    made = bytearray()
    while value >= 0x80:  # noqa: PLR2004
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
