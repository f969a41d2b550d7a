"""Server-sent events as bytes, compressed so that many can be sent the same. Pure.

Each block is compressed by itself and ends on a whole byte: so it may follow any other, in a stream
that began before it was made.
"""

import zlib
from dataclasses import dataclass
from typing import Final

import msgspec

BEGINNING: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""Of a stream in the format of gzip, which never ends."""
_RAW: Final = -15
_LEVEL: Final = 5


@dataclass(frozen=True, slots=True)
class Block:
    plain: bytes
    compressed: bytes

    @classmethod
    def of(cls, plain: bytes) -> "Block":
        packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
        return cls(plain, packing.compress(plain) + packing.flush(zlib.Z_FULL_FLUSH))


def event(name: str, data: msgspec.Struct, number: str = "") -> bytes:
    """JSON has no line breaks of its own, so one line of data is all of it."""
    head = f"event: {name}\n" + (f"id: {number}\n" if number else "")
    return head.encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


HEARTBEAT: Final = Block.of(b": still here\n\n")
