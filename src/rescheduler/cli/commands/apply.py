"""`rescheduler apply` and `rescheduler undo`: a plan from a file, and one taken back."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli import given_names
from rescheduler.cli.asked_plans import Asked, asked_for
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import Timeout
from rescheduler.cli.ourselves import ourselves
from rescheduler.cli.progress import Progress
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # A plan that was made on a laptop, looked at in a review, and is carried out now
  rescheduler plan -o yaml > plan.yaml
  rescheduler apply plan.yaml --wait

  # Every move, or none
  rescheduler apply plan.yaml --all-or-nothing

  # Only tell which moves still hold
  rescheduler apply plan.yaml --dry-run"""
EXAMPLES_OF_UNDO: Final = """Examples:
  # Bring the pods of a plan back to where they were
  rescheduler undo PLAN --wait

  # Only tell which of them can come back, and why others cannot
  rescheduler undo PLAN --dry-run"""

By = Annotated[
    str, typer.Option(metavar="NAME", help="Who asks. Default: your user name and machine.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Return when each move has ended.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only print which moves hold; change nothing.")
]


def apply(  # noqa: PLR0913 - the flags of a command
    file: Annotated[
        str,
        typer.Argument(
            metavar="PLANFILE",
            help="Of rescheduler plan -o json|yaml, or a ReschedulePlan; -: standard input.",
        ),
    ],
    *,
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Move nothing when one move does not hold.")
    ] = False,
    by: By = "",
    wait: Wait = False,
    timeout: Timeout = "0",
    dry_run: DryRun = False,
    reach: Reach,
) -> None:
    """Carry out a plan from a file.

    Each move is judged anew, here and again when its turn comes: what does not hold
    any more stays, and is told. It becomes a ReschedulePlan that is approved already,
    which whoever leads carries out. A file that is of another cluster, too old
    (plans.expireAfter), or wrong in itself is refused whole, with every problem.

    Exit status: 0 when it was asked for (with --wait: when every move was made), 1
    when nothing of it holds, it was refused, or with --wait a move was not made or
    --timeout is over; 2 for wrong usage; 130 when interrupted: it goes on.
    """
    seconds = time_limit("--timeout", timeout)
    configuration, connect = reach.cluster()
    asked = Asked(by=by or ourselves(), wait=wait, seconds=seconds, dry_run=dry_run)
    applying = from_file(
        configuration, connect, SystemClock(), file, asked, all_or_nothing=all_or_nothing
    )
    raise typer.Exit(asyncio.run(applying))


def undo(
    name: Annotated[str, typer.Argument(metavar="PLAN", help="Name of the ReschedulePlan.")],
    *,
    by: By = "",
    wait: Wait = False,
    timeout: Timeout = "0",
    dry_run: DryRun = False,
    reach: Reach,
) -> None:
    """Bring the pods of a plan back to the nodes that they came from.

    As new moves, each judged anew: of each that stays it says why. They become a
    ReschedulePlan of their own, which whoever leads carries out; undo that one to
    have it the other way again.

    Exit status: 0 when it was asked for, or all are back already (with --wait: when
    every pod is back), 1 when none can come back, or with --wait one is not back or
    --timeout is over; 2 for wrong usage; 130 when interrupted: it goes on.
    """
    seconds = time_limit("--timeout", timeout)
    given_names.insist_on_plans("PLAN", [name])
    configuration, connect = reach.cluster()
    asked = Asked(by=by or ourselves(), wait=wait, seconds=seconds, dry_run=dry_run)
    raise typer.Exit(asyncio.run(back(configuration, connect, SystemClock(), name, asked)))


async def from_file(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    file: str,
    asked: Asked,
    *,
    all_or_nothing: bool = False,
) -> int:
    """The exit status. Raises ReschedulerError."""
    from rescheduler.controller.plans import asking, files

    text, source = files.load(file)
    given = files.read(text, source)
    async with connect() as kube:
        with Progress(["reading the cluster"]):
            judged = await asking.from_file(
                kube,
                clock,
                configuration,
                given,
                source=source,
                by=asked.by,
                all_or_nothing=all_or_nothing,
            )
        return await asked_for(kube, clock, configuration, judged, asked)


async def back(
    configuration: config.Configuration, connect: "Connect", clock: Clock, name: str, asked: Asked
) -> int:
    """The same."""
    from rescheduler.controller.plans import asking

    async with connect() as kube:
        with Progress(["reading the cluster"]):
            judged = await asking.to_undo(kube, clock, configuration, name, by=asked.by)
        return await asked_for(kube, clock, configuration, judged, asked)
