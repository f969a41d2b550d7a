"""The few keys of a document that we read, in whichever capitalisation, and nothing of the others.

Go reads any. But a document of megabytes may have millions of keys, which nobody should make us
keep: usual spellings are looked for without that, and all others in small documents only.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

MOST_BYTES: Final = 2**20
"""Of a document whose keys are spelled as nobody spells them."""

Parts = Mapping[str, msgspec.Raw]
"""As they came, by key in small letters, without those that are null."""

_NULL: Final = msgspec.Raw(b"null")


class Reader:
    def __init__(self, spellings: Mapping[str, Sequence[str]]) -> None:
        """By key in small letters: how it is usually spelled."""
        self._spellings = spellings
        usual = [each for spelled in spellings.values() for each in spelled]
        struct = msgspec.defstruct("Usual", [(each, msgspec.Raw, _NULL) for each in usual])
        self._read: Callable[[bytes | msgspec.Raw], Any] = msgspec.json.Decoder(struct).decode

    def parts(self, document: bytes | msgspec.Raw, is_enough: Callable[[Parts], bool]) -> Parts:
        """Raises msgspec.MsgspecError. What is not found in a large document is as if missing."""
        found = self._usual(document)
        if is_enough(found) or len(memoryview(document)) > MOST_BYTES:
            return found
        return _lowered(document)

    def _usual(self, document: bytes | msgspec.Raw) -> Parts:
        read = self._read(document)
        found = {}
        for key, spelled in self._spellings.items():
            for each in spelled:
                if not _is_null(part := getattr(read, each)):
                    found[key] = part
        return found


def _lowered(document: bytes | msgspec.Raw) -> Parts:
    found = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    return {key.lower(): part for key, part in found.items() if not _is_null(part)}


def _is_null(part: msgspec.Raw) -> bool:
    return part is _NULL or part == _NULL
