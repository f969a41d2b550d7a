"""Records by what they say, and in their order: so nobody has to look through all of them. Pure."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import count

from rescheduler.model import podmigration
from rescheduler.model.objects import Object

Key = tuple[str, str]
"""Namespace and name."""
_Line = tuple[str, bool]
_Place = tuple[str, Key]
"""When it was created, and who it is."""


class Index:
    def __init__(self, value_of: Callable[[Object], str]) -> None:
        """Those of which the value is empty are not in it."""
        self._value_of = value_of
        self._values: dict[Key, str] = {}
        self._found: dict[str, dict[Key, Object]] = {}

    def put(self, key: Key, record: Object) -> None:
        value = self._value_of(record)
        if self._values.get(key) != value:
            self.remove(key)
        if value:
            self._values[key] = value
            self._found.setdefault(value, {})[key] = record

    def remove(self, key: Key) -> None:
        value = self._values.pop(key, "")
        if value:
            del self._found[value][key]
            if not self._found[value]:
                del self._found[value]

    def get(self, value: str) -> Iterable[Object]:
        return self._found.get(value, {}).values()


class Lines:
    """In which order those that wait may begin.

    Each namespace has two lines, one for what people asked for and one for what we planned. Within
    a line the oldest is first; the lines take turns. So whoever makes thousands of records holds up
    what is asked for in that namespace, and nobody else.
    """

    def __init__(self) -> None:
        self._lines: dict[_Line, list[_Place]] = {}
        self._places: dict[Key, tuple[_Line, _Place]] = {}
        self._last: dict[_Line, int] = {}
        """The turn at which one of a line began last; none for those that have had none."""
        self._turns = count(1)

    def put(self, key: Key, record: Object) -> None:
        """At the place that is its own; a namesake may have had another."""
        line = key[0], podmigration.is_asked(record)
        place = str(record["metadata"]["creationTimestamp"]), key
        if self._places.get(key) == (line, place):
            return
        self.remove(key)
        self._places[key] = line, place
        insort(self._lines.setdefault(line, []), place)

    def remove(self, key: Key) -> None:
        if (known := self._places.pop(key, None)) is None:
            return
        line, place = known
        found = self._lines[line]
        del found[bisect_left(found, place)]
        if not found:
            del self._lines[line]

    def begun(self, key: Key) -> None:
        """One of its line has had its turn."""
        if key in self._places:
            line = self._places[key][0]
            self._last[line] = next(self._turns)
            # Who has none left has no turn to wait for.
            self._last = {each: turn for each, turn in self._last.items() if each in self._lines}

    def in_turn(self, covers: Callable[[str], bool]) -> Iterator[Key]:
        """Of the namespaces that are covered: the first of each line, then the second of each, and
        so on; the line that has waited for the longest first.
        """
        lines = [self._ranked(line) for line in self._lines if covers(line[0])]
        return (place[1] for _, _, place in merge(*lines))

    def _ranked(self, line: _Line) -> Iterator[tuple[int, int, _Place]]:
        last = self._last.get(line, 0)
        return ((nth, last, place) for nth, place in enumerate(self._lines[line]))
