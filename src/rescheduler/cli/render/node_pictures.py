"""Nodes as bars, with their pods as cells, or as tiles where there is no room for bars. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from rescheduler.cli.render.layout import Page
from rescheduler.model import resources
from rescheduler.simulation.scenes import NodeLook, NodeScene, PodLook

_GAP: Final = 2
_LEAST_COLUMN: Final = 30
"""A bar that is shorter than what is left of this says nothing."""
_LONGEST_NAME: Final = 16
_LONGEST_BAR: Final = 40
_LEAST_CELLS: Final = 14
_PERCENT: Final = 5
_COUNT: Final = 4
_TILE: Final = 3
_HOT, _WARM, _IDLE = 80.0, 60.0, 10.0


@dataclass(frozen=True, slots=True)
class _Signs:
    """What is drawn with."""

    full: str
    parts: str
    """Of a cell, from little to much."""
    requested: str
    free: str
    heights: str
    pods: dict[PodLook, str]
    looks: dict[NodeLook, str]


_FINE: Final = _Signs(
    full="█",
    parts="▏▎▍▌▋▊▉",
    requested="░",
    free="·",
    heights="▁▂▃▄▅▆▇█",
    pods={PodLook.SERVING: "■", PodLook.STARTING: "+", PodLook.LEAVING: "x"},
    looks={
        NodeLook.PLAIN: " ",
        NodeLook.CORDONED: "⊘",
        NodeLook.MAINTENANCE: "✱",
        NodeLook.NOT_READY: "!",
    },
)
_PLAIN: Final = _Signs(
    full="#",
    parts="",
    requested="-",
    free=".",
    heights=".:-=+*#@",
    pods={PodLook.SERVING: "o", PodLook.STARTING: "+", PodLook.LEAVING: "x"},
    looks={
        NodeLook.PLAIN: " ",
        NodeLook.CORDONED: "c",
        NodeLook.MAINTENANCE: "M",
        NodeLook.NOT_READY: "!",
    },
)
_POD_STYLES: Final = {
    PodLook.SERVING: "cyan",
    PodLook.STARTING: "bold green",
    PodLook.LEAVING: "dim red",
}


def legends(page: Page) -> tuple[str, str]:
    """A long one, and a short one for where it does not fit."""
    signs = _PLAIN if page.plain else _FINE
    bars = f"{signs.full} used {signs.requested} requested"
    pods = signs.pods
    cells = f"{pods[PodLook.STARTING]} starts {pods[PodLook.LEAVING]} leaves"
    return f"cpu: {bars}   pods: {pods[PodLook.SERVING]} {cells}", f"cpu: {bars}"


def style_of(node: NodeScene) -> str:
    """By its load, or by what is more important than that."""
    if node.look is not NodeLook.PLAIN:
        return "magenta"
    used = node.used.get(resources.CPU, 0.0)
    if used >= _HOT:
        return "red"
    if used >= _WARM:
        return "yellow"
    return "green" if used >= _IDLE else "blue"


def drawn(nodes: Sequence[NodeScene], width: int, rows: int, page: Page) -> list[Text]:
    """At most so many rows. As bars in as few columns as possible, or else as tiles."""
    if not nodes:
        return []
    signs = _PLAIN if page.plain else _FINE
    for columns in range(1, max(1, (width + _GAP) // (_LEAST_COLUMN + _GAP)) + 1):
        if math.ceil(len(nodes) / columns) <= rows:
            return _bars(nodes, columns, width, signs, page)
    return _tiles(nodes, width, rows, signs)


# ---------------------------------------------------------------------- bars


def _bars(
    nodes: Sequence[NodeScene], columns: int, width: int, signs: _Signs, page: Page
) -> list[Text]:
    """From top to bottom, then the next column."""
    height = math.ceil(len(nodes) / columns)
    each = (width - _GAP * (columns - 1)) // columns
    name = min(max(len(node.name) for node in nodes), _LONGEST_NAME)
    shape = _shaped(nodes, each, name)
    lines = [Text(no_wrap=True) for _ in range(height)]
    for place, node in enumerate(nodes):
        line = lines[place % height]
        if place >= height:
            line.append(" " * _GAP)
        line.append_text(_bar_row(node, shape, signs, page))
    return lines


@dataclass(frozen=True, slots=True)
class _Shape:
    """Of a node's row: how wide its parts are."""

    name: int
    bar: int
    pods: int


def _shaped(nodes: Sequence[NodeScene], width: int, name: int) -> _Shape:
    most = max(len(node.pods) for node in nodes)
    left = width - name - 3 - _PERCENT
    # Half of what is there for the pods, when it is enough to tell them apart.
    bar = min(max(left - most - 1, left // 2), _LONGEST_BAR)
    pods = min(left - bar - 1, max(most, _LEAST_CELLS))
    if pods < _LEAST_CELLS:
        return _Shape(name, left - _COUNT - 1, _COUNT)
    return _Shape(name, left - pods - 1, pods)


def _bar_row(node: NodeScene, shape: _Shape, signs: _Signs, page: Page) -> Text:
    style = style_of(node)
    row = Text(no_wrap=True)
    row.append(f"{page.shortened(node.name, shape.name):<{shape.name}} ")
    row.append(f"{signs.looks[node.look]} ", "bold magenta")
    used, requested = node.used.get(resources.CPU, 0.0), node.requested
    solid = bar(used, shape.bar, signs.full, signs.parts)
    asked = max(round(min(requested, 100.0) * shape.bar / 100) - len(solid), 0)
    row.append(solid, style)
    row.append(signs.requested * asked, f"dim {style}")
    row.append(signs.free * (shape.bar - len(solid) - asked), "dim")
    row.append(f"{min(used, 999.0):>{_PERCENT - 1}.0f}%", style)
    row.append(" ")
    return row.append_text(_pods(node.pods, shape.pods, signs))


def bar(percent: float, width: int, full: str, parts: str) -> str:
    """So long as the share is, to an eighth of a cell where there are signs for that."""
    cells = min(max(percent, 0.0), 100.0) * width / 100
    if not parts:
        return full * round(cells)
    whole = int(cells)
    part = int((cells - whole) * (len(parts) + 1))
    return full * whole + (parts[part - 1] if part else "")


def _pods(pods: Sequence[PodLook], width: int, signs: _Signs) -> Text:
    text = Text(no_wrap=True)
    if width < _LEAST_CELLS:
        text.append(f"{len(pods):>{width}}", "dim" if not _changing(pods) else "bold")
        return text
    more = ""
    shown: Sequence[PodLook] = pods
    if len(pods) > width:
        more = f" {len(pods)}"
        # What starts or leaves is what there is to see.
        by_news = sorted(range(len(pods)), key=lambda place: pods[place] is PodLook.SERVING)
        shown = [pods[place] for place in sorted(by_news[: width - len(more)])]
    for look in shown:
        text.append(signs.pods[look], _POD_STYLES[look])
    text.append(more, "dim")
    return text.append(" " * (width - len(shown) - len(more)))


def _changing(pods: Sequence[PodLook]) -> int:
    counts = Counter(pods)
    return counts[PodLook.STARTING] + counts[PodLook.LEAVING]


# ---------------------------------------------------------------------- tiles


def _tiles(nodes: Sequence[NodeScene], width: int, rows: int, signs: _Signs) -> list[Text]:
    """A sign each, as high as its load; what does not fit is counted."""
    in_a_row = max(width // _TILE, 1)
    room = in_a_row * rows
    shown = nodes if len(nodes) <= room else nodes[: max(room - in_a_row, 0)]
    lines = []
    for start in range(0, len(shown), in_a_row):
        line = Text(no_wrap=True)
        for node in shown[start : start + in_a_row]:
            line.append(_height(node, signs) * (_TILE - 1), style_of(node))
            line.append(" ")
        lines.append(line)
    if len(shown) < len(nodes) and rows:
        lines.append(Text(f"and {len(nodes) - len(shown)} more nodes", "dim", no_wrap=True))
    return lines[:rows]


def _height(node: NodeScene, signs: _Signs) -> str:
    if node.look is not NodeLook.PLAIN:
        return signs.looks[node.look]
    used = min(max(node.used.get(resources.CPU, 0.0), 0.0), 100.0)
    return signs.heights[min(int(used * len(signs.heights) / 100), len(signs.heights) - 1)]
