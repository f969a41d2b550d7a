"""`rescheduler run`: the controller, and one pass of it."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import structlog
import typer

from rescheduler import __version__, config, logs
from rescheduler.cli.options import Context, Kubeconfig
from rescheduler.cli.output import tell
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
    if not once:
        raise typer.Exit(asyncio.run(_continuously(configuration, connect, dry_run=dry_run)))
    try:
        raise typer.Exit(asyncio.run(_one_pass(configuration, connect, dry_run=dry_run)))
    except KeyboardInterrupt:
        tell(
            ["interrupted; the next run ends what is left unfinished, as does rescheduler cleanup"]
        )
        raise typer.Exit(_INTERRUPTED) from None


def connecting(kubeconfig: str, context: str | None) -> "Connect":
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    return lambda: kube.connect(kubeconfig, context)


# ---------------------------------------------------------------------- one pass


async def _one_pass(
    configuration: config.Configuration, connect: "Connect", *, dry_run: bool
) -> int:
    report = await _report(configuration, connect, dry_run=dry_run)
    structlog.get_logger().info(
        "pass ended", moved=report.moved, failed=report.failed, summary=report.summary
    )
    return _FAILED if report.failed else _OK


async def _report(
    configuration: config.Configuration, connect: "Connect", *, dry_run: bool
) -> "Report":
    from rescheduler import acting, cycle
    from rescheduler.clock import SystemClock

    clock, election = SystemClock(), configuration.leader_election
    if dry_run:
        async with connect() as kube:
            return await cycle.dry_run_once(kube, clock, configuration)
    try:
        async with acting.acting(connect, clock, election) as right:
            term, may_write = right.leadership.term, right.leadership.may_write
            return await right.use(
                cycle.run_once(right.kube, clock, configuration, term, may_write)
            )
    except acting.AnotherLeads as problem:
        raise ReschedulerError(
            f"{problem}: it makes the passes; for one beside it that changes nothing, add --dry-run"
        ) from None


# ---------------------------------------------------------------------- continuously


async def _continuously(
    configuration: config.Configuration, connect: "Connect", *, dry_run: bool
) -> int:
    from rescheduler import loop
    from rescheduler.clock import SystemClock

    stop = asyncio.Event()
    received = told_to_stop(stop)
    going = loop.dry_run if dry_run else loop.run
    try:
        await going(connect, SystemClock(), configuration, stop)
    except asyncio.CancelledError:
        if len(received) <= 1:
            raise
        structlog.get_logger().warning("ends at once: the next one goes on with what is unfinished")
        return _INTERRUPTED
    return _INTERRUPTED if received and received[0] == signal.SIGINT else _OK


def told_to_stop(stop: asyncio.Event) -> list[int]:
    """From now on a signal lets us come to an orderly end, and a second one to an immediate one.
    Gives the signals that came.
    """
    received: list[int] = []
    running, main = asyncio.get_running_loop(), asyncio.current_task()

    def hear(number: int) -> Callable[[], Any]:
        def heard() -> None:
            received.append(number)
            structlog.get_logger().info("told to stop", signal=signal.Signals(number).name)
            stop.set()
            if len(received) > 1 and main is not None:
                main.cancel()

        return heard

    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, hear(number))
    return received
