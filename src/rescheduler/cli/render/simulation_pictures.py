"""How contenders fared over the day, as rows of small bars, one under the other. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rescheduler.cli.render.layout import Page
from rescheduler.simulation.summaries import Course, Summary

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS: Final = ".:-=+*#@"
_WIDEST: Final = 96
_NARROWEST: Final = 24
_NAME: Final = 24
_BESIDE: Final = 30
"""Room for the figures beside a row."""
_WIDTH: Final = 72
"""Where nobody says how wide it may be."""
_HOUR: Final = 3600.0
_TICKS: Final = (1, 2, 3, 6, 12, 24, 48)
"""Hours between two on the axis."""
_COLOURS: Final = (31, 32, 34, 35, 36, 33)


def pictures(summaries: Sequence[Summary], page: Page, *, colours: bool) -> list[str]:
    lines: list[str] = []
    for title, of in (
        ("Standard deviation of CPU use over the nodes, in points", _deviation),
        ("Nodes above the threshold", _hot),
    ):
        lines += [*_picture(title, of, summaries, page, colours=colours), ""]
    return lines[:-1]


def _deviation(summary: Summary) -> Course:
    return summary.deviation[0]


def _hot(summary: Summary) -> Course:
    return summary.hot


def _picture(
    title: str,
    of: Callable[[Summary], Course],
    summaries: Sequence[Summary],
    page: Page,
    *,
    colours: bool,
) -> Iterator[str]:
    name = min(max(len(each.name) for each in summaries), _NAME)
    width = _bars(page, name)
    rows = [_resampled(of(each).points, width) for each in summaries]
    highest = max(max(row) for row in rows)
    yield from page.wrapped(f"{title}; the highest bar is {highest:.1f}")
    for number, (summary, row) in enumerate(zip(summaries, rows, strict=True)):
        course = of(summary)
        bars = _drawn(row, highest, page)
        if colours:
            bars = f"\x1b[{_COLOURS[number % len(_COLOURS)]}m{bars}\x1b[0m"
        shown = page.shortened(summary.name, name).ljust(name)
        yield (
            f"{shown} |{bars}| mean {course.mean:.1f}, {course.before:.1f} {page.arrow} "
            f"{course.after:.1f}"
        )
    first = summaries[0]
    hours = first.point_seconds * max(len(of(first).points) - 1, 1) / _HOUR
    yield " " * (name + 2) + _axis(hours, width)


def _bars(page: Page, name: int) -> int:
    room = (page.width - name - _BESIDE) if page.width is not None else _WIDTH
    return max(min(room, _WIDEST), _NARROWEST)


def _resampled(points: Sequence[float], width: int) -> list[float]:
    """The means of what falls into each bar."""
    made = []
    for bar in range(width):
        begin = bar * len(points) // width
        part = points[begin : max((bar + 1) * len(points) // width, begin + 1)]
        made.append(sum(part) / len(part))
    return made


def _drawn(row: Sequence[float], highest: float, page: Page) -> str:
    blocks = _PLAIN_BLOCKS if page.plain else _BLOCKS
    if highest <= 0:
        return " " * len(row)
    heights = (round(each / highest * len(blocks)) for each in row)
    return "".join(
        blocks[max(height, 1) - 1] if each > 0 else " "
        for each, height in zip(row, heights, strict=True)
    )


def _axis(hours: float, width: int) -> str:
    tick = next((each for each in _TICKS if hours / each * 6 <= width), _TICKS[-1])
    line = [" "] * (width + 4)
    for hour in range(0, int(hours + 1e-6) + 1, tick):
        text, place = f"{hour}h", round(hour / hours * (width - 1)) if hours else 0
        line[place : place + len(text)] = text
    return "".join(line).rstrip()
