"""`rescheduler run`: the controller, and one pass of it."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import structlog
import typer

from rescheduler import __version__, config, logs
from rescheduler.cli.housekeeping import keeping_house
from rescheduler.cli.options import Context, Kubeconfig
from rescheduler.cli.output import tell
from rescheduler.clock import Clock, SystemClock
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.acting import Connect
    from rescheduler.cycle import Report

EXAMPLES: Final = """Examples:

  # Keep a cluster in order, until it is told to stop

  rescheduler run --config rescheduler.yaml

  # Only log what would be moved, and change nothing

  rescheduler run --config rescheduler.yaml --dry-run

  # One pass, then exit

  rescheduler run --config rescheduler.yaml --once"""

_OK, _FAILED, _INTERRUPTED = 0, 1, 130


def run(  # noqa: PLR0913 - the flags of a command
    config_file: Annotated[
        Path,
        typer.Option(
            "--config",
            metavar="FILE",
            help="ReschedulerConfiguration or KubeSchedulerConfiguration.",
        ),
    ],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="One pass, wait until its moves have ended, then exit.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only log what would be moved; change nothing.")
    ] = False,
    kubeconfig: Kubeconfig = "",
    context: Context = None,
    verbosity: Annotated[
        int, typer.Option("--v", metavar="N", help="2: what happens; 4: also why pods stay.")
    ] = 2,
    log_format: Annotated[logs.Format, typer.Option(help="For people, or for machines.")] = "text",
) -> None:
    """Observe the cluster, plan, and move what is badly placed, over and over.

    A pass follows another at reschedulingInterval, and early when a node is
    labelled for maintenance or becomes hot. Of several, the one that holds the
    lease acts, and the others stand by.

    Exit status: 0 when it was told to stop (SIGTERM) and did; 1 when the lease
    was lost, the configuration is wrong or the cluster cannot be reached; 2 for
    wrong usage; 130 when interrupted, or told to stop twice, which ends it at once.
    With --once: 0 when the pass did what there was to do, 1 when a move could not
    be done (and was taken back). Moves that are nearly done when it is interrupted
    have 20 s to end; a second time ends it at once.
    """
    logs.set_up(verbosity=verbosity, form=log_format)
    configuration = config.load(config_file)
    connect = connecting(kubeconfig or configuration.client_connection.kubeconfig, context)
    structlog.get_logger().info(
        "starts", version=__version__, configuration=config.to_document(configuration)
    )
    clock = SystemClock()
    if once:
        ending = one_pass(configuration, connect, clock, dry_run=dry_run)
    else:
        ending = _until_a_signal_comes(configuration, connect, clock, dry_run=dry_run)
    raise typer.Exit(asyncio.run(ending))


def connecting(kubeconfig: str, context: str | None) -> "Connect":
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    return lambda: kube.connect(kubeconfig, context)


# ---------------------------------------------------------------------- one pass


async def one_pass(
    configuration: config.Configuration, connect: "Connect", clock: Clock, *, dry_run: bool = False
) -> int:
    """The exit status."""
    try:
        report = await _report(configuration, connect, clock, dry_run=dry_run)
    except asyncio.CancelledError:
        tell(
            ["interrupted; the next run ends what is left unfinished, as does rescheduler cleanup"]
        )
        return _INTERRUPTED
    structlog.get_logger().info(
        "pass ended", moved=report.moved, failed=report.failed, summary=report.summary
    )
    return _FAILED if report.failed else _OK


async def _report(
    configuration: config.Configuration, connect: "Connect", clock: Clock, *, dry_run: bool
) -> "Report":
    from rescheduler import acting, cycle

    if dry_run:
        async with connect() as kube:
            return await cycle.dry_run_once(kube, clock, configuration)
    try:
        async with acting.acting(connect, clock, configuration.leader_election) as right:
            term, may_write = right.leadership.term, right.leadership.may_write
            return await right.use(
                cycle.run_once(right.kube, clock, configuration, term, may_write)
            )
    except acting.AnotherLeads as problem:
        raise ReschedulerError(
            f"{problem}: it makes the passes; for one beside it that changes nothing, add --dry-run"
        ) from None


# ---------------------------------------------------------------------- continuously


class Stopping:
    """How the controller is told to stop: the first time it comes to an orderly end, and the second
    time to an immediate one. Made in the task that it is about.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.received: list[int] = []
        self._task = asyncio.current_task()

    def tell(self, number: int) -> None:
        self.received.append(number)
        structlog.get_logger().info("told to stop", signal=signal.Signals(number).name)
        self.event.set()
        if len(self.received) > 1 and self._task is not None:
            self._task.cancel()

    def hear_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.tell, number)


async def _until_a_signal_comes(
    configuration: config.Configuration, connect: "Connect", clock: Clock, *, dry_run: bool
) -> int:
    stopping = Stopping()
    stopping.hear_signals()
    with keeping_house() as tidy:
        return await continuously(
            configuration, connect, clock, stopping, dry_run=dry_run, tidy=tidy
        )


async def continuously(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    stopping: Stopping,
    *,
    dry_run: bool = False,
    tidy: Callable[[], None] = lambda: None,
) -> int:
    """The exit status."""
    from rescheduler import loop

    going = loop.dry_run if dry_run else loop.run
    try:
        await going(connect, clock, configuration, stopping.event, tidy=tidy)
    except asyncio.CancelledError:
        if len(stopping.received) <= 1:
            raise
        structlog.get_logger().warning("ends at once: the next one goes on with what is unfinished")
        return _INTERRUPTED
    return _INTERRUPTED if stopping.received[:1] == [signal.SIGINT] else _OK
