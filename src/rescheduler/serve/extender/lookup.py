"""Which rows of a table the names in a request stand in, thousands at once, without reading them.

A name becomes an object, is hashed, and looked up where it was kept last: three times memory that
is far away, for each of 5,000. Here numpy goes once through the bytes as they came, and finds names
by a sum over their letters: r*a + r^2*b + r^3*c, in 64 bits, which wrap around.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.schedule import Numbers

_MOST_BYTES: Final = 2**19
"""Of names: beyond that, they are read one by one."""
_FACTOR: Final = 0x9E3779B97F4A7C15
"""Odd, so that there is one to divide by."""
_BITS: Final = 64
_ROOM: Final = 8
"""Places for each name, so that most have one of their own."""
_QUOTE, _COMMA = ord('"'), ord(",")

_Sums = npt.NDArray[np.uint64]


def _powers(factor: int, number: int) -> _Sums:
    found = np.full(number, factor, np.uint64)
    found[0] = 1
    return np.cumprod(found, dtype=np.uint64)


class Lookup:
    """In one table after the other: nodes are seldom others than before."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._places: _Places | None = None
        self._powers = _powers(_FACTOR, 1)
        self._inverse = self._powers

    def rows(self, names: tuple[str, ...], sent: bytes) -> Numbers | None:
        """Of the names that were sent, as JSON. None: they have to be read, for some of them are
        not among these, or they are not written as Go writes them.
        """
        found = self._sums(sent)
        if found is None:
            return None
        if self._names is not names and self._names != names:
            self._names, self._places = names, self._placed(names)
        return None if self._places is None else self._places.rows(found)

    def _placed(self, names: tuple[str, ...]) -> "_Places | None":
        known = self._sums(b'["' + '","'.join(names).encode() + b'"]')
        # Names in which something has to be escaped are no names of nodes.
        is_usable = known is not None and len(np.unique(known)) == len(names)
        return _Places(known) if known is not None and is_usable else None

    def _sums(self, sent: bytes) -> _Sums | None:
        """One for each name; None: it is not a list as Go writes it, without blanks."""
        if len(sent) > _MOST_BYTES or b"\\" in sent:
            return None
        letters = np.frombuffer(sent, np.uint8)
        quotes = np.flatnonzero(letters == _QUOTE)
        before, after = quotes[0::2], quotes[1::2]
        if not _is_plain(letters, before, after):
            return None
        self._reach(len(letters))
        sums = np.cumsum(letters * self._powers[: len(letters)], dtype=np.uint64)
        found: _Sums = (sums[after - 1] - sums[before]) * self._inverse[before]
        return found

    def _reach(self, number: int) -> None:
        if len(self._powers) < number:
            number = min(2 * number, _MOST_BYTES)
            self._powers = _powers(_FACTOR, number)
            self._inverse = _powers(pow(_FACTOR, -1, 2**_BITS), number)


def _is_plain(letters: npt.NDArray[np.uint8], before: Numbers, after: Numbers) -> bool:
    """["...","..."], and nothing between that but commas."""
    if not len(after) or len(before) != len(after):
        return False
    is_whole = before[0] == 1 and after[-1] == len(letters) - 2
    return bool(
        is_whole
        and (before[1:] - after[:-1] == 2).all()  # noqa: PLR2004 - a comma between two quotes
        and (letters[after[:-1] + 1] == _COMMA).all()
    )


class _Places:
    """Where to find each of the sums."""

    def __init__(self, known: _Sums) -> None:
        self._known = known
        bits = (_ROOM * len(known)).bit_length()
        self._shift = np.uint64(_BITS - bits)
        self._first = np.zeros(2**bits, np.int64)
        self._first[known >> self._shift] = np.arange(len(known))
        self._order = np.argsort(known)
        self._sorted = known[self._order]

    def rows(self, sums: _Sums) -> Numbers | None:
        found: Numbers = self._first[sums >> self._shift]
        is_other = self._known[found] != sums
        if is_other.any():
            # Names that share a place with others.
            at = np.searchsorted(self._sorted, sums[is_other])
            found[is_other] = self._order[np.minimum(at, len(self._order) - 1)]
            if (self._known[found] != sums).any():
                return None
        return found
