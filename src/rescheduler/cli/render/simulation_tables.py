"""A comparison as text for people: a row for each contender, and what the columns mean. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rescheduler.cli.render.layout import Page, counted
from rescheduler.cli.render.simulation_pictures import pictures
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.summaries import Course, Summary

_LEGEND: Final = (
    ("MOVED", "pods that were moved"),
    ("PUT-OFF, FAILED", "moves that were not begun, and were planned anew; that were taken back"),
    ("DIPS", "workloads that a move left with fewer Ready pods than they should have"),
    ("OTHERS", "the same by all else: roll-outs, scalings, drains, failures, recreated when asked"),
    ("SHORT", "by how many pod-minutes in all"),
    ("CPU-DEV, MEM-DEV", "standard deviation of use over the nodes in points, mean of the day"),
    ("CPU-GAP", "between the most and the least used node in points, mean of the day"),
    ("HOT", "node-minutes above the threshold"),
    ("PENDING", "pod-minutes on no node"),
    ("NODES, COST", "in use, mean of the day; their cost by the hour"),
)
_LEGEND_OF_DRAINS: Final = (
    ("EVICTED", "workloads that evictions by others left so, which OTHERS does not count then"),
    ("DRAIN", "seconds that a drain by somebody else took, mean of those that ended"),
)

_Cell = Callable[[Summary], str]


def as_text(
    summaries: Sequence[Summary], page: Page, *, about: str, notes: Sequence[str], colours: bool
) -> str:
    legend = (*_LEGEND, *(_LEGEND_OF_DRAINS if _with_drains(summaries) else ()))
    blocks = [
        page.wrapped(about),
        _table(summaries, page),
        pictures(summaries, page, colours=colours),
        [line for name, text in legend for line in page.labelled(name, [text], 18)],
        [line for each in notes for line in page.wrapped(f"Note: {each}", " " * 6)],
    ]
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def _table(summaries: Sequence[Summary], page: Page) -> list[str]:
    columns = [
        *_columns_of_moves(with_drains=_with_drains(summaries)),
        ("CPU-DEV", lambda each: f"{each.deviation[0].mean:.1f}"),
        ("MEM-DEV", lambda each: f"{each.deviation[1].mean:.1f}"),
        ("CPU-GAP", lambda each: f"{each.gap[0].mean:.1f}"),
        ("HOT", lambda each: f"{each.hot_minutes:.0f}"),
        ("PENDING", lambda each: f"{each.pending_minutes:.0f}"),
        ("NODES", lambda each: f"{each.nodes.mean:.1f}"),
    ]
    if any(each.cost is not None for each in summaries):
        columns.append(("COST", lambda each: _cost(each.cost)))
    rows = [[cell(each) for _, cell in columns] for each in summaries]
    return page.table([[head for head, _ in columns], *rows], numbers=range(1, len(columns)))


def _columns_of_moves(*, with_drains: bool) -> Iterator[tuple[str, _Cell]]:
    others = {Cause.OTHER, Cause.RECREATE}
    yield "CONTENDER", lambda each: each.name
    yield "MOVED", lambda each: str(each.moved)
    yield "PUT-OFF", lambda each: str(each.put_off)
    yield "FAILED", lambda each: str(each.failed)
    yield "DIPS", lambda each: str(each.dips[Cause.MOVE])
    if with_drains:
        yield "EVICTED", lambda each: str(each.dips[Cause.EVICTION])
    else:
        others.add(Cause.EVICTION)
    yield "OTHERS", lambda each: str(sum(each.dips[cause] for cause in others))
    yield "SHORT", lambda each: f"{sum(each.missing_seconds.values()) / 60:.0f}"
    if with_drains:
        yield "DRAIN", _drain


def _with_drains(summaries: Sequence[Summary]) -> bool:
    return any(each.drain_seconds or each.unfinished_drains for each in summaries)


def _drain(summary: Summary) -> str:
    took, unfinished = summary.drain_seconds, summary.unfinished_drains
    mean = f"{sum(took) / len(took):.0f}" if took else "<none>"
    return f"{mean} ({unfinished} not done)" if unfinished else mean


def _cost(cost: Course | None) -> str:
    return "<unknown>" if cost is None else f"{cost.mean:.2f}"


def about(*, nodes: int, pods: int, scenario: str, hours: float, happenings: int) -> str:
    return (
        f"{counted(nodes, 'node')}, {counted(pods, 'pod')}, scenario {scenario} for {hours:g} h "
        f"with {counted(happenings, 'happening')}; the same for each"
    )
