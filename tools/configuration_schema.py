"""The settings as a JSON schema, and as a commented file to start from: both from the code."""

import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

from rescheduler.config import Configuration, strategies, to_document, windows
from rescheduler.documents import kinds, name_lists
from rescheduler.documents.settings import settings_of
from rescheduler.model.windows import DAYS
from tools import configuration_page

_DURATION: Final = r"^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"
_SHARE: Final = r"^[0-9]+(\.[0-9]+)?%$"
_HEAD: Final = """\
# A configuration of the rescheduler. Every setting stands here with its default: take the # off to
# change one. Checked by `rescheduler config validate --config FILE`.
"""


def schema() -> str:
    types = to_document(Configuration())
    fields = {name: {"const": types[name]} for name in ("apiVersion", "kind")}
    made = _section(Configuration)
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ReschedulerConfiguration",
        **made,
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {**fields, **made["properties"]},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def starting_file() -> str:
    types = to_document(Configuration())
    head = "".join(f"{name}: {types[name]}\n" for name in ("apiVersion", "kind"))
    return f"{_HEAD}{head}" + "".join(f"{line}\n" for line in _lines(Configuration, ""))


def _section(settings_type: type[Any]) -> dict[str, Any]:
    words = configuration_page.words_of_fields(settings_type)
    about = configuration_page.words_of_class(settings_type)
    fields = {}
    for each in settings_of(settings_type):
        if each.kind is None:
            fields[each.name] = _section(type(each.default))
        else:
            default = each.kind.write(each.default)
            told = {} if default is None else {"default": default}
            fields[each.name] = {
                "description": words[each.field],
                **_KINDS[type(each.kind)](each.kind),
                **told,
            }
    return {
        **({"description": about} if about else {}),
        # With all below it commented out, a section is empty.
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": fields,
    }


def _lines(settings_type: type[Any], indent: str) -> Iterator[str]:
    words = configuration_page.words_of_fields(settings_type)
    for each in settings_of(settings_type):
        yield ""
        if each.kind is None:
            if about := configuration_page.words_of_class(type(each.default)):
                yield from _comment(about, indent)
            yield f"{indent}{each.name}:"
            yield from _lines(type(each.default), indent + "  ")
            continue
        yield from _comment(words[each.field], indent)
        default = each.kind.write(each.default)
        written = "" if default is None else json.dumps(default, ensure_ascii=False)
        yield f"{indent}#{each.name}: {written}".rstrip()


def _comment(words: str, indent: str) -> list[str]:
    lead = f"{indent}# "
    return textwrap.wrap(
        words,
        100,
        initial_indent=lead,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _percentage(kind: kinds.Percentage) -> dict[str, Any]:
    lowest = "minimum" if kind.zero_allowed else "exclusiveMinimum"
    return {"type": "number", lowest: 0, "maximum": 100}


def _strings(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a schema may hold
    return {"type": "array", "items": {"type": "string", **more}, "uniqueItems": True}


_KINDS: Final[dict[type, Callable[[Any], dict[str, Any]]]] = {
    kinds.Flag: lambda _: {"type": "boolean"},
    kinds.Text: lambda kind: {
        "type": "string",
        **({} if kind.may_be_empty else {"minLength": 1}),
    },
    kinds.HttpAddress: lambda _: {"type": "string"},
    kinds.IpAddress: lambda _: {"type": "string"},
    kinds.Percentage: _percentage,
    kinds.Amount: lambda kind: {"type": "number", "minimum": 0, "maximum": kind.highest},
    kinds.Count: lambda kind: {
        "type": "integer",
        "minimum": kind.lowest,
        "maximum": kind.highest,
    },
    kinds.CountOrShare: lambda _: {
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _SHARE}]
    },
    kinds.Duration: lambda _: {"type": "string", "pattern": _DURATION},
    kinds.WholeSeconds: lambda _: {"type": "string", "pattern": _DURATION},
    kinds.LabelSelector: lambda _: {"type": "string"},
    kinds.LabelKey: lambda _: {"type": "string"},
    kinds.Optional: lambda kind: {"anyOf": [_KINDS[type(kind.kind)](kind.kind), {"type": "null"}]},
    name_lists.Namespaces: lambda _: _strings(),
    name_lists.Choices: lambda kind: _strings(enum=list(kind.known)),
    name_lists.Choice: lambda kind: {"enum": list(kind.known)},
    strategies.Prices: lambda _: {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["nodeSelector", "price"],
            "additionalProperties": False,
            "properties": {
                "nodeSelector": {"type": "string"},
                "price": {"type": "number", "minimum": 0},
            },
        },
    },
    windows.Windows: lambda _: {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "days": _strings(enum=list(DAYS)),
                "hours": {"type": "string", "pattern": "^[0-9]{1,2}:[0-9]{2}-[0-9]{1,2}:[0-9]{2}$"},
                "zone": {"type": "string", "minLength": 1},
            },
        },
    },
}
"""A kind that is not in the table is an error: whoever adds one says here what it accepts."""
