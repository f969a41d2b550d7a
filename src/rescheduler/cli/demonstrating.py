"""`rescheduler demo`: the product at work on a cluster in this process, for people to watch."""

import asyncio
import io
import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer

from rescheduler import logs
from rescheduler.cli.asking import WrongFlags
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.running import Stopping
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.simulation.demo import Ending

EXAMPLES: Final = """Examples:

  # Half a minute: an uneven cluster is evened out, and a node is emptied

  rescheduler demo

  # Go on with load that changes over the day, until Ctrl-C

  rescheduler demo --keep

  # Another cluster, twice as fast, and what the product logs

  rescheduler demo --seed 7 --speed 2 --log demo.log"""

_OK, _FAILED, _INTERRUPTED = 0, 1, 130
_NODES: Final = 30
_MOST_NODES: Final = 200
_MOST_SPEED: Final = 1000.0
_LAST_LINES: Final = 10
_PROBLEM: Final = re.compile(r"\[(warning|error|critical) *\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    nodes: int
    seed: int
    speed: float | None
    """None: for people on a terminal, and else as fast as possible."""
    keep: bool

    @property
    def again(self) -> str:
        """The command that shows the same cluster once more."""
        nodes = f" --nodes {self.nodes}" if self.nodes != _NODES else ""
        return f"rescheduler demo{nodes} --seed {self.seed}"

    def check(self) -> None:
        """Raises WrongFlags."""
        # Not before somebody wants it: it takes a while to load.
        from rescheduler.simulation.demo_cluster import FEWEST_NODES

        wrong = []
        if not FEWEST_NODES <= self.nodes <= _MOST_NODES:
            wrong.append(f"--nodes: {self.nodes} is not from {FEWEST_NODES} to {_MOST_NODES}")
        if self.seed < 0:
            wrong.append(f"--seed: {self.seed} is below 0; any other number is another cluster")
        if self.speed is not None and not 0 <= self.speed <= _MOST_SPEED:
            wrong.append(
                f"--speed: {self.speed:g} is not from 0 to {_MOST_SPEED:g}; 2 is twice as fast, "
                "and 0 waits for nobody"
            )
        if wrong:
            raise WrongFlags("\n".join(wrong))


def demo(
    *,
    nodes: Annotated[int, typer.Option(metavar="N", help="In the cluster.")] = _NODES,
    seed: Annotated[int, typer.Option(metavar="N", help="Another one is another cluster.")] = 0,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="2 is twice as fast, 0 as fast as possible, as when it is not on a terminal.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Go on, with load that changes, until Ctrl-C.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there what the product logs.")
    ] = None,
) -> None:
    """Watch pods move without a dip, in a cluster inside this process.

    An uneven cluster comes up, a plan is made and carried out by the same code
    that runs on yours, and a node goes into maintenance and empties. Nothing
    else is needed or touched: no Kubernetes, no network. Time in it is virtual.

    On a terminal it is drawn, elsewhere it is told line by line.

    Exit status: 0 when all went well, 1 when a move failed or a workload was
    short of pods, 2 for wrong usage, 130 when interrupted. With --keep an
    interrupt is its end, and the status is as when it ends by itself.
    """
    asked = _Asked(nodes=nodes, seed=seed, speed=speed, keep=keep)
    asked.check()
    with _log_file(log) as lines:
        raise typer.Exit(_demonstrate(asked, lines))


# ---------------------------------------------------------------------- from start to summary


def _demonstrate(asked: _Asked, log: "_Log") -> int:
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli import demo_summary
    from rescheduler.embedded import virtual_time

    begun = time.monotonic()
    try:
        ending = virtual_time.run(_play(asked))
    except asyncio.CancelledError:
        return _INTERRUPTED  # told twice to stop
    said = demo_summary.as_text(ending, time.monotonic() - begun, asked.again, page())
    say(said)
    if not ending.is_well:
        tell(["what the product warned of last (--log FILE keeps all that it logs):", *log.last])
        return _FAILED
    return _OK if ending.is_whole or asked.keep else _INTERRUPTED


async def _play(asked: _Asked) -> "Ending":
    from rescheduler.cli.demo_showing import Show
    from rescheduler.cli.demo_telling import Teller
    from rescheduler.simulation.demo import Demo

    stopping = Stopping()
    stopping.hear_signals()
    is_drawn = _can_be_drawn_on()
    audience = Show(page()) if is_drawn else Teller(page())
    speed = asked.speed if asked.speed is not None else float(is_drawn)
    demo = Demo(audience, nodes=asked.nodes, seed=asked.seed, speed=speed)
    async with AsyncExitStack() as stack:
        if isinstance(audience, Show):
            await stack.enter_async_context(audience.showing(demo.scene))
        return await demo.play(stopping.event, keep=asked.keep)


def _can_be_drawn_on() -> bool:
    """A terminal that can do more than print line after line."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    )


# ---------------------------------------------------------------------- what the product logs


class _Log(io.StringIO):
    """Keeps the last problems, to be told when something went wrong, and hands on everything."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__()
        self.last: deque[str] = deque(maxlen=_LAST_LINES)
        self.failure: OSError | None = None
        """Of the file: whoever logs has other things to do, and goes on."""
        self._file = file

    def write(self, text: str) -> int:
        self.last.extend(line for line in text.splitlines() if _PROBLEM.search(line))
        if self._file is not None and self.failure is None:
            try:
                self._file.write(text)
            except OSError as problem:
                self.failure = problem
        return len(text)

    def end(self) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as problem:
                self.failure = self.failure or problem


@contextmanager
def _log_file(path: Path | None) -> Iterator[_Log]:
    """Nothing of it must come between the frames."""
    try:
        file = path.open("w", encoding="utf-8") if path is not None else None
    except OSError as problem:
        raise _unwritable(path, problem) from None
    lines = _Log(file)
    logs.set_up(to=lines)
    try:
        yield lines
    finally:
        lines.end()
        if lines.failure is not None:
            raise _unwritable(path, lines.failure) from None


def _unwritable(path: Path | None, problem: OSError) -> ReschedulerError:
    return ReschedulerError(f"--log: {path} cannot be written: {problem.strerror or problem}")
