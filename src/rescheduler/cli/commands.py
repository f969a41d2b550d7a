"""The commands, and how each of them ends."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import structlog
import typer

from rescheduler import __version__, config, logs
from rescheduler.cli import explaining, output, planning, snapshots
from rescheduler.cli.asking import WrongFlags
from rescheduler.cli.options import Context, Kubeconfig
from rescheduler.cli.output import say, tell
from rescheduler.errors import ReschedulerError

app = typer.Typer(
    help="Moves pods to where they belong, ready on the target before the old one goes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command(epilog="Example: rescheduler plan -f cluster.json.gz --max-moves 5 -o json")(
    planning.plan
)
app.add_typer(explaining.app, name="explain")
app.add_typer(snapshots.app, name="snapshot")

_OK, _FAILED, _WRONG_USAGE, _INTERRUPTED = 0, 1, 2, 130


def main() -> None:
    # As Ctrl-C, which asyncio turns into an orderly end: it says what it leaves to the next run.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    output.begin()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ReschedulerError as problem:
        # One line per problem, and no trace: these are for the reader to mend.
        tell(f"error: {problem}".split("\n"))
        sys.exit(_WRONG_USAGE if isinstance(problem, WrongFlags) else _FAILED)
    finally:
        output.end()


@app.command()
def run(
    config_file: Annotated[
        Path,
        typer.Option(
            "--config",
            metavar="FILE",
            help="ReschedulerConfiguration or KubeSchedulerConfiguration.",
        ),
    ],
    *,
    once: Annotated[bool, typer.Option("--once", help="One pass, then exit.")] = False,
    kubeconfig: Kubeconfig = "",
    context: Context = None,
    verbosity: Annotated[
        int, typer.Option("--v", metavar="N", help="2: what happens; 4: also why pods stay.")
    ] = 2,
    log_format: Annotated[logs.Format, typer.Option(help="For people, or for machines.")] = "text",
) -> None:
    """Observe the cluster, plan, and move what is badly placed.

    Exit status: 0 when the pass did what there was to do, 1 when a move could not be done (and was
    taken back), the configuration is wrong or the cluster cannot be reached, 2 for wrong usage.
    """
    if not once:
        raise typer.BadParameter("the continuous loop is not there yet; add --once for one pass")
    logs.set_up(verbosity=verbosity, form=log_format)
    configuration = config.load(config_file)
    kubeconfig = kubeconfig or configuration.client_connection.kubeconfig
    try:
        raise typer.Exit(asyncio.run(_one_pass(configuration, kubeconfig, context)))
    except KeyboardInterrupt:
        tell(["interrupted; the next run ends what this one left unfinished"])
        raise typer.Exit(_INTERRUPTED) from None


async def _one_pass(
    configuration: config.Configuration, kubeconfig: str, context: str | None
) -> int:
    # Slow to import, and not needed to print a usage message.
    from rescheduler import cycle, kube
    from rescheduler.clock import SystemClock

    log = structlog.get_logger()
    log.info("starts", version=__version__, configuration=config.to_document(configuration))
    async with kube.connect(kubeconfig, context) as api:
        report = await cycle.run_once(api, SystemClock(), configuration)
    log.info("pass ended", moved=report.moved, failed=report.failed, summary=report.summary)
    return _FAILED if report.failed else _OK


@app.command()
def validate(
    config_file: Annotated[Path, typer.Option("--config", metavar="FILE")],
) -> None:
    """Check a configuration file, and print what is in force with it."""
    import yaml

    effective = config.to_document(config.load(config_file))
    say(yaml.safe_dump(effective, sort_keys=False))


@app.command()
def version() -> None:
    """Print the version."""
    say(f"rescheduler {__version__}\n")
