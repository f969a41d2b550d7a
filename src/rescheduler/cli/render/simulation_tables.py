"""A comparison as text for people: a row for each contender, and what the columns mean. Pure."""

from collections.abc import Sequence
from typing import Final

from rescheduler.cli.render.layout import Page, counted
from rescheduler.cli.render.simulation_pictures import pictures
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.summaries import Course, Summary

_LEGEND: Final = (
    ("MOVED", "pods that were moved"),
    ("PUT-OFF, FAILED", "moves that were not begun, and were planned anew; that were taken back"),
    ("DIPS", "workloads that a move left with fewer Ready pods than they should have"),
    ("OTHERS", "the same by all else: roll-outs, scalings, drains, failures, restarts asked for"),
    ("SHORT", "by how many pod-minutes in all"),
    ("CPU-DEV, MEM-DEV", "standard deviation of use over the nodes in points, mean of the day"),
    ("CPU-GAP", "between the most and the least used node in points, mean of the day"),
    ("HOT", "node-minutes above the threshold"),
    ("PENDING", "pod-minutes on no node"),
    ("NODES, COST", "in use, mean of the day; their cost by the hour"),
)


def as_text(
    summaries: Sequence[Summary], page: Page, *, about: str, notes: Sequence[str], colours: bool
) -> str:
    blocks = [
        page.wrapped(about),
        _table(summaries, page),
        pictures(summaries, page, colours=colours),
        [line for name, text in _LEGEND for line in page.labelled(name, [text], 18)],
        [line for each in notes for line in page.wrapped(f"Note: {each}", " " * 6)],
    ]
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def _table(summaries: Sequence[Summary], page: Page) -> list[str]:
    with_cost = any(each.cost is not None for each in summaries)
    head = [
        "CONTENDER",
        "MOVED",
        "PUT-OFF",
        "FAILED",
        "DIPS",
        "OTHERS",
        "SHORT",
        "CPU-DEV",
        "MEM-DEV",
    ]
    head += ["CPU-GAP", "HOT", "PENDING", "NODES"] + (["COST"] if with_cost else [])
    rows = [head, *(_row(each, with_cost=with_cost) for each in summaries)]
    return page.table(rows, numbers=range(1, len(head)))


def _row(summary: Summary, *, with_cost: bool) -> list[str]:
    cpu, memory = summary.deviation
    others = summary.dips[Cause.OTHER] + summary.dips[Cause.RESTART]
    cells = [
        summary.name,
        str(summary.moved),
        str(summary.put_off),
        str(summary.failed),
        str(summary.dips[Cause.MOVE]),
        str(others),
        f"{sum(summary.missing_seconds.values()) / 60:.0f}",
        f"{cpu.mean:.1f}",
        f"{memory.mean:.1f}",
        f"{summary.gap[0].mean:.1f}",
        f"{summary.hot_minutes:.0f}",
        f"{summary.pending_minutes:.0f}",
        f"{summary.nodes.mean:.1f}",
    ]
    return cells + ([_cost(summary.cost)] if with_cost else [])


def _cost(cost: Course | None) -> str:
    return "<unknown>" if cost is None else f"{cost.mean:.2f}"


def about(*, nodes: int, pods: int, scenario: str, hours: float, happenings: int) -> str:
    return (
        f"{counted(nodes, 'node')}, {counted(pods, 'pod')}, scenario {scenario} for {hours:g} h "
        f"with {counted(happenings, 'happening')}; the same for each"
    )
