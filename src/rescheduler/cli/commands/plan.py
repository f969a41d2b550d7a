"""`rescheduler plan`: what would be moved, and why. It changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli.options import Form
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.planning_flags import PlanningFlags, PlanningInput
from rescheduler.cli.progress import Progress
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.model.moves import Plan

EXAMPLES: Final = """Examples:
  # What would be moved in the cluster of your kubeconfig; nothing is changed
  rescheduler plan

  # Of a saved cluster, five moves at most, for machines
  rescheduler plan -f cluster.json.gz --max-moves 5 -o json

  # What 1, 2, 5, 10, ... moves would gain, to choose maxReschedulePods by
  rescheduler plan --curve"""

_THERE_ARE_MOVES, _FAILED = 1, 2
"""As of `kubectl diff`."""


def plan(
    *,
    flags: PlanningFlags,
    output: Form = "table",
    everything: Annotated[
        bool, typer.Option("--all", help="Also show nodes that do not change, and every reason.")
    ] = False,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Show what 1, 2, 5, 10, ... moves would gain, not which."),
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 when there is something to move.")
    ] = False,
) -> None:
    """Show what would be moved, and change nothing.

    Of a live cluster, or with -f of a saved one: the moves in order, each with
    its reason, how the nodes stand before and after, and why other pods stay.
    With --curve: how the nodes would stand after 1, 2, 5, 10, ... moves, each
    number planned by itself, with the figure of maxReschedulePods marked.

    Exit status: 0, 1 for an error, 2 for wrong usage. With --exit-code: 0 when
    there is nothing to move, 1 when there is, 2 for an error.
    """
    with _as_kubectl_diff() if exit_code else _as_always():
        asked = flags.understood()
        if curve:
            moves = _show_curve(asked, output)
        else:
            decided = _decide(asked)
            tell(asked.loaded.notes)
            _print(decided, asked, output, everything=everything)
            moves = len(decided.moves)
    if exit_code and moves:
        raise typer.Exit(_THERE_ARE_MOVES)


@contextmanager
def _as_kubectl_diff() -> Iterator[None]:
    """1 is for differences, so an error has to be another one."""
    try:
        yield
    except ReschedulerError as problem:
        tell(f"error: {problem}".split("\n"))
        raise typer.Exit(_FAILED) from None


@contextmanager
def _as_always() -> Iterator[None]:
    yield


def _decide(asked: PlanningInput) -> "Plan":
    with Progress(["planning"]):
        decided = asked.plan()
    return replace(decided, notes=(*decided.notes, *asked.notes))


def _print(decided: "Plan", asked: PlanningInput, output: Form, *, everything: bool) -> None:
    from rescheduler.cli.render import documents, plan_tables
    from rescheduler.model import plan_documents
    from rescheduler.plan.explaining import cluster_of

    if output == "table":
        said = plan_tables.as_text(decided, page(), about=asked.about, everything=everything)
    else:
        loaded = asked.loaded
        document = plan_documents.with_origin(
            plan_documents.of_plan(decided), loaded.taken_at, cluster_of(loaded.snapshot)
        )
        said = documents.as_text(document, output)
    say(said)


def _show_curve(asked: PlanningInput, output: Form) -> int:
    """Gives the most moves that any limit brings."""
    from rescheduler.cli.render import curve_tables, documents
    from rescheduler.plan.curve import MOST, curve
    from rescheduler.plan.documents import of_curve

    with Progress(["planning"]) as progress:
        found = curve(
            asked.loaded.snapshot,
            asked.configuration,
            search=asked.search.search,
            told=lambda limit: progress.tell("planning", min(limit / MOST, 1.0)),
        )
    tell((*asked.loaded.notes, *asked.notes))
    if output == "table":
        said = curve_tables.as_text(found, page(), about=asked.about)
    else:
        said = documents.as_text(of_curve(found), output)
    say(said)
    return max(each.moves for each in found.points)
