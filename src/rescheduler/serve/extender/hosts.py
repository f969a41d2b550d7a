"""Answers about thousands of nodes, put together from pieces that were written before.

Each piece is filled up with blanks, which JSON allows between its tokens: pieces of one width are
gathered by numpy at once, where a loop over 5,000 names would take most of the time of an answer.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from rescheduler.schedule import MOST, UNKNOWN, Numbers

_Pieces = npt.NDArray[np.void]

_write: Final = msgspec.json.Encoder().encode


def _pieces(texts: Sequence[bytes]) -> _Pieces:
    width = max(map(len, texts), default=1)
    return np.array([text.ljust(width) for text in texts], f"V{width}")


_SCORES: Final = _pieces([b',"Score":%d},' % score for score in range(MOST + 1)])


class Hosts:
    """Of one table after the other: nodes are seldom others than before."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._hosts = _pieces([])

    def priorities(self, names: tuple[str, ...], rows: Numbers, points: Numbers) -> bytes | None:
        """Of those of the names that stand in these rows; None: one of them is unknown."""
        if (rows == UNKNOWN).any():
            return None
        if self._names is not names and self._names != names:
            self._names = names
            self._hosts = _pieces([b'{"Host":' + _write(name) for name in names])
        form = np.dtype([("host", self._hosts.dtype), ("score", _SCORES.dtype)])
        found = np.empty(len(rows), form)
        found["host"] = self._hosts[rows]
        found["score"] = _SCORES[points]
        # All but the last are followed by another.
        return b"[" + found.tobytes().rstrip(b", ") + b"]"
