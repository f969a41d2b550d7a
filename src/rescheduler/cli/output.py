"""What commands print: to standard output what was asked for, beside it what else is to be told."""

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress

import typer

from rescheduler.cli.render.layout import Page, printable
from rescheduler.errors import ReschedulerError


class Unwritable(ReschedulerError):
    """Nobody can read what was asked for."""


def say(text: str) -> None:
    """To standard output, as it is. Raises Unwritable."""
    if sys.stdout is None:
        raise Unwritable("standard output is closed")
    try:
        typer.echo(_encodable(text), nl=False)
    except BrokenPipeError:
        raise  # the reader has seen enough
    except OSError as problem:
        raise Unwritable(
            f"standard output cannot be written: {problem.strerror or problem}"
        ) from None


def say_line(line: str) -> None:
    say(printable(line) + "\n")


def _encodable(text: str) -> str:
    """Characters that the reader's terminal does not have are told in others."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def tell(lines: Iterable[str]) -> None:
    """Beside standard output, a line each; to nobody, when nobody listens."""
    with suppress(OSError):
        for line in lines:
            typer.echo(printable(line), err=True)


def page() -> Page:
    """What standard output can show."""
    if sys.stdout is None:
        return Page()
    # The width is of a terminal only: for a file or another program, names stay whole.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return Page(width=width, plain=not (sys.stdout.encoding or "").lower().startswith("utf"))


def begin() -> None:
    """When standard error is closed, Python has none at all, and everybody would have to know."""
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def end() -> None:
    """Python writes at the end what could not be written before, and that fails in other words."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
