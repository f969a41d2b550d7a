"""`rescheduler run`: the controller, and one pass of it."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import structlog
import typer

from rescheduler import __version__, config, logs
from rescheduler.cli import settings
from rescheduler.cli.clusters import connecting, connecting_as
from rescheduler.cli.commanding import set_up_logs
from rescheduler.cli.housekeeping import keeping_house
from rescheduler.cli.options import Config, Context, Kubeconfig
from rescheduler.cli.output import tell
from rescheduler.cli.stopping import Stopping
from rescheduler.clock import Clock, SystemClock
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.controller.dashboard import ConnectAs
    from rescheduler.controller.leader_session import Connect
    from rescheduler.controller.once import Report
    from rescheduler.controller.settings import Settings
    from rescheduler.serve import Board

EXAMPLES: Final = """Examples:
  # Keep a cluster in order, until it is told to stop
  rescheduler run --config rescheduler.yaml

  # Only log what would be moved, and change nothing
  rescheduler run --config rescheduler.yaml --dry-run

  # One pass, then exit
  rescheduler run --config rescheduler.yaml --once"""

_OK, _FAILED, _INTERRUPTED = 0, 1, 130


def run(
    config_file: Config = None,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Make one pass, wait for its moves to end, then exit.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only log what would be moved; change nothing.")
    ] = False,
    kubeconfig: Kubeconfig = "",
    context: Context = None,
    log_format: Annotated[logs.Format, typer.Option(help="Log format.")] = "text",
) -> None:
    """Observe the cluster, plan, and move what is badly placed, over and over.

    A pass follows another at reschedulingInterval, and early when a node is
    labelled for maintenance or becomes hot. Of several, the one that holds the
    lease acts, and the others stand by. Each answers /healthz, /readyz and
    /metrics on serving.port (8081). A changed configuration file is taken up within
    seconds; a wrong one is refused whole, and the last good one stays. Each plan is
    written down as a ReschedulePlan; by mode it is carried out at once (Auto), when
    somebody approves it (Approve), or not at all (DryRun). With --dry-run not even
    plans are written.

    Exit status: 0 when it was told to stop (SIGTERM) and did; 1 when the lease
    was lost, the configuration is wrong or the cluster cannot be reached; 2 for
    wrong usage; 130 when interrupted, or told to stop a second time, a second later
    or more, which ends it at once. With --once: 0 when the pass did what there was
    to do, 1 when a move could not be done (and was taken back). Moves that are nearly
    done when it is interrupted have 20 s to end.
    """
    set_up_logs(form=log_format)
    # Slow to import, and not needed to print a usage message.
    from rescheduler.controller.publishing import new_board

    flags = settings.kubeconfig_flag(kubeconfig)
    loaded = settings.read(config_file, flags)
    board = new_board()
    where = loaded.configuration.client_connection.kubeconfig
    connect = connecting(where, context, board.heard)
    tell_start(loaded)
    settings.log_sources(loaded, config_file)
    clock = SystemClock()
    if once:
        ending = one_pass(loaded.configuration, connect, clock, dry_run=dry_run)
    else:
        keeping_up = settings.kept_up(loaded, config_file, clock, flags)
        ending = _until_a_signal_comes(
            keeping_up,
            connect,
            clock,
            board,
            dry_run=dry_run,
            connect_as=connecting_as(where, context),
        )
    raise typer.Exit(asyncio.run(ending))


def tell_start(loaded: config.Loaded) -> None:
    """Without the defaults, which would be a page of log: `config show` prints all."""
    structlog.get_logger().info(
        "rescheduler starts",
        version=__version__,
        configuration=config.settings_beside_defaults(loaded.configuration) or "the defaults",
    )


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
    from rescheduler.controller import leader_session, once

    if dry_run or configuration.mode == config.DRY_RUN:
        async with connect() as kube:
            return await once.dry_run(kube, clock, configuration, proposes=not dry_run)
    await leader_session.insist_on_an_answer(connect, configuration.leader_election)
    try:
        async with leader_session.leader_session(
            connect, clock, configuration.leader_election
        ) as session:
            return await session.run(once.run(session, clock, configuration))
    except leader_session.AnotherLeads as problem:
        raise ReschedulerError(
            f"{problem}: it makes the passes; for one beside it that changes nothing, add --dry-run"
        ) from None


# ---------------------------------------------------------------------- continuously


async def _until_a_signal_comes(
    keeping_up: "AbstractAsyncContextManager[Settings]",
    connect: "Connect",
    clock: Clock,
    board: "Board",
    *,
    dry_run: bool,
    connect_as: "ConnectAs",
) -> int:
    stopping = Stopping()
    stopping.hear_signals()
    with keeping_house() as tidy:
        return await continuously(
            keeping_up,
            connect,
            clock,
            stopping,
            dry_run=dry_run,
            tidy=tidy,
            board=board,
            connect_as=connect_as,
        )


async def continuously(  # noqa: PLR0913 - the last three are for few
    keeping_up: "AbstractAsyncContextManager[Settings]",
    connect: "Connect",
    clock: Clock,
    stopping: Stopping,
    *,
    dry_run: bool = False,
    tidy: Callable[[], None] = lambda: None,
    board: "Board | None" = None,
    connect_as: "ConnectAs | None" = None,
) -> int:
    """The exit status."""
    from rescheduler.controller import loop
    from rescheduler.controller.publishing import publishing

    try:
        async with keeping_up as in_force:
            only_looks = dry_run or in_force.configuration.mode == config.DRY_RUN
            going = partial(loop.dry_run, proposes=not dry_run) if only_looks else loop.run
            async with publishing(
                clock,
                in_force,
                stopping.event,
                board,
                connect,
                writes=not only_looks,
                connect_as=connect_as,
            ) as publisher:
                await going(
                    connect,
                    clock,
                    in_force,
                    stopping.event,
                    tidy=tidy,
                    ourselves=settings.our_pod(),
                    publisher=publisher,
                )
    except asyncio.CancelledError:
        if len(stopping.received) <= 1:
            raise
        structlog.get_logger().warning(
            "stopping at once: the next run finishes or undoes what is left"
        )
        return _INTERRUPTED
    return _INTERRUPTED if stopping.received[:1] == [signal.SIGINT] else _OK
