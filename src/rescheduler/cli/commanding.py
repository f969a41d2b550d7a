"""What all commands have in common: --v, and help in kubectl's manner, with examples to copy."""

import functools
import inspect
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from rescheduler import logs

NAME: Final = "rescheduler"
PLUGIN: Final = "kubectl-reschedule"
"""As kubectl looks for it: then it is called as `kubectl reschedule`."""

_asked: ContextVar[int | None] = ContextVar("verbosity that was asked for", default=None)

_TYPE: Final = re.compile(r" <[a-z]+>")
_NAME: Final = re.compile(r"\{([A-Z/]+)\}")
"""An argument that has to be given, as typer writes it in the line of usage."""

_VERBOSITY: Final = "verbosity"
_Verbosity = Annotated[
    int | None,
    typer.Option(
        "--v",
        metavar="N",
        help="Verbosity of the log, on standard error. 2: what happens; 4: also why nothing does.",
    ),
]


class Command(TyperCommand):
    """Every command is one of these."""

    def get_help(self, ctx: Any) -> str:  # noqa: ANN401 - typer's own
        """Without types: what a flag takes, its metavar says."""
        return _TYPE.sub("", _NAME.sub(r"\1", super().get_help(ctx)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """As it is written, and with the name by which it was called."""
        if self.epilog:
            called = str(ctx.find_root().info_name or NAME)
            head, *lines = inspect.cleandoc(self.epilog).splitlines()
            examples = (f"  {_as_called(line, called)}".rstrip() for line in lines)
            formatter.write("\n".join(["", head, *examples, ""]))


def _as_called(line: str, called: str) -> str:
    is_call = line.startswith(f"{NAME} ")
    return called + line[len(NAME) :] if is_call else line.replace(f"| {NAME} ", f"| {called} ")


def set_up_logs(*, form: logs.Format = "text", quiet: bool = False, verbosity: int = 2) -> None:
    """Quiet: the command tells in its own words what it meets; who asks for a log has one."""
    asked = _asked.get()
    logs.set_up(
        verbosity=verbosity if asked is None else asked,
        form=form,
        quiet=quiet and asked is None,
    )


def is_logging() -> bool:
    """Because somebody asked for it."""
    return _asked.get() is not None


def add(
    app: typer.Typer, function: Callable[..., Any], examples: str, *, name: str | None = None
) -> None:
    app.command(name or function.__name__, cls=Command, epilog=examples)(_with_verbosity(function))


def _with_verbosity(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with one flag more, the last of all."""

    @functools.wraps(function)
    def command(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        _asked.set(named.pop(_VERBOSITY, None))
        return function(*given, **named)

    known = inspect.signature(function)
    more = inspect.Parameter(
        _VERBOSITY, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Verbosity
    )
    command.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), more]
    )
    command.__annotations__ = {**function.__annotations__, _VERBOSITY: _Verbosity}
    return command


def group(words: str) -> typer.Typer:
    """Of commands."""
    return typer.Typer(
        help=words, no_args_is_help=True, rich_markup_mode=None, add_completion=False
    )
