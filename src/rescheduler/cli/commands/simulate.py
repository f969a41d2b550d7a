"""`rescheduler simulate`: strategies compared over a simulated day. It touches no cluster."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli import commanding
from rescheduler.cli.files import write_file
from rescheduler.cli.options import Files, Form
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.progress import Progress
from rescheduler.cli.render.layout import counted
from rescheduler.cli.simulation_flags import SimulationFlags
from rescheduler.cli.web_flags import PortFlag, WebFlag, tell_of

if TYPE_CHECKING:
    from rescheduler.simulation.contending import Contender, Day

EXAMPLES: Final = """Examples:
  # A generated cluster, with and without us
  rescheduler simulate

  # The cluster of a snapshot, and the configuration that it is to get
  rescheduler simulate -f cluster.json.gz --config rescheduler.yaml

  # New pods that land well need fewer moves: with and without our scheduler extender
  rescheduler simulate --compare LoadBalancing --extender

  # Nodes that somebody else drains: with and without our guard
  rescheduler simulate --scenario drains --compare none --guard

  # Loads that rise and fall each day: with and without learning from the days before
  rescheduler simulate --scenario commuting --hours 72 --compare LoadBalancing --learned-patience

  # A day on which some workloads triple, as a chart, too
  rescheduler simulate --scenario spike --compare none,LoadBalancing --svg day.svg"""

_MOST_TOLD: Final = 5


def simulate(  # noqa: PLR0913 - the flags of a command
    *,
    files: Files = None,
    nodes: Annotated[int, typer.Option(metavar="N", help="Nodes of a generated cluster.")] = 30,
    pods: Annotated[int, typer.Option(metavar="N", help="Pods of a generated cluster.")] = 600,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed, another cluster.")] = 1,
    scenario: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="day, steady, spike, growth, drains, commuting, or a LoadScenario in YAML.",
        ),
    ] = "day",
    compare: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Comma-separated: none, strategies (joined by + to combine), config for --config.",
        ),
    ] = "",
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A configuration to compare with the others, as config.",
        ),
    ] = None,
    extender: Annotated[
        bool,
        typer.Option(
            "--extender",
            help="Each contender twice: also with a scheduler that asks us about new pods.",
        ),
    ] = False,
    guard: Annotated[
        bool,
        typer.Option(
            "--guard",
            help="Each contender twice: also with evictions by others held until pods have moved.",
        ),
    ] = False,
    learned_patience: Annotated[
        bool,
        typer.Option(
            "--learned-patience",
            help="Each contender twice: also going by what the days before have taught.",
        ),
    ] = False,
    hours: Annotated[
        float, typer.Option(metavar="N", help="Hours to simulate, from midnight on.")
    ] = 24.0,
    threshold: Annotated[
        float, typer.Option(metavar="PERCENT", help="Use above which a node counts as overloaded.")
    ] = 80.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RATE",
            help="Faults to inject, such as never-ready=0.02 or lost-reply=0.01. Repeatable.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an SVG chart.")
    ] = None,
    web: WebFlag = False,
    port: PortFlag = None,
    output: Form = "table",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Compare strategies over a simulated day, on a cluster in memory.

    The cluster is generated, or with -f your own: a saved snapshot. Load changes
    over the day, and things happen: roll-outs, scalings, a maintenance, a node
    that fails; the same for each contender. What runs is the product itself, with
    its own observing, planning and migrating; only cluster and time are not real.
    The same flags give the same figures. With --web each contender is shown in a
    browser while it plays, one after the other, a day in about five minutes: the
    address is printed.

    Exit status: 0, 1 for an error, 2 for wrong usage, 130 when interrupted.
    """
    flags = SimulationFlags(
        files=files or [],
        nodes=nodes,
        pods=pods,
        seed=seed,
        scenario=scenario,
        compare=compare,
        config_file=config_file,
        hours=hours,
        threshold=threshold,
        faults=fault or [],
        svg=svg,
        extender=extender,
        guard=guard,
        learned_patience=learned_patience,
        web=web,
        port=port,
    )
    contenders, day = flags.understood()
    notes = _simulated(contenders, day, output, svg=svg, quiet=quiet)
    tell(notes)


def _simulated(
    contenders: "Sequence[Contender]", day: "Day", output: Form, *, svg: Path | None, quiet: bool
) -> list[str]:
    """Gives what else is to be told."""
    from rescheduler.cli.render import documents, simulation_documents, simulation_tables
    from rescheduler.simulation.comparing import compare
    from rescheduler.simulation.summaries import summarised
    from rescheduler.wire import NODES, PODS

    with Progress([each.name for each in contenders], shown=not quiet) as progress:
        outcomes = compare(
            contenders, day, progress.tell, verbosity=commanding.verbosity(), shown=tell_of
        )
    summaries = [summarised(each) for each in outcomes]
    notes = [*day.described.notes, *_refused(outcomes[0].refused)]
    about = simulation_tables.about(
        nodes=day.described.count(NODES),
        pods=day.described.count(PODS),
        scenario=day.scenario.name,
        hours=day.hours,
        happenings=len(day.happenings),
    )
    if output == "table":
        colours = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        say(simulation_tables.as_text(summaries, page(), about=about, notes=notes, colours=colours))
    else:
        document = simulation_documents.of_comparison(summaries, day, notes)
        say(documents.as_text(document, output))
    if svg is None:
        return []
    from rescheduler.cli.render import simulation_charts

    write_file("--svg", svg, simulation_charts.as_svg(summaries, about=about))
    return [] if quiet else [f"{svg} written"]


def _refused(refused: Sequence[str]) -> list[str]:
    told = [f"left out, as the simulated API server refuses it: {each}" for each in refused]
    if len(told) > _MOST_TOLD:
        told[_MOST_TOLD:] = [f"{counted(len(told) - _MOST_TOLD, 'more object')} left out"]
    return told
