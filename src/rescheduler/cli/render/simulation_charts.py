"""A comparison as an SVG chart: balance and overload over the day, a line for each contender. Pure.

Written by hand, without anything that a viewer would have to fetch or run.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

from rescheduler.simulation.summaries import Course, Summary

_WIDTH: Final = 960
_LEFT, _RIGHT = 64, 24
_PANEL: Final = 220
_TOP: Final = 112
_BETWEEN: Final = 72
_BOTTOM: Final = 48
_HOUR: Final = 3600.0
_INK, _GREY, _LINE = "#1f2933", "#616e7c", "#e4e7eb"
_FONT: Final = "font-family=\"system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\""
# Told apart by people who see few colours, too (Okabe and Ito), and by their dashes.
_STROKES: Final = (
    ("#616e7c", "7 4"),
    ("#0072b2", ""),
    ("#d55e00", ""),
    ("#009e73", "10 3"),
    ("#cc79a7", "2 3"),
    ("#e69f00", "12 3 2 3"),
)
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEGEND_ENTRY: Final = 30
_LETTER: Final = 7.2


def as_svg(summaries: Sequence[Summary], *, about: str) -> str:
    height = _TOP + 2 * _PANEL + _BETWEEN + _BOTTOM
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img" {_FONT}>'
        ),
        f"<title>{escape(about)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 30, "A simulated day, strategy by strategy", size=18, weight=600),
        _text(_LEFT, 50, about, size=12, fill=_GREY),
        *_legend(summaries),
        *_panel(
            "Standard deviation of CPU use over the nodes, in points",
            lambda each: each.deviation[0],
            summaries,
            _TOP,
        ),
        *_panel(
            "Nodes above the threshold",
            lambda each: each.hot,
            summaries,
            _TOP + _PANEL + _BETWEEN,
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend(summaries: Sequence[Summary]) -> Iterator[str]:
    across = float(_LEFT)
    for number, each in enumerate(summaries):
        colour, dashes = _STROKES[number % len(_STROKES)]
        yield (
            f'<line x1="{across:.1f}" y1="68" x2="{across + 22:.1f}" y2="68" stroke="{colour}" '
            f'stroke-width="2.5" stroke-dasharray="{dashes}"/>'
        )
        yield _text(across + _LEGEND_ENTRY - 2, 72, each.name, size=12)
        across += _LEGEND_ENTRY + 18 + _LETTER * len(each.name)


def _panel(
    title: str, of: Callable[[Summary], Course], summaries: Sequence[Summary], top: int
) -> Iterator[str]:
    courses = [of(each) for each in summaries]
    highest = max(max(each.points) for each in courses)
    step, end = _scale(highest)
    hours = max((len(courses[0].points) - 1) * summaries[0].point_seconds / _HOUR, 1e-9)
    bottom = top + _PANEL
    yield _text(_LEFT, top - 8, title, size=13, weight=600)
    count = round(end / step)
    for number in range(count + 1):
        height = bottom - _PANEL * number / count
        yield (
            f'<line x1="{_LEFT}" y1="{height:.1f}" x2="{_WIDTH - _RIGHT}" y2="{height:.1f}" '
            f'stroke="{_LINE}"/>'
        )
        yield _text(_LEFT - 8, height + 4, f"{step * number:g}", size=11, fill=_GREY, anchor="end")
    tick = next((each for each in (1, 2, 3, 6, 12, 24) if hours / each <= 12), 24)  # noqa: PLR2004
    for hour in range(0, int(hours + 1e-6) + 1, tick):
        across = _LEFT + (_WIDTH - _LEFT - _RIGHT) * hour / hours
        yield _text(across, bottom + 18, f"{hour:02}:00", size=11, fill=_GREY, anchor="middle")
    for number, course in enumerate(courses):
        colour, dashes = _STROKES[number % len(_STROKES)]
        yield (
            f'<polyline points="{_points(course.points, end, bottom)}" fill="none" '
            f'stroke="{colour}" stroke-width="2" stroke-linejoin="round" '
            f'stroke-dasharray="{dashes}"/>'
        )


def _points(points: Sequence[float], end: float, bottom: int) -> str:
    across = (_WIDTH - _LEFT - _RIGHT) / max(len(points) - 1, 1)
    return " ".join(
        f"{_LEFT + across * place:.1f},{bottom - _PANEL * each / end:.1f}"
        for place, each in enumerate(points)
    )


def _scale(highest: float) -> tuple[float, float]:
    """Between two lines of the grid, and the last of them."""
    if highest <= 0:
        return 1.0, 1.0
    power = 1.0
    while highest / power > 50:  # noqa: PLR2004 - five lines of ten
        power *= 10
    while highest / power <= 5:  # noqa: PLR2004
        power /= 10
    step = next(each * power for each in _STEPS if highest <= 5 * each * power)
    count = -(-highest // step)
    return step, step * count


def _text(  # noqa: PLR0913 - what SVG asks for
    across: float,
    down: float,
    text: str,
    *,
    size: int,
    fill: str = _INK,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{across:.1f}" y="{down:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="{fill}" text-anchor="{anchor}">{escape(text)}</text>'
    )
