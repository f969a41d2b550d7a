"""How text for people is laid out: names give way on a narrow terminal, and long lines are broken.

Pure. What is laid out is made printable here, so that no name in it can act on a terminal.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Row = Sequence[str]

_GAP: Final = "  "
_NARROWEST: Final = 8
"""Of a name that gives way."""
_LEAST_BESIDE: Final = 40
"""Text that has less room than this beside its row stands below it."""
_NAME_IN_A_LINE: Final = 17
_BELOW: Final = "    "
_WITH_DIGITS: Final = re.compile(r"\S*\d\S*")


def printable(text: str) -> str:
    """Names in files may be anything, and some of it would be obeyed by a terminal."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    width: int | None = None
    """Of the terminal; none for a file or another program, where names and lines stay whole."""
    plain: bool = False
    """The reader's terminal has no characters but those of ASCII."""

    @property
    def arrow(self) -> str:
        return "->" if self.plain else "→"

    def shortened(self, name: str, width: int) -> str:
        if len(name) <= width:
            return name
        # Names of nodes differ at either end: ip-10-0-1-23.eu-west-1..., pool-a-4d5f.
        cut = "..." if self.plain else "…"
        kept = max(width - len(cut), 0)
        return name[: kept - kept // 2] + cut + name[len(name) - kept // 2 :]

    def named(self, name: str) -> str:
        """Within a line, where a long one would break it."""
        return name if self.width is None else self.shortened(name, _NAME_IN_A_LINE)

    def wrapped(self, line: str, indent: str = "") -> list[str]:
        """Broken where it would not fit; what follows is indented."""
        line = printable(line)
        if self.width is None:
            return [line]
        return textwrap.wrap(
            line,
            max(self.width, len(indent) + _NARROWEST),
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def labelled(self, label: str, lines: Iterable[str], width: int) -> list[str]:
        """The label beside the first line, and nothing when there is no line."""
        made: list[str] = []
        for place, line in enumerate(lines):
            head = "" if place else f"{label}:"
            made += self.wrapped(f"{head:<{width}}{line}", " " * width)
        return made

    def table(
        self, rows: Iterable[Row], *, names: Collection[int] = (0,), numbers: Collection[int] = ()
    ) -> list[str]:
        """Columns of names give way when it would be too wide; numbers stand right."""
        made, _ = self._table(rows, names, numbers, self.width)
        return made

    def table_with_text(
        self,
        rows: Iterable[Row],
        *,
        names: Collection[int] = (0,),
        numbers: Collection[int] = (),
    ) -> list[str]:
        """The last column is text: beside its row where there is room, below it where not."""
        rows = [[printable(cell) for cell in row] for row in rows]
        texts = [row[-1] for row in rows]
        heads, wide = self._table([row[:-1] for row in rows], names, numbers, None)
        needed = wide + len(_GAP) + min(max(map(len, texts)), _LEAST_BESIDE)
        if self.width is None or needed <= self.width:
            indent = " " * wide + _GAP
            return [
                line
                for head, text in zip(heads, texts, strict=True)
                for line in self.wrapped(f"{head:<{wide}}{_GAP}{text}", indent)
            ]
        heads, _ = self._table([row[:-1] for row in rows], names, numbers, self.width)
        return [
            line
            for place, (head, text) in enumerate(zip(heads, texts, strict=True))
            # The first is the title, and says nothing that the text does not.
            for line in (head, *(self.wrapped(_BELOW + text, _BELOW) if place and text else ()))
        ]

    def _table(
        self,
        rows: Iterable[Row],
        names: Collection[int],
        numbers: Collection[int],
        width: int | None,
    ) -> tuple[list[str], int]:
        cells = [[printable(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if width is not None:
            _give_way(widths, names, width)
        made = [
            _GAP.join(
                shown.rjust(size) if place in numbers else shown.ljust(size)
                for place, (cell, size) in enumerate(zip(row, widths, strict=True))
                for shown in [self.shortened(cell, size) if place in names else cell]
            ).rstrip()
            for row in cells
        ]
        return made, sum(widths) + len(_GAP) * (len(widths) - 1)


def _give_way(widths: list[int], names: Collection[int], width: int) -> None:
    """The widest name first, until all fits or no name can be shorter."""
    too_long = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while too_long > 0 and names:
        place = max(names, key=lambda each: widths[each])
        if widths[place] <= _NARROWEST:
            return
        widths[place] -= 1
        too_long -= 1


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def some_of(names: Sequence[str], most: int = 3) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def alike(told: Iterable[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of pairs of a reason and who it is told of: reasons that differ in numbers and names only as
    one, in the words that are the most frequent; those of the most first.
    """
    words: dict[str, Counter[str]] = {}
    who: dict[str, dict[str, None]] = {}
    for reason, name in told:
        kind = _WITH_DIGITS.sub("#", reason)
        words.setdefault(kind, Counter())[reason] += 1
        who.setdefault(kind, {})[name] = None
    for kind in sorted(who, key=lambda each: (-len(who[each]), each)):
        [(first, _)] = words[kind].most_common(1)
        yield first if len(words[kind]) == 1 else f"{first} (or alike)", tuple(who[kind])
