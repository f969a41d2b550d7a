"""What more moves would gain, as text for people: a table, and the same drawn. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from rescheduler.cli.render.layout import Page, counted
from rescheduler.config import Configuration
from rescheduler.plan.curve import Curve, Point
from rescheduler.plan.loads import RESOURCES

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS: Final = ".:-=+*#@"
_DEFAULT: Final = Configuration().max_reschedule_pods


def as_text(curve: Curve, page: Page, *, about: str = "") -> str:
    blocks = [
        page.wrapped(f"{about}{': ' if about else ''}{_headline(curve)}"),
        _table(curve, page),
        [*_pictures(curve, page)],
        [line for each in _notes(curve) for line in page.wrapped(f"Note: {each}", " " * 6)],
    ]
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def _headline(curve: Curve) -> str:
    if not any(each.moves for each in curve.points):
        return "nothing to move, whatever maxReschedulePods is"
    return (
        f"what moves would gain (loads by {curve.word}), each limit planned by itself; nothing is "
        "changed by planning"
    )


def _table(curve: Curve, page: Page) -> list[str]:
    strategies = list(dict.fromkeys(name for each in curve.points for name in each.by_strategy))
    # Of one alone, all moves are.
    strategies = strategies if len(strategies) > 1 else []
    rows = [
        [
            "LIMIT",
            "MOVES",
            *(f"{name.upper()}-IMBALANCE" for name in RESOURCES),
            "OVERLOADED",
            *strategies,
            "",
        ]
    ]
    rows += [
        [
            str(each.limit) if each.limit else "now",
            str(each.moves),
            *(_figure(each, name) for name in RESOURCES),
            str(each.overloaded),
            *(str(each.by_strategy.get(name, 0)) for name in strategies),
            _mark(curve, each.limit),
        ]
        for each in (curve.now, *curve.points)
    ]
    last = len(rows[0]) - 1
    return page.table(rows, names=range(last - len(strategies), last), numbers=range(last))


def _figure(point: Point, resource: str) -> str:
    found = point.imbalances.get(resource)
    return "<unknown>" if found is None else f"{found:.1f}"


def _mark(curve: Curve, limit: int) -> str:
    is_default = limit == _DEFAULT
    if limit and limit == curve.chosen:
        return "in force, the default" if is_default else "in force"
    return "the default" if is_default else ""


# ------------------------------------------------------------------ drawn


def _pictures(curve: Curve, page: Page) -> Iterator[str]:
    """A row of bars for each figure, all limits beside each other."""
    every = (curve.now, *curve.points)
    rows = [
        (f"{name} imbalance", [each.imbalances.get(name, 0.0) for each in every])
        for name in RESOURCES
    ]
    rows.append(("overloaded", [float(each.overloaded) for each in every]))
    rows = [(name, figures) for name, figures in rows if max(figures) > 0]
    if not rows:
        return
    labels = ["now", *(str(each.limit) for each in curve.points)]
    marks = ["^" if each.limit and each.limit == curve.chosen else "" for each in every]
    cell, name_width = max(map(len, labels)), max(len(name) for name, _ in rows)
    for name, figures in rows:
        bars = " ".join(each * cell for each in _bars(figures, page))
        yield f"{name:<{name_width}} |{bars}| {figures[0]:.1f} {page.arrow} {figures[-1]:.1f}"
    for line in (labels, marks):
        told = " ".join(each.center(cell) for each in line)
        yield f"{'':<{name_width}}  {told}".rstrip()


def _bars(figures: Sequence[float], page: Page) -> list[str]:
    blocks = _PLAIN_BLOCKS if page.plain else _BLOCKS
    highest = max(figures)
    return [
        blocks[max(round(each / highest * len(blocks)), 1) - 1] if each > 0 else " "
        for each in figures
    ]


def _notes(curve: Curve) -> Iterator[str]:
    last = curve.points[-1]
    if curve.is_whole:
        yield f"the limit of {last.limit} is not reached: nothing more would be moved"
    else:
        yield f"the limit of {last.limit} is reached: more would be moved, now or in later passes"
    if curve.chosen is None:
        yield "maxReschedulePods is 0, no limit"
    if any(each.asked for each in curve.points):
        yield "no limit holds moves that somebody asked for, and they are in every row"
    if curve.in_flight:
        yield f"{counted(curve.in_flight, 'move')} of earlier passes count against every limit"
