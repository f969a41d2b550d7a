"""The commands, and how each of them ends."""

import os
import sys
from pathlib import PurePath

import typer

from rescheduler.cli import output
from rescheduler.cli.commanding import NAME, PLUGIN, TELLS_NOTHING, add
from rescheduler.cli.commands import (
    apply,
    approve,
    cleanup,
    completion,
    config,
    demo,
    drain,
    explain,
    get,
    get_plans,
    history,
    install,
    migrate,
    pause,
    plan,
    retry,
    run,
    simulate,
    snapshot,
    status,
    validate,
    version,
)
from rescheduler.cli.output import tell
from rescheduler.cli.stopping import hear_terminations
from rescheduler.cli.wrong_flags import WrongFlags
from rescheduler.clock import SystemClock
from rescheduler.errors import ReschedulerError

app = typer.Typer(
    help="Moves pods to where they belong, ready on the target before the old one goes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all below it, too
)

add(app, demo.demo, demo.EXAMPLES, verbosity=demo.VERBOSITY)
add(app, plan.plan, plan.EXAMPLES)
add(app, simulate.simulate, simulate.EXAMPLES)
add(app, run.run, run.EXAMPLES)
add(app, status.status, status.EXAMPLES)
add(app, pause.pause, pause.EXAMPLES)
add(app, pause.resume, pause.EXAMPLES_OF_RESUME)
add(app, migrate.migrate, migrate.EXAMPLES)
add(app, drain.drain, drain.EXAMPLES)
add(app, approve.approve, approve.EXAMPLES)
add(app, approve.reject, approve.EXAMPLES_OF_REJECT)
add(app, apply.apply, apply.EXAMPLES)
add(app, apply.undo, apply.EXAMPLES_OF_UNDO)
add(app, history.history, history.EXAMPLES)
add(app, retry.retry, retry.EXAMPLES)
add(app, cleanup.cleanup, cleanup.EXAMPLES)
add(app, install.install, install.EXAMPLES, verbosity=TELLS_NOTHING)
add(app, validate.validate, validate.EXAMPLES)
add(app, completion.completion, completion.EXAMPLES, verbosity=TELLS_NOTHING)
add(app, version.version, version.EXAMPLES, verbosity=TELLS_NOTHING)
app.add_typer(config.app, name="config")
add(get.app, get_plans.plans, get_plans.EXAMPLES)
app.add_typer(get.app, name="get")
app.add_typer(explain.app, name="explain")
app.add_typer(snapshot.app, name="snapshot")

_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130


def main() -> None:
    hear_terminations(SystemClock().monotonic)
    output.begin()
    try:
        if os.environ.get(completion.VARIABLE):
            completion.prepare()
        app(prog_name=_called())
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ReschedulerError as problem:
        sys.exit(failed(problem))
    finally:
        output.end()


def _called() -> str:
    """As whoever typed it would type it again."""
    is_plugin = PurePath(sys.argv[0]).stem.replace("_", "-") == PLUGIN
    return PLUGIN.replace("-", " ", 1) if is_plugin else NAME


def failed(problem: ReschedulerError) -> int:
    """Tells of it. The exit status."""
    # One line per problem, and no trace: these are for the reader to mend.
    words = f"{problem}; {problem.way_out}" if problem.way_out else str(problem)
    tell(f"error: {words}".split("\n"))
    return _WRONG_USAGE if isinstance(problem, WrongFlags) else _FAILED
