"""The commands, and how each of them ends."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from rescheduler import __version__, config
from rescheduler.cli import (
    cleaning,
    demonstrating,
    draining,
    explaining,
    output,
    planning,
    retrying,
    running,
    simulating,
    snapshots,
)
from rescheduler.cli.asking import WrongFlags
from rescheduler.cli.output import say, tell
from rescheduler.errors import ReschedulerError

app = typer.Typer(
    help="Moves pods to where they belong, ready on the target before the old one goes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command(epilog=demonstrating.EXAMPLES)(demonstrating.demo)
app.command(epilog="Example: rescheduler plan -f cluster.json.gz --max-moves 5 -o json")(
    planning.plan
)
app.command(epilog=simulating.EXAMPLES)(simulating.simulate)
app.command(epilog=running.EXAMPLES)(running.run)
app.command(epilog=draining.EXAMPLES)(draining.drain)
app.command(epilog=retrying.EXAMPLES)(retrying.retry)
app.command(epilog=cleaning.EXAMPLES)(cleaning.cleanup)
app.add_typer(explaining.app, name="explain")
app.add_typer(snapshots.app, name="snapshot")

_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130


def main() -> None:
    # As Ctrl-C, which asyncio turns into an orderly end: it says what it leaves to the next run.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    output.begin()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ReschedulerError as problem:
        sys.exit(failed(problem))
    finally:
        output.end()


def failed(problem: ReschedulerError) -> int:
    """Tells of it. The exit status."""
    # One line per problem, and no trace: these are for the reader to mend.
    tell(f"error: {problem}".split("\n"))
    return _WRONG_USAGE if isinstance(problem, WrongFlags) else _FAILED


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
