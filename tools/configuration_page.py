"""The settings as a page: names, defaults and bounds as the code has them, and its own words.

The words are those below a field, and below the class of a section (`rescheduler.config`).
"""

import ast
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

from rescheduler.config import VARIABLES, Configuration, strategies, windows
from rescheduler.documents import kinds, name_lists
from rescheduler.documents.durations import format_nanoseconds
from rescheduler.documents.settings import Setting, settings_of

BEGIN: Final = (
    "<!-- From here on written by `make generate`, from the docstrings of the code. -->\n"
)
_HEADER: Final = "| setting | is | default | |\n|---|---|---|---|\n"
_LONGEST_DEFAULT: Final = 60


def tables() -> str:
    """All that follows `BEGIN`."""
    return "\n".join([*_section(Configuration, ()), *_variables()])


def _variables() -> Iterator[str]:
    yield "## Environment variables\n"
    yield "| variable | setting |\n|---|---|\n" + "".join(
        f"| `{variable}` | `{path}` |\n" for variable, path in VARIABLES.items()
    )


def paths() -> Iterator[str]:
    """Of every setting, in order."""
    for above, settings in _sections(Configuration, ()):
        yield from (".".join((*above, each.name)) for each in settings if each.kind is not None)


def _sections(
    settings_type: type[Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[Setting]]]:
    settings = list(settings_of(settings_type))
    yield above, settings
    for each in settings:
        if each.kind is None:
            yield from _sections(type(each.default), (*above, each.name))


def _section(settings_type: type[Any], above: tuple[str, ...]) -> Iterator[str]:
    words = words_of_fields(settings_type)
    settings = list(settings_of(settings_type))
    yield f"## {'`' + '.'.join(above) + '`' if above else 'Top level'}\n"
    if about := words_of_class(settings_type):
        yield f"{about}\n"
    rows = [_row(each, words[each.field]) for each in settings if each.kind is not None]
    if rows:
        yield _HEADER + "".join(rows)
    long = [each for each in settings if each.kind is not None and _is_long(each)]
    if long:
        yield "```yaml\n" + "".join(f"{each.name}: {_default(each)}\n" for each in long) + "```\n"
    for each in settings:
        if each.kind is None:
            yield from _section(type(each.default), (*above, each.name))


def _row(setting: Setting, words: str) -> str:
    default = "below" if _is_long(setting) else f"`{_default(setting)}`"
    cells = (f"`{setting.name}`", _accepts(setting.kind), default.replace("`none`", "none"), words)
    return f"| {' | '.join(each.replace('|', '&#124;') for each in cells)} |\n"


def _default(setting: Setting) -> str:
    written = setting.kind.write(setting.default) if setting.kind is not None else None
    if isinstance(written, str) and written:
        return written
    return "none" if written is None else json.dumps(written, ensure_ascii=False)


def _is_long(setting: Setting) -> bool:
    return len(_default(setting)) > _LONGEST_DEFAULT


def _accepts(kind: Any) -> str:  # noqa: ANN401 - one of all kinds
    """A kind that is not in the table is an error: whoever adds one says here what it accepts."""
    return _ACCEPTED[type(kind)](kind)


def _bounded(what: str, lowest: int, highest: int) -> str:
    if highest != kinds.Count().highest:
        return f"{what}, {lowest} to {highest}"
    is_bounded = lowest > -(2**31)
    return f"{what}, {lowest} or more" if is_bounded else what


_ACCEPTED: Final[dict[type, Callable[[Any], str]]] = {
    kinds.Flag: lambda _: "true or false",
    kinds.Text: lambda _: "text",
    kinds.HttpAddress: lambda _: "address",
    kinds.IpAddress: lambda _: "IP address",
    kinds.Percentage: lambda kind: f"{'' if kind.zero_allowed else 'above '}0 to 100, {kind.unit}",
    kinds.Amount: lambda kind: f"number, 0 to {kind.highest:g}",
    kinds.Count: lambda kind: _bounded("whole number", kind.lowest, kind.highest),
    kinds.CountOrShare: lambda _: 'whole number, or share such as "25%"',
    kinds.Duration: lambda kind: (
        f"duration, {format_nanoseconds(kind.lowest)} to {format_nanoseconds(kind.highest)}"
    ),
    kinds.WholeSeconds: lambda kind: f"{_accepts(kind.duration)}, whole seconds",
    kinds.LabelSelector: lambda _: "label selector",
    kinds.LabelKey: lambda _: "name of a label",
    kinds.Optional: lambda kind: f"{_accepts(kind.kind)}, or null",
    name_lists.Namespaces: lambda _: "names of namespaces",
    name_lists.Choices: lambda kind: f"any of {', '.join(kind.known)}",
    name_lists.Choice: lambda kind: f"{', '.join(kind.known[:-1])} or {kind.known[-1]}",
    strategies.Prices: lambda _: "list of {nodeSelector, price}",
    windows.Windows: lambda _: "list of {days, hours, zone}",
}


# ---------------------------------------------------------------------- words


def words_of_class(settings_type: type[Any]) -> str:
    # dataclasses make a docstring of their own where there is none.
    words = settings_type.__doc__ or ""
    return "" if words.startswith(f"{settings_type.__name__}(") else _joined(words)


def words_of_fields(settings_type: type[Any]) -> dict[str, str]:
    """By the name of the field: the text below it."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(settings_type))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - it is one
    found = {}
    for above, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(above, ast.AnnAssign)
            and isinstance(above.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[above.target.id] = _joined(str(below.value.value))
    missing = [
        each.name
        for each in dataclasses.fields(settings_type)
        if each.name not in found and not dataclasses.is_dataclass(each.default)
    ]
    if missing:
        raise LookupError(f"{settings_type.__name__} has no text below {', '.join(missing)}")
    return found


def _joined(words: str) -> str:
    return " ".join(words.split())
