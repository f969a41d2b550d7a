"""`rescheduler simulate`: strategies compared over a simulated day. It touches no cluster."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli.asking import WrongFlags, missing
from rescheduler.cli.layout import counted
from rescheduler.cli.options import Files, Form
from rescheduler.cli.output import page, say, tell
from rescheduler.config.places import quoted
from rescheduler.config.suggestions import nearest
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.simulation.contending import Contender, Day
    from rescheduler.simulation.described import Described
    from rescheduler.simulation.faulty import Fault
    from rescheduler.simulation.scenarios import Scenario

EXAMPLES: Final = """Examples:

  # A generated cluster, with and without us

  rescheduler simulate

  # The cluster of a snapshot, and the configuration that it is to get

  rescheduler simulate -f cluster.json.gz --config rescheduler.yaml

  # A day on which some workloads triple, as a chart, too

  rescheduler simulate --scenario spike --compare none,LoadBalancing --svg day.svg"""

_NOBODY: Final = "none"
_OWN: Final = "config"
_USUAL: Final = (_NOBODY, "LoadBalancing", "ResourceOptimization")
_INTERVAL_SECONDS: Final = 900.0
_MEASURED_SECONDS: Final = 240.0
_WINDOW_SECONDS: Final = 1200.0
_MAX_AGE_SECONDS: Final = 600.0
"""Of the contenders that are named after strategies: a day is long, and loads change slowly."""
_MOST_HOURS: Final = 24 * 7
_MOST_TOLD: Final = 5


def simulate(  # noqa: PLR0913 - the flags of a command
    *,
    files: Files = None,
    nodes: Annotated[int, typer.Option(metavar="N", help="Of a generated cluster.")] = 30,
    pods: Annotated[int, typer.Option(metavar="N", help="Of a generated cluster.")] = 600,
    seed: Annotated[int, typer.Option(metavar="N", help="Another one is another cluster.")] = 1,
    scenario: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help="day, steady, spike, growth, or a LoadScenario in YAML."
        ),
    ] = "day",
    compare: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="none, strategies (several at once with +), and config for that of --config.",
        ),
    ] = "",
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="A configuration, compared with the others as config."
        ),
    ] = None,
    hours: Annotated[float, typer.Option(metavar="N", help="From midnight on.")] = 24.0,
    threshold: Annotated[
        float, typer.Option(metavar="PERCENT", help="A node above it is overloaded.")
    ] = 80.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RATE",
            help="Such as never-ready=0.02, lost-reply=0.01; may be given more than once.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a chart, as SVG.")
    ] = None,
    output: Form = "table",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not tell how far it has come.")
    ] = False,
) -> None:
    """Compare strategies over a simulated day, on a cluster in memory.

    The cluster is generated, or with -f your own: a saved snapshot. Load changes
    over the day, and things happen: roll-outs, scalings, a maintenance, a node
    that fails; the same for each contender. What runs is the product itself, with
    its own observing, planning and migrating; only cluster and time are not real.
    The same flags give the same figures.

    Exit status: 0, 1 for an error, 2 for wrong usage, 130 when interrupted.
    """
    asked = _Asked(
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
    )
    contenders, day = asked.understood()
    notes = _simulated(contenders, day, output, svg=svg, quiet=quiet)
    tell(notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """As the flags have it."""

    files: list[str]
    nodes: int
    pods: int
    seed: int
    scenario: str
    compare: str
    config_file: Path | None
    hours: float
    threshold: float
    faults: list[str]
    svg: Path | None

    def understood(self) -> "tuple[list[Contender], Day]":
        """Raises ReschedulerError, with all that is wrong."""
        # Slow to import, and not needed to print a usage message.
        from rescheduler.embedded.virtual_time import START
        from rescheduler.simulation.contending import Day
        from rescheduler.simulation.happenings import foreseen

        wrong: list[str] = []
        others: list[ReschedulerError] = []
        if not 0 < self.hours <= _MOST_HOURS:
            wrong.append(f"--hours: {self.hours:g} is not above 0 and up to {_MOST_HOURS}")
        if not 0 < self.threshold <= 100:  # noqa: PLR2004 - per cent
            wrong.append(f"--threshold: {self.threshold:g} is not above 0 and up to 100")
        if self.seed < 0:
            wrong.append(f"--seed: {self.seed} is below 0")
        faults = self._faults(wrong)
        contenders = self._contenders(wrong, others)
        scenario = self._scenario(wrong, others)
        described = self._cluster(wrong, others)
        if self.svg is not None and (reason := _why_unwritable(self.svg)):
            others.append(ReschedulerError(f"--svg: {self.svg} cannot be written: {reason}"))
        if scenario is not None and described is not None:
            others += _unknown_nodes(self.scenario, scenario, described)
        if wrong:
            raise WrongFlags("\n".join([*wrong, *map(str, others)]))
        if others or scenario is None or described is None:
            raise others[0] if len(others) == 1 else ReschedulerError("\n".join(map(str, others)))
        happenings = foreseen(scenario, described, seed=self.seed, start=START, hours=self.hours)
        day = Day(
            described=described,
            scenario=scenario,
            happenings=happenings,
            seed=self.seed,
            hours=self.hours,
            threshold_percent=self.threshold,
            faults=tuple(faults),
        )
        return contenders, day

    def _faults(self, wrong: list[str]) -> "list[Fault]":
        from rescheduler.simulation import faulty

        found = []
        for text in self.faults:
            try:
                found.append(faulty.parse(text))
            except ValueError as problem:
                wrong.append(f"--fault: {problem}")
        return found

    def _contenders(self, wrong: list[str], others: list[ReschedulerError]) -> "list[Contender]":
        from rescheduler.simulation.contending import Contender

        own: config.Configuration | None = None
        if self.config_file is not None:
            try:
                own = config.load(self.config_file)
            except ReschedulerError as problem:
                others.append(problem)
        given = [each.strip() for each in self.compare.split(",") if each.strip()]
        usual = [*_USUAL, *([_OWN] if self.config_file is not None else [])]
        found = []
        for name in dict.fromkeys(given or usual):
            if name == _OWN and self.config_file is None:
                wrong.append("--compare: config is that of --config, which is not given")
            configuration = own if name == _OWN else _of_strategies(name, wrong)
            found.append(Contender(name=name, configuration=configuration))
        return found

    def _scenario(self, wrong: list[str], others: list[ReschedulerError]) -> "Scenario | None":
        from rescheduler.simulation import scenario_files
        from rescheduler.simulation.scenarios import BUILT_IN

        if self.scenario in BUILT_IN:
            return BUILT_IN[self.scenario]
        if "/" not in self.scenario and not os.access(self.scenario, os.F_OK):
            near = nearest(self.scenario, BUILT_IN)
            meant = f"did you mean {near}? " if near else ""
            wrong.append(
                f"--scenario: {quoted(self.scenario)} is neither known nor a file; {meant}"
                f"known: {', '.join(BUILT_IN)}"
            )
            return None
        try:
            return scenario_files.load(self.scenario)
        except ReschedulerError as problem:
            others.append(problem)
            return None

    def _cluster(self, wrong: list[str], others: list[ReschedulerError]) -> "Described | None":
        from rescheduler.cli import clusters
        from rescheduler.simulation import from_files, generating

        try:
            if self.files:
                loaded = clusters.load(self.files, "", None)
                described = from_files.describe(loaded)
                left_out = (*loaded.notes, *missing(loaded.snapshot))
                return replace(described, notes=(*left_out, *described.notes))
            return generating.generate(nodes=self.nodes, pods=self.pods, seed=self.seed)
        except ReschedulerError as problem:
            others.append(problem)
        except ValueError as problem:
            wrong.append(f"--nodes, --pods: {problem}")
        return None


def _of_strategies(name: str, wrong: list[str]) -> config.Configuration | None:
    if name == _NOBODY:
        return None
    strategies = name.split("+")
    for each in strategies:
        if each in (_NOBODY, _OWN):
            wrong.append(f"--compare: {each} is for itself, and not together with others by +")
        elif each not in config.STRATEGIES:
            known = (_NOBODY, *config.STRATEGIES, _OWN)
            near = nearest(each, known)
            meant = f"did you mean {near}? " if near else ""
            wrong.append(
                f"--compare: unknown name {quoted(each)}; {meant}known: {', '.join(known)}"
            )
    default = config.Configuration()
    return replace(
        default,
        rescheduling_interval_seconds=_INTERVAL_SECONDS,
        enabled_strategies=tuple(each for each in config.STRATEGIES if each in strategies),
        usage=replace(
            default.usage,
            interval_seconds=_MEASURED_SECONDS,
            window_seconds=_WINDOW_SECONDS,
            max_age_seconds=_MAX_AGE_SECONDS,
        ),
    )


def _unknown_nodes(
    file: str, scenario: "Scenario", described: "Described"
) -> list[ReschedulerError]:
    from rescheduler.wire import NODES

    known = [each["metadata"]["name"] for each in described.all(NODES)]
    return [
        ReschedulerError(
            f"{file}: {field}[{place}].node: there is no node {quoted(each.node)}; leave it out "
            f"for one that luck decides, or name one such as {known[0]}"
        )
        for field, outages in (
            ("maintenances", scenario.maintenances),
            ("failures", scenario.failures),
        )
        for place, each in enumerate(outages)
        if each.node and each.node not in known
    ]


# ---------------------------------------------------------------------- doing and telling


def _simulated(
    contenders: "Sequence[Contender]", day: "Day", output: Form, *, svg: Path | None, quiet: bool
) -> list[str]:
    """Gives what else is to be told."""
    from rescheduler.cli import plan_documents, simulation_documents, simulation_tables
    from rescheduler.simulation.comparing import compare
    from rescheduler.simulation.summaries import summarised
    from rescheduler.wire import NODES, PODS

    progress = _Progress([each.name for each in contenders], shown=not quiet)
    try:
        outcomes = compare(contenders, day, progress.tell)
    finally:
        progress.end()
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
        say(plan_documents.as_text(document, output))
    if svg is None:
        return []
    from rescheduler.cli import simulation_charts

    _write(svg, simulation_charts.as_svg(summaries, about=about))
    return [] if quiet else [f"{svg} written"]


def _refused(refused: Sequence[str]) -> list[str]:
    told = [f"left out, as the simulated API server refuses it: {each}" for each in refused]
    if len(told) > _MOST_TOLD:
        told[_MOST_TOLD:] = [f"{counted(len(told) - _MOST_TOLD, 'more object')} left out"]
    return told


def _why_unwritable(path: Path) -> str:
    """Before a day is simulated for it. Empty: nothing is known to be in its way."""
    try:
        if path.is_dir():
            return "it is a directory"
        if not path.parent.is_dir():
            return f"there is no directory {path.parent}"
        there = path if path.exists() else path.parent
    except OSError as problem:  # such as a name that is too long
        return problem.strerror or str(problem)
    return "" if os.access(there, os.W_OK) else "it is protected"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        reason = problem.strerror or problem
        raise ReschedulerError(f"--svg: {path} cannot be written: {reason}") from None


class _Progress:
    """How far each has come, in one line that is written anew; for people at a terminal only."""

    def __init__(self, names: Sequence[str], *, shown: bool) -> None:
        self._shares = dict.fromkeys(names, 0.0)
        self._shown = shown and sys.stderr.isatty()
        self._wide = 0

    def tell(self, name: str, share: float) -> None:
        self._shares[name] = share
        self._write(", ".join(f"{each} {done:.0%}" for each, done in self._shares.items()))

    def end(self) -> None:
        self._write("")

    def _write(self, line: str) -> None:
        if self._shown:
            # Of where it is written: a longer one would not be written over.
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            line = line[: width - 1] if width else line
            with suppress(OSError):
                typer.echo(
                    "\r" + line.ljust(self._wide) + ("" if line else "\r"), nl=False, err=True
                )
            self._wide = len(line)
