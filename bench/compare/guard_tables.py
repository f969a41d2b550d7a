"""Prints the figures of scene (f), and beside them what the guard set out to do."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from bench.compare.guarding import ALONE, GUARDED
from bench.compare.running import Result
from bench.compare.tables import print_rows, told

TIMES = 1.25
"""So many times what kubectl drain alone takes until the node is empty, at most."""

COLUMNS = (
    "moved",
    "workloads\never below",
    "pod-seconds\nmissing",
    "seconds\nuntil empty",
    "its command\nended after",
    "exit\ncode",
    "user objects\nchanged",
)


def show(results: Sequence[Result], console: Console) -> None:
    print_rows(results, console, COLUMNS, figures)
    for line in goals(results):
        console.print(line)


def figures(result: Result) -> tuple[str, ...]:
    has_ended = result.command_seconds is not None
    return (
        f"{result.moved} of {result.pods}",
        f"{result.ever_below} of {result.workloads}",
        f"{result.pod_seconds_missing:.1f}",
        f"{result.seconds:.1f}" if result.is_done else "never",
        f"{result.command_seconds:.1f} s" if has_ended else "did not end",
        str(result.exit_code) if has_ended else "",
        str(result.objects_changed),
    )


def goals(results: Sequence[Result]) -> Iterator[str]:
    alone = {each.scenario.title: each for each in results if each.contender == ALONE}
    for each in results:
        if not each.contender.endswith(GUARDED):
            continue
        met = {
            f"{each.ever_below} of {each.workloads} below, goal 0": not each.ever_below,
            "all pods moved": each.moved == each.pods,
            f"exit code {each.exit_code}, goal 0": each.exit_code == 0,
        }
        peer = alone.get(each.scenario.title)
        if peer and peer.is_done:
            limit = TIMES * peer.seconds
            met[f"empty after {each.seconds:.1f} s, goal {limit:.1f} s"] = each.seconds <= limit
        yield told(each.scenario.letter, f"{each.contender}, {each.scenario.title}", met)
