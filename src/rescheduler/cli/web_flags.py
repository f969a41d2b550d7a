"""The flags of what is shown in a browser, too."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli.output import say
from rescheduler.cli.wrong_flags import Problems

if TYPE_CHECKING:
    from rescheduler.simulation.contending import Shown
    from rescheduler.simulation.web import Look

_LAST_PORT: Final = 65535

WebFlag = Annotated[
    bool,
    typer.Option(
        "--web", help="Show it in a browser, too: a page on this machine, while it plays."
    ),
]
PortFlag = Annotated[
    int | None,
    typer.Option(
        "--port", metavar="N", help="Of that page. Default: 8080, or the next one that is free."
    ),
]


def check_web(problems: Problems, *, web: bool, port: int | None) -> None:
    if port is None:
        return
    if not web:
        problems.refuse("--port", "is the port of --web: give that, too")
    if not 1 <= port <= _LAST_PORT:
        problems.refuse("--port", f"{port} is not from 1 to {_LAST_PORT}")


def look_of(*, web: bool, port: int | None) -> "Look | None":
    """None: nobody looks."""
    if not web:
        return None
    from rescheduler.simulation.web import Look

    return Look(port=port, told=_tell)


def tell_of(contender: str, shown: "Shown") -> None:
    say(f"{contender}: ")
    _tell(shown.url, shown.token)


def _tell(url: str, token: str) -> None:
    say(f"Dashboard: {url}\nToken to approve, reject and undo plans there: {token}\n")
