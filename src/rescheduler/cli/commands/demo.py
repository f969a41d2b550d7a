"""`rescheduler demo`: the product at work on a cluster in this process, for people to watch."""

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli.demo_log import Log, log_file
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.stopping import Stopping
from rescheduler.cli.web_flags import PortFlag, WebFlag, check_web, look_of
from rescheduler.cli.wrong_flags import Problems

if TYPE_CHECKING:
    from rescheduler.simulation.demo import Ending

EXAMPLES: Final = """Examples:
  # Half a minute: an uneven cluster is evened out, and two nodes are emptied
  rescheduler demo

  # Go on with load that changes over the day, until Ctrl-C
  rescheduler demo --keep

  # In a browser, and on and on
  rescheduler demo --web --keep

  # Another cluster, twice as fast, and what the product logs
  rescheduler demo --seed 7 --speed 2 --log demo.log"""

VERBOSITY: Final = "Verbosity of what --log writes. 2: what happens; 4: also why nothing does."

_OK, _FAILED, _INTERRUPTED = 0, 1, 130


NODES: Final = 30
_MOST_NODES: Final = 200
_MOST_SPEED: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFlags:
    nodes: int
    seed: int
    speed: float | None
    """None: for people on a terminal, and else as fast as possible."""
    keep: bool
    web: bool = False
    port: int | None = None

    @property
    def again(self) -> str:
        """The command that shows the same cluster once more."""
        nodes = f" --nodes {self.nodes}" if self.nodes != NODES else ""
        return f"rescheduler demo{nodes} --seed {self.seed}"

    def check(self) -> None:
        """Raises WrongFlags."""
        # Not before somebody wants it: it takes a while to load.
        from rescheduler.simulation.demo_cluster import FEWEST_NODES

        problems = Problems()
        if not FEWEST_NODES <= self.nodes <= _MOST_NODES:
            problems.refuse("--nodes", f"{self.nodes} is not from {FEWEST_NODES} to {_MOST_NODES}")
        problems.refuse_below_zero("--seed", self.seed, "; any other number is another cluster")
        if self.speed is not None and not 0 <= self.speed <= _MOST_SPEED:
            problems.refuse(
                "--speed",
                f"{self.speed:g} is not from 0 to {_MOST_SPEED:g}; 2 is twice as fast, and 0 waits "
                "for nobody",
            )
        check_web(problems, web=self.web, port=self.port)
        problems.raise_if_any()


def demo(  # noqa: PLR0913 - the flags of a command
    *,
    nodes: Annotated[int, typer.Option(metavar="N", help="Nodes of the cluster.")] = NODES,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed, another cluster.")] = 0,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="2 is twice as fast, 0 as fast as possible, as when it is not on a terminal.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep running under changing load, until Ctrl-C.")
    ] = False,
    web: WebFlag = False,
    port: PortFlag = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the log of the rescheduler to this file."),
    ] = None,
) -> None:
    """Watch pods move without a dip, in a cluster inside this process.

    An uneven cluster comes up, a plan is made and carried out by the same code
    that runs on yours; a node goes into maintenance and empties, and somebody
    drains another with plain evictions, which our guard holds until each pod
    serves elsewhere. Nothing else is needed or touched: no Kubernetes, no
    network. Time in it is virtual.

    On a terminal it is drawn, elsewhere it is told line by line. With --web it is
    shown in a browser, too, by the dashboard that `run` has: its address is
    printed, and a token with which plans can be undone there.

    Exit status: 0 when all went well, 1 when a move failed or a workload was
    short of pods, 2 for wrong usage, 130 when interrupted. With --keep an
    interrupt is its end, and the status is as when it ends by itself.
    """
    flags = DemoFlags(nodes=nodes, seed=seed, speed=speed, keep=keep, web=web, port=port)
    flags.check()
    with log_file(log) as lines:
        raise typer.Exit(_demonstrate(flags, lines))


def _demonstrate(flags: DemoFlags, log: Log) -> int:
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import demo_summary
    from rescheduler.embedded import virtual_time

    begun = time.monotonic()
    try:
        ending = virtual_time.run(_play(flags))
    except asyncio.CancelledError:
        return _INTERRUPTED  # told twice to stop
    said = demo_summary.as_text(ending, time.monotonic() - begun, flags.again, page())
    say(said)
    if not ending.is_well:
        tell(["what the product warned of last (--log FILE keeps all that it logs):", *log.last])
        return _FAILED
    return _OK if ending.is_whole or flags.keep else _INTERRUPTED


async def _play(flags: DemoFlags) -> "Ending":
    from rescheduler.cli.render.demo_screen import Show
    from rescheduler.cli.render.demo_text import Teller
    from rescheduler.simulation.demo import Demo

    stopping = Stopping()
    stopping.hear_signals()
    # Who looks at a page finds its address where it was printed.
    is_drawn = _can_be_drawn_on() and not flags.web
    audience = Show(page()) if is_drawn else Teller(page())
    speed = flags.speed if flags.speed is not None else float(is_drawn or flags.web)
    look = look_of(web=flags.web, port=flags.port)
    demo = Demo(audience, nodes=flags.nodes, seed=flags.seed, speed=speed, web=look)
    async with AsyncExitStack() as stack:
        if isinstance(audience, Show):
            await stack.enter_async_context(audience.showing(demo.scene))
        return await demo.play(stopping.event, keep=flags.keep)


def _can_be_drawn_on() -> bool:
    """A terminal that can do more than print line after line."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    )
