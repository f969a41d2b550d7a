"""What all commands have in common: --v, and help in kubectl's manner, with examples to copy."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Annotated, Any, Final, TextIO

import typer
from typer.core import TyperCommand

from rescheduler import logs

NAME: Final = "rescheduler"
PLUGIN: Final = "kubectl-reschedule"
"""As kubectl looks for it: then it is called as `kubectl reschedule`."""

_asked: ContextVar[int | None] = ContextVar("verbosity that was asked for", default=None)

_USUAL: Final = 2
"""Verbosity of a log that nobody asked to be otherwise."""

_VERBOSITY: Final = "verbosity"
TELLS: Final = "Verbosity of the log, on standard error. 2: what happens; 4: also why nothing does."
TELLS_NOTHING: Final = "Taken as by every command; there is nothing to log here."


class Command(TyperCommand):
    """Every command is one of these."""

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - typer's own
        super().__init__(*given, **named)
        for each in self.params:
            _hide_type(each)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own
        for each in args:
            name, has_value, _ = each.partition("=")
            if has_value and (forms := self._forms_of_switch(name)):
                raise typer.BadParameter(f"{name} takes no value; write {' or '.join(forms)}")
        return super().parse_args(ctx, args)

    def _forms_of_switch(self, name: str) -> list[str]:
        """As it may be written; empty: it is none."""
        for each in self.params:
            forms = [*each.opts, *each.secondary_opts]
            if name in forms and getattr(each, "is_flag", False):
                return forms
        return []

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own
        """Without the braces that typer puts around what has to be given."""
        return [each.strip("{}") for each in super().collect_usage_pieces(ctx)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """As it is written, and with the name by which it was called."""
        if self.epilog:
            called = str(ctx.find_root().info_name or NAME)
            head, *lines = inspect.cleandoc(self.epilog).splitlines()
            examples = (f"  {_as_called(line, called)}".rstrip() for line in lines)
            formatter.write("\n".join(["", head, *examples, ""]))


def _hide_type(parameter: Any) -> None:  # noqa: ANN401 - typer's own
    """In the help: what a flag takes, its metavar says, or the values that it may have."""
    shown = parameter.display_type_rich

    def values(ctx: Any) -> str:  # noqa: ANN401 - typer's own
        told = str(shown(ctx=ctx))
        return told.strip("<>") if "|" in told else told

    is_argument = parameter.param_type_name == "argument"
    parameter.display_type_rich = (lambda ctx: "") if is_argument else values  # noqa: ARG005


def _as_called(line: str, called: str) -> str:
    is_call = line.startswith(f"{NAME} ")
    return called + line[len(NAME) :] if is_call else line.replace(f"| {NAME} ", f"| {called} ")


def set_up_logs(
    *,
    form: logs.Format = "text",
    quiet: bool = False,
    to: TextIO | None = None,
) -> None:
    """Quiet: the command tells in its own words what it meets; who asks for a log has one."""
    asked = _asked.get()
    logs.set_up(
        verbosity=_USUAL if asked is None else asked,
        form=form,
        quiet=quiet and asked is None,
        to=to,
    )


def verbosity() -> int | None:
    """As it was asked for; None: nobody asked for a log."""
    return _asked.get()


def is_logging() -> bool:
    """Because somebody asked for it."""
    return _asked.get() is not None


def add(
    app: typer.Typer,
    function: Callable[..., Any],
    examples: str,
    *,
    name: str | None = None,
    verbosity: str = TELLS,
) -> None:
    """`verbosity`: what the help says of --v."""
    command = _with_verbosity(_with_shared_flags(function), verbosity)
    # Whole: typer would cut it off in the list of commands.
    summary = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    named = name or function.__name__
    app.command(named, cls=Command, epilog=examples, short_help=summary)(command)


def _with_shared_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with the flags that stand in one dataclass instead of the parameter that takes it:
    what several commands are asked by is written once.
    """
    known = inspect.signature(function)
    shared: dict[str, Any] = {
        name: each.annotation
        for name, each in known.parameters.items()
        if dataclasses.is_dataclass(each.annotation)
    }
    spread: list[inspect.Parameter] = []
    for name, each in known.parameters.items():
        spread += _flags_of(shared[name]) if name in shared else [each]

    @functools.wraps(function)
    def command(**named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        for name, kind in shared.items():
            fields = dataclasses.fields(kind)
            named[name] = kind(**{each.name: named.pop(each.name) for each in fields})
        return function(**named)

    command.__signature__ = known.replace(parameters=spread)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in spread}
    return command


def _flags_of(kind: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 - any dataclass
    for each in dataclasses.fields(kind):
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=each.type,
        )


def _with_verbosity(function: Callable[..., Any], words: str) -> Callable[..., Any]:
    """The same with one flag more, the last of all, which is in force before anything is done."""
    flag = Annotated[int | None, typer.Option("--v", metavar="N", help=words)]

    @functools.wraps(function)
    def command(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        _asked.set(named.pop(_VERBOSITY, None))
        set_up_logs(quiet=True)
        return function(*given, **named)

    known = inspect.signature(function)
    more = inspect.Parameter(
        _VERBOSITY, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=flag
    )
    command.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), more]
    )
    command.__annotations__ = {**function.__annotations__, _VERBOSITY: flag}
    return command


def group(words: str) -> typer.Typer:
    """Of commands."""
    return typer.Typer(
        help=words, no_args_is_help=True, rich_markup_mode=None, add_completion=False
    )
