"""Prints the figures of all contenders as one table."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench.compare.running import Result, Until
from bench.compare.stages import START_UP
from testbed import build

_FIRST_MINUTE = 60.0
"""Seconds in which balance is to be within its threshold."""

OURS = "ours"

_COLUMNS = (
    "moved",
    "workloads\never below",
    "pod-seconds\nmissing",
    "seconds",
    "user objects\nchanged",
    "spread\nbefore, after",
    "nodes above\nthreshold",
)


def show(results: Sequence[Result], console: Console) -> None:
    print_rows(results, console, _COLUMNS, figures)
    for line in _goals(results):
        console.print(line)


def print_rows(
    results: Sequence[Result],
    console: Console,
    columns: Sequence[str],
    figures_of: Callable[[Result], Sequence[str]],
) -> None:
    """Scene by scene, under what they were measured."""
    table = Table(box=None, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    scenario = None
    for result in results:
        if result.scenario is not scenario:
            scenario = result.scenario
            table.add_section()
            table.add_row(f"({scenario.letter}) {scenario.title}:")
        table.add_row(f"  {result.contender}", *figures_of(result))
    console.print(conditions())
    console.print(table)


def conditions() -> str:
    control_plane, peer = build.read_pins(), build.read_pins("descheduler")
    programs = f"Kubernetes and kubectl {control_plane.version}, descheduler {peer.version}"
    return f"{programs}, {os.cpu_count()} cores; a pod takes {START_UP} to start\n"


def figures(result: Result) -> tuple[str, ...]:
    of_pods = "" if result.scenario.is_about_load else f" of {result.pods}"
    is_peer = not result.contender.startswith(OURS)
    seconds = f"{result.seconds:.1f}"
    return (
        f"{result.moved}{of_pods}",
        f"{result.ever_below} of {result.workloads}",
        f"{result.pod_seconds_missing:.1f}",
        seconds if result.is_done else f"{seconds}, {'gave up' if is_peer else 'goes on'}",
        str(result.objects_changed),
        f"{result.spread_before:.0f}, {result.spread_after:.0f}",
        f"{result.overloaded_before}, {result.overloaded_after}",
    )


def _goals(results: Sequence[Result]) -> Iterator[str]:
    """What ours set out to do, scenario by scenario."""
    found = {(each.scenario.letter, each.contender): each for each in results}
    for (letter, contender), ours in found.items():
        if not contender.startswith(OURS):
            continue
        goals = {"no workload below its replicas": not ours.ever_below}
        match ours.scenario.entries[contender].until:
            case Until.EMPTY:
                goals["all pods moved"] = ours.moved == ours.pods
            case Until.BALANCE:
                goals["in the first minute"] = ours.is_done and ours.seconds <= _FIRST_MINUTE
            case _:
                goals["pods moved"] = ours.moved > 0
        peer = found.get((letter, "kubectl drain"))
        if peer and peer.is_done:
            goals["in no more time than kubectl drain"] = ours.seconds <= peer.seconds
        yield told(letter, contender, goals)


def told(letter: str, contender: str, goals: Mapping[str, bool]) -> str:
    each = ", ".join(f"{goal}: {'yes' if met else 'NO'}" for goal, met in goals.items())
    return f"({letter}) {contender}: {each}"
