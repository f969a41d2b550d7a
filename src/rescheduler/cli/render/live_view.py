"""What the demo shows on a terminal of any size: one frame of it. Pure.

From top to bottom: a title, the sentence of the chapter, the nodes, the moves or the plan, and a
line of figures. On a wide terminal moves and plan stand beside the nodes, on a small one the plan
takes their place.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from rescheduler.cli.render import move_words, node_pictures, plan_tables
from rescheduler.cli.render.layout import Page, counted, printable
from rescheduler.model.moves import Plan
from rescheduler.simulation.scenes import Chapter, MoveLook, MoveScene, Scene

_WIDE: Final = 140
_LEFT_SHARE: Final = 0.58
_LEAST_PANEL: Final = 5
"""Lines, with the heading."""
_REASONS_BESIDE: Final = 110
"""From this width on each move has its reason beside it."""
_ROOM_FOR_REASONS: Final = 8
"""From so many lines on each move has its reason below it."""
_USUAL_WIDTH: Final = 80
_LEAST_WIDTH, _LEAST_HEIGHT = 30, 8
_GAP: Final = "  "
_BELOW: Final = "    "
_TURNING: Final = {False: "◐◓◑◒", True: "|/-\\"}
_MARKS: Final = {
    False: {MoveLook.MOVED: "✓", MoveLook.PUT_OFF: "-", MoveLook.FAILED: "✗"},
    True: {MoveLook.MOVED: "v", MoveLook.PUT_OFF: "-", MoveLook.FAILED: "x"},
}
_STYLES: Final = {
    MoveLook.PUT_OFF: "yellow",
    MoveLook.UNDER_WAY: "bold",
    MoveLook.MOVED: "green",
    MoveLook.FAILED: "bold red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    chapter: Chapter
    scene: Scene
    plan: Plan | None = None
    """Shown instead of the moves."""
    about: str = ""
    """What the plan is of."""
    tick: int = 0
    """Grows from frame to frame: what is under way turns."""


def drawn(frame: Frame, width: int, height: int, page: Page) -> list[Text]:
    """As many lines as the terminal has at most, and none longer than it is wide."""
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        lines = [*_sentence(frame.chapter, width, height - 1), _figures(frame.scene, width)]
    else:
        lines_of_text = 2 if width >= _USUAL_WIDTH else 3
        head = [_title(frame.scene, width, page), *_sentence(frame.chapter, width, lines_of_text)]
        body = _body(frame, width, height - len(head) - 1, page)
        lines = [*head, *body, _figures(frame.scene, width)]
    for line in lines:
        line.truncate(width)
    return lines[:height]


# ---------------------------------------------------------------------- head and foot


def _title(scene: Scene, width: int, page: Page) -> Text:
    facts = f"{counted(len(scene.nodes), 'node')}, {counted(scene.pods, 'pod')}"
    title = Text("rescheduler demo", "bold", no_wrap=True)
    title.append(f"  {facts}  {scene.at:%a %H:%M:%S}", "not bold")
    for legend in node_pictures.legends(page):
        room = width - title.cell_len - len(legend)
        if room >= len(_GAP):
            return title.append(" " * room + legend, "not bold dim")
    return title


def _sentence(chapter: Chapter, width: int, most: int) -> list[Text]:
    """Always as many lines, so that nothing below it jumps."""
    number = f"{chapter.number} "
    wrapped = textwrap.wrap(number + chapter.sentence, width, subsequent_indent=" " * len(number))
    wrapped = [*wrapped, *[""] * most][: max(most, 0)]
    return [Text(line, "bold cyan", no_wrap=True) for line in wrapped]


def _figures(scene: Scene, width: int) -> Text:
    """As much of the imbalance as there is room for."""
    most = len(scene.imbalance)
    lines = (_figures_with(scene, count) for count in range(most, -1, -1))
    return next((line for line in lines if line.cell_len <= width), _figures_with(scene, 0))


def _figures_with(scene: Scene, imbalances: int) -> Text:
    parts = [
        (f"moved {scene.moved}", "bold green"),
        (f"under way {scene.under_way}", ""),
        (f"failed {scene.failed}", "bold red" if scene.failed else ""),
        (f"dips {scene.dips}", "bold red" if scene.dips else "bold green"),
    ]
    shown = list(scene.imbalance.items())[:imbalances]
    if words := ", ".join(f"{name} {points:.0f}" for name, points in shown):
        parts.insert(0, (f"imbalance {words} points", "bold"))
    return Text(_GAP, no_wrap=True).join(Text(words, style) for words, style in parts)


# ---------------------------------------------------------------------- nodes, and what happens


def _body(frame: Frame, width: int, height: int, page: Page) -> list[Text]:
    nodes = frame.scene.nodes
    if width >= _WIDE:
        left = int(width * _LEFT_SHARE)
        pictures = node_pictures.drawn(nodes, left, height, page)
        panel = _panel(frame, width - left - len(_GAP), height, page)
        return _beside(pictures, panel, left, height)
    if frame.plan is not None:
        return _filled(_plan(frame.plan, frame.about, width, height, page), height)
    pictures = node_pictures.drawn(nodes, width, height - _LEAST_PANEL, page)
    panel = _panel(frame, width, height - len(pictures), page)
    return _filled([*pictures, *panel], height)


def _beside(left: Sequence[Text], right: Sequence[Text], width: int, height: int) -> list[Text]:
    lines = []
    for one, other in zip(_filled(left, height), _filled(right, height), strict=True):
        line = one.copy()
        line.pad_right(max(width - line.cell_len, 0))
        lines.append(line.append(_GAP).append_text(other))
    return lines


def _filled(lines: Sequence[Text], height: int) -> list[Text]:
    return [*lines, *(Text() for _ in range(height - len(lines)))][:height]


def _panel(frame: Frame, width: int, height: int, page: Page) -> list[Text]:
    if frame.plan is not None:
        return _plan(frame.plan, frame.about, width, height, page)
    heading = [_heading(frame.scene.moves, width, page)]
    if height <= 1:
        return heading[:height]
    return [*heading, *_moves(frame, width, height - 1, page)][:height]


def _heading(moves: Sequence[MoveScene], width: int, page: Page) -> Text:
    waiting = sum(each.look is MoveLook.WAITING for each in moves)
    words = f"moves{f', {waiting} wait for their turn' if waiting else ''} "
    rule = "-" if page.plain else "─"
    return Text(words + rule * max(width - len(words), 0), "dim", no_wrap=True)


# ---------------------------------------------------------------------- the plan


def _plan(plan: Plan, about: str, width: int, height: int, page: Page) -> list[Text]:
    """The beginning of each part of what `rescheduler plan` prints."""
    narrow = Page(width=width, plain=page.plain)
    first = narrow.wrapped(f"{about}: {plan_tables.headline(plan)}")
    strategies = plan_tables.strategies(plan, narrow)
    stay = plan_tables.refusals(plan, narrow)
    moves = plan_tables.moves(plan.moves, narrow)
    room = height - len(first) - len(strategies)
    shown_moves = _cut(moves, room - min(len(stay), room // 3), len(plan.moves))
    shown_stay = stay[: max(room - len(shown_moves), 0)]
    text = Text("\n", no_wrap=True).join(
        [
            Text("\n".join(first), "bold"),
            Text("\n".join(strategies)),
            *([Text("\n".join(shown_moves))] if shown_moves else []),
            *([Text("\n".join(shown_stay), "dim")] if shown_stay else []),
        ]
    )
    return list(text.split("\n"))[:height]


def _cut(lines: Sequence[str], room: int, moves: int) -> list[str]:
    if len(lines) <= room:
        return list(lines)
    if room <= 1:
        return []
    kept = list(lines[: room - 1])
    # On a narrow page a move has its reason below it, indented: no move without it.
    while kept and lines[len(kept)].startswith(_BELOW):
        kept.pop()
    shown = sum(
        line.split(maxsplit=1)[0].isdecimal() for line in kept if not line.startswith("    ")
    )
    return [*kept, f"... and {counted(moves - shown, 'more move')}"]


# ---------------------------------------------------------------------- moves


def _moves(frame: Frame, width: int, rows: int, page: Page) -> list[Text]:
    """Those that were heard of last, in the order in which they were asked for. Each with its
    reason, beside or below it, or the last of them where there is no room for more.
    """
    beside = width >= _REASONS_BESIDE
    below = 0 if beside else max(rows // 2 if rows >= _ROOM_FOR_REASONS else 1, 0)
    begun = [each for each in frame.scene.moves if each.look is not MoveLook.WAITING]
    last = sorted(begun, key=lambda each: each.changed)[-(max(rows - below, 1)) :]
    told = last[-below:] if below else []
    shown = [each for each in begun if each in last]
    names = max((len(printable(each.pod)) for each in shown), default=0)
    names = min(names, max(width // 3, 12))
    places = max((len(move_words.where(each, page)) for each in shown), default=0)
    lines = []
    for move in shown:
        line = _move(move, frame.tick, names, places, page)
        reason = printable(move_words.why(move))
        if beside:
            line.append(_GAP + _shortened(reason, width - line.cell_len - len(_GAP), page), "dim")
        lines.append(line)
        if move in told:
            lines.append(
                Text(_GAP + _shortened(reason, width - len(_GAP), page), "dim", no_wrap=True)
            )
    return lines


def _move(move: MoveScene, tick: int, names: int, places: int, page: Page) -> Text:
    marks, turning = _MARKS[page.plain], _TURNING[page.plain]
    mark = marks.get(move.look) or turning[tick % len(turning)]
    style = _STYLES[move.look]
    line = Text(f"{mark} ", style, no_wrap=True)
    line.append(f"{page.shortened(printable(move.pod), names):<{names}}{_GAP}", "not bold default")
    line.append(f"{move_words.where(move, page):<{places}}{_GAP}", "not bold default")
    return line.append(f"{move_words.step(move):<{move_words.LONGEST_STEP}}", style)


def _shortened(text: str, width: int, page: Page) -> str:
    """At its end: a sentence begins with what matters."""
    if len(text) <= width:
        return text
    cut = "..." if page.plain else "…"
    return text[: max(width - len(cut), 0)] + cut
