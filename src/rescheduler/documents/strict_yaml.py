"""YAML without its surprises: text in, a plain tree and the order of its places out.

Built on the events of PyYAML's parser instead of its constructor, so that nothing is expanded,
constructed or overwritten behind our back: duplicate keys, aliases and tags are problems. A plain
scalar is a number, boolean or null only where YAML 1.1, YAML 1.2 and Go agree; `yes`, `1_000`,
`017`, `1:30` and `8e1` are strings, and so become type errors where a number is expected.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast

import yaml

from rescheduler.documents.places import UNREADABLE, Path, quoted
from rescheduler.errors import Problem

LARGEST_BYTES: Final = 1024 * 1024  # A ConfigMap holds no more either.
_DEEPEST: Final = 64  # Stock files need about ten levels; the limit guards our own stack.

# More digits than an int64 holds are read as a float, which no integer field accepts.
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT: Final = re.compile(
    r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*([eE][-+][0-9]+)?)?|\.[0-9]+([eE][-+][0-9]+)?)"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}


class UnreadableYamlError(Exception):
    """Not YAML, or YAML of which no part may be looked at."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.problem = Problem(path, message)


@dataclass(frozen=True, slots=True)
class Tree:
    value: object
    """Of dict with str keys, list, str, int, float, bool, None; UNREADABLE where refused."""

    positions: dict[Path, int]
    """Where in the text each place begins."""

    findings: list[tuple[Path, str]]
    """What was refused on the way."""


def read(text: str, largest_bytes: int = LARGEST_BYTES) -> Tree:
    """Read the one document of the text.

    Raises:
        UnreadableYamlError: there is not exactly one document, or its syntax is wrong.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > largest_bytes:
        raise UnreadableYamlError(f"larger than {largest_bytes} bytes")
    # The parser in C tells the same events many times faster, and errors in other words.
    in_c = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = yaml.SafeLoader if size <= LARGEST_BYTES else in_c
    try:
        return _Builder(yaml.parse(text.removeprefix("\ufeff"), Loader=loader)).document()
    except yaml.MarkedYAMLError as error:
        raise UnreadableYamlError(_explained(error), _located(error.problem_mark)) from error
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError) as error:
        # PyYAML lets some of Python's own errors through, such as that of chr() for "\UFFFFFFFF".
        raise UnreadableYamlError(_in_one_line(str(error))) from error


@dataclass(slots=True)
class _Builder:
    events: Iterator[yaml.Event]
    positions: dict[Path, int] = field(default_factory=dict)
    findings: list[tuple[Path, str]] = field(default_factory=list)

    def document(self) -> Tree:
        next(self.events)  # StreamStartEvent
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise UnreadableYamlError("the document is empty")
        value = self._node(next(self.events), ())
        next(self.events)  # DocumentEndEvent
        following = next(self.events)
        if not isinstance(following, yaml.StreamEndEvent):
            message = "a second YAML document begins here; only one is accepted"
            raise UnreadableYamlError(message, _located(_start(following)))
        return Tree(value, self.positions, self.findings)

    def _node(self, event: yaml.Event, path: Path) -> object:
        self.positions.setdefault(path, _start(event).index)
        if len(path) > _DEEPEST:
            message = f"nested deeper than {_DEEPEST} levels"
            raise UnreadableYamlError(message, _located(_start(event)))
        if isinstance(event, yaml.AliasEvent):
            return self._refuse(event, path, "YAML aliases are not accepted; repeat the value")
        value = self._content(event, path)
        if tag := getattr(event, "tag", None):
            return self._refuse(event, path, f"YAML tags are not accepted ({quoted(tag)})")
        return value

    def _content(self, event: yaml.Event, path: Path) -> object:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        text = str(event.value) if isinstance(event, yaml.ScalarEvent) else ""
        # Of a plain one it is None, or empty where the parser in C has found it.
        return text if getattr(event, "style", None) else _plain(text)

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        fields: dict[str, object] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            name, line = self._key(event), _start(event).line + 1
            place = (*path, name)
            self.positions.setdefault(place, _start(event).index)
            value = self._node(next(self.events), place)
            if name in fields:
                message = f"duplicate field (line {line}, first on line {lines[name]})"
                self.findings.append((place, message))
            else:
                fields[name], lines[name] = value, line
        return fields

    def _key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
            raise UnreadableYamlError("field names must be plain", _located(_start(event)))
        return str(event.value)

    def _refuse(self, event: yaml.Event, path: Path, message: str) -> object:
        self.findings.append((path, f"{message} (line {_start(event).line + 1})"))
        return UNREADABLE


def _plain(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(re.sub(r"\.(?=inf|nan)", "", text.lower()))
    return text


def _start(event: yaml.Event) -> yaml.Mark:
    # PyYAML gives every event its mark; only the types leave that open.
    return cast("yaml.Mark", event.start_mark)


def _located(mark: yaml.Mark | None) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _explained(error: yaml.MarkedYAMLError) -> str:
    return _in_one_line(", ".join(filter(None, (error.context, error.problem))))


def _in_one_line(message: str) -> str:
    text = " ".join(message.split()).encode("ascii", "backslashreplace").decode()
    return f"not valid YAML: {text}"
