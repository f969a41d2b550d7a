"""Lists, a page at a time. Pure.

Where a page begins is told by how many came before it: lists are short-lived, and whoever turns
pages while things change may meet one item twice, or miss one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rescheduler.serve.dashboard.contract import FEW_ITEMS, MOST_ITEMS
from rescheduler.serve.dashboard.refusing import BAD_REQUEST, Refused

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    start: int = 0
    limit: int = FEW_ITEMS

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Page":
        """Raises Refused."""
        limit = _number("limit", query.get("limit", str(FEW_ITEMS)), 1)
        return cls(_number("continue", query.get("continue") or "0", 0), min(limit, MOST_ITEMS))

    def cut(self, items: Sequence[T]) -> Sequence[T]:
        return items[self.start : self.start + self.limit]

    def next(self, total: int) -> str:
        """What to ask for the page after this one; empty: there is none."""
        end = self.start + self.limit
        return str(end) if end < total else ""


def _number(name: str, text: str, least: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(10**9))
    if not is_number or int(text) < least:
        raise Refused(
            BAD_REQUEST,
            f"{name}: must be a whole number, at least {least}",
            field=name,
            way_out="take it as the page before said it" if name == "continue" else None,
        )
    return int(text)
