"""Where we are in a document: the value there, its path, and the problems found so far."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TYPE_NAMES: Final = {list: "a list", dict: "a mapping", type(None): "null"}

Path = tuple[str | int, ...]

UNREADABLE: Final = object()
"""Stands for a value that the YAML reader refused: its problem is known, so no second one."""

_PLAIN_STEP: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_LONGEST_QUOTE: Final = 80


@dataclass(frozen=True, slots=True)
class Place:
    """A cursor over a document; all places of one document share one list of findings."""

    value: object
    path: Path
    findings: list[tuple[Path, str]]

    def at(self, name: str) -> "Place":
        """The place of a field, present or not; the value of an absent field is None."""
        value = self.value.get(name) if isinstance(self.value, dict) else None
        return Place(value, (*self.path, name), self.findings)

    def each(self) -> Iterator["Place"]:
        """The places of the items, none when this is not a list."""
        items = self.value if isinstance(self.value, list) else []
        for index, item in enumerate(items):
            yield Place(item, (*self.path, index), self.findings)

    def refuse(self, message: str) -> None:
        self.findings.append((self.path, message))

    def expected(self, what: str, hint: str = "") -> None:
        """Refuse the value for its type."""
        if self.value is not UNREADABLE:
            advice = f"; {hint}" if hint else ""
            self.refuse(f"expected {what}, found {described(self.value)}{advice}")

    def __str__(self) -> str:
        return rendered(self.path)


def rendered(path: Path) -> str:
    """`profiles[1].args`; a name that could be misread is quoted: `args["a b"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_STEP.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text


def described(value: object) -> str:
    """The value with its type, for people: `the string "80"`, `the number 5`, `a list`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the string {quoted(value)}"
    return _TYPE_NAMES.get(type(value), "an unreadable value")


def quoted(text: str) -> str:
    """In quotes, on one line and in ASCII, so that nothing in a file can dress up the output."""
    return json.dumps(_shortened(text))


def shown(value: object) -> str:
    """The value itself, on one line: `80.0`, `"30s"`, `["a", "b"]`."""
    return _shortened(json.dumps(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."
