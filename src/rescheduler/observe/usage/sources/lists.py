"""Lists that come in pieces, object by object, so that no more than a piece of them is held. Pure.

Servers write the objects of a list one after the other, each with its metadata first. A quote
inside a text is escaped in JSON, so what stands between two objects stands nowhere else. A list
that is written in any other way is read as a whole.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

_BEGIN: Final = b'"items":[{"metadata":'
_BETWEEN: Final = b'},{"metadata":'
_END: Final = b"}]}"


class _List(msgspec.Struct, gc=False):
    items: list[msgspec.Raw] | None = None


_WHOLE: Final = msgspec.json.Decoder(_List)


class Splitter:
    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0
        self._has_begun = False

    def __len__(self) -> int:
        """Bytes that are held."""
        return len(self._held)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The objects that are complete with this piece."""
        self._held += piece
        if not self._has_begun:
            begin = self._held.find(_BEGIN)
            if begin < 0:
                return
            self._has_begun = True
            del self._held[: begin + len(_BEGIN) - len(b'{"metadata":')]
        begin = 0
        while (found := self._held.find(_BETWEEN, max(begin, self._searched))) >= 0:
            yield bytes(self._held[begin : found + 1])
            begin = found + 2
        # The border between two pieces may be in the middle of what stands between two objects.
        self._searched = max(0, len(self._held) - begin - len(_BETWEEN))
        del self._held[:begin]

    def finish(self) -> Iterator[bytes]:
        """The rest. Raises ValueError when what came is no list, or was cut off."""
        if self._has_begun:
            rest = bytes(self._held).rstrip()
            if not rest.endswith(_END):
                raise ValueError("a list that ends in the middle")
            yield rest[: 1 - len(_END)]
            return
        try:
            yield from map(bytes, _WHOLE.decode(self._held).items or ())
        except msgspec.MsgspecError as problem:
            raise ValueError(f"not a list: {problem}") from problem
