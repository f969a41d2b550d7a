"""Documents as text: JSON or YAML. Pure.

The same document gives the same bytes.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

Document = dict[str, Any]

_NOT_PLAIN: Final = re.compile(r"[^\n -~]")
_FIRST_OF_TWO: Final = 0x10000
"""From this character on, JSON writes two numbers."""
_WIDEST: Final = 2**31 - 1
"""Of a line of YAML: strings stay whole."""


def as_text(document: Document, form: str) -> str:
    return _as_yaml(document) if form == "yaml" else _as_json(document)


def as_list(head: Document, items: Iterable[Document], form: str) -> str:
    """The same as of a document whose last field is `items`, in the memory of one of them: as YAML
    one takes thirty times as much as its text while it is written.
    """
    if form != "yaml":
        return as_text({**head, "items": [*items]}, form)
    listed = "".join(_as_yaml([each]) for each in items)
    return _as_yaml(head) + (f"items:\n{listed}" if listed else "items: []\n")


def _as_json(document: Document) -> str:
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    # A terminal may obey characters that JSON allows as they are; they stand in strings only.
    return _NOT_PLAIN.sub(lambda found: _escaped(found[0]), text) + "\n"


def _escaped(character: str) -> str:
    number = ord(character)
    if number < _FIRST_OF_TWO:
        return f"\\u{number:04x}"
    number -= _FIRST_OF_TWO
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def _as_yaml(document: Document | list[Document]) -> str:
    import yaml  # slow to import, and seldom asked for

    # The one in C is many times faster, and writes the same.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, width=_WIDEST))
