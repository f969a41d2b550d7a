"""Prints the figures of scene (e): whose requests failed, and beside it what ours set out to do."""

import os
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench.compare.requests import GUARDED, LETTER, NOBODY, OURS, Outcome
from bench.compare.serving import WORKLOADS
from bench.compare.tables import told
from testbed import build
from testbed.realnodes.traffic import LONG, SHORT

GOAL = 20_000
"""Requests that ours is to be asked, at least; the long ones are not counted."""
TIMES = 2
"""So many times the p99 of a quiet cluster, at most."""

COLUMNS = (
    "moved",
    "seconds",
    "requests",
    "failed",
    "p50 ms",
    "p99 ms",
    "worst ms",
    "failed\nof 5 s",
    "failed\ndownloads",
)


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    console.print(_conditions())
    console.print(_by_contender(outcomes))
    console.print("\nfailed by workload: requests, and beside them requests of 5 s and downloads")
    console.print(_by_workload(outcomes))
    for line in goals(outcomes):
        console.print(line)


def _conditions() -> str:
    control_plane, peer = build.read_pins(), build.read_pins("descheduler")
    programs = f"Kubernetes and kubectl {control_plane.version}, descheduler {peer.version}"
    scene = f"({LETTER}) real nodes, emptied one after the other under traffic"
    return f"\n{scene}: {programs}, {os.cpu_count()} cores\n"


def _by_contender(outcomes: Sequence[Outcome]) -> Table:
    table = _table(COLUMNS)
    for outcome in outcomes:
        table.add_row(outcome.contender, *figures(outcome))
    return table


def figures(outcome: Outcome) -> tuple[str, ...]:
    short = outcome.seen.of(SHORT)
    long = [outcome.seen.of([kind]) for kind in LONG]
    return (
        f"{outcome.moved} of {outcome.pods}",
        f"{outcome.seconds:.0f}",
        f"{short.sent:,}",
        f"{len(short.failures):,}",
        *(f"{short.percentile(share):.1f}" for share in (0.5, 0.99, 1.0)),
        *(f"{len(each.failures)} of {each.sent}" for each in long),
    )


def _by_workload(outcomes: Sequence[Outcome]) -> Table:
    table = _table([outcome.contender for outcome in outcomes])
    for workload in WORKLOADS:
        if any(workload in outcome.workloads for outcome in outcomes):
            failed = [failed_of(outcome, workload.name) for outcome in outcomes]
            table.add_row(workload.title, *failed)
    return table


def failed_of(outcome: Outcome, service: str) -> str:
    """Nothing where the contender does not take such pods."""
    if service not in [each.name for each in outcome.workloads]:
        return ""
    short, long = (outcome.seen.of(kinds, service) for kinds in (SHORT, LONG))
    return f"{len(short.failures)}, {len(long.failures)}"


def goals(outcomes: Sequence[Outcome]) -> Iterator[str]:
    found = {each.contender: each for each in outcomes}
    for name in (OURS, GUARDED):
        if ours := found.get(name):
            yield from _goals_of(ours, found.get(NOBODY))


def _goals_of(ours: Outcome, quiet: Outcome | None) -> Iterator[str]:
    name, sent = ours.contender, ours.seen.of(SHORT).sent
    yield told(
        LETTER,
        name,
        {
            f"{len(ours.seen.failures)} failed of {sent:,} requests and the long ones, "
            f"goal 0 of {GOAL:,}": not ours.seen.failures and sent >= GOAL,
            "all pods moved": ours.moved == ours.pods,
        },
    )
    if quiet:
        mine, theirs = (each.seen.of(SHORT).percentile(0.99) for each in (ours, quiet))
        limit = TIMES * theirs
        yield told(LETTER, name, {f"p99 {mine:.1f} ms, goal {limit:.1f} ms": mine <= limit})


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    return table
