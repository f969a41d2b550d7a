"""What is explained of a node, or of a whole plan, as text for people. Pure."""

from collections.abc import Iterator
from typing import Final

from rescheduler.cli.render import plan_tables
from rescheduler.cli.render.explain_tables import to_move
from rescheduler.cli.render.layout import Page, counted, some_of
from rescheduler.model.moves import Move
from rescheduler.plan.explaining_nodes import NodeExplanation, Resident
from rescheduler.plan.explaining_plans import PlanExplanation, Staying
from rescheduler.plan.loads import RESOURCES

_LABEL_WIDTH: Final = 12
_MOST: Final = 10


def of_node(explained: NodeExplanation, page: Page, *, everything: bool = False) -> str:
    """Everything: every pod."""
    lines: list[str] = []
    for label, told in _told(explained, everything=everything):
        lines += page.labelled(label, told, _LABEL_WIDTH)
    return "\n".join(lines) + "\n"


def _told(explained: NodeExplanation, *, everything: bool) -> Iterator[tuple[str, list[str]]]:
    yield "Node", [explained.node.name]
    yield "Takes pods", [f"no: {'; '.join(explained.problems)}" if explained.problems else "yes"]
    yield "Load", [_load(explained)]
    yield "Hot", [_hot(explained)]
    yield "Plan", [*_planned(explained)]
    held = [each for each in explained.residents if not each.leaves and not each.is_part_of_node]
    part = [each.full_name for each in explained.residents if each.is_part_of_node]
    yield "Part of it", [f"{counted(len(part), 'pod')}: {some_of(part)}"] if part else []
    shown = held if everything else held[:_MOST]
    yield "Stay", [line for each in shown for line in _resident(each)] or ["nobody"]
    if len(shown) < len(held):
        yield "", [f"and {counted(len(held) - len(shown), 'more pod')}; --all shows all"]
    yield "Notes", list(explained.notes)


def _load(explained: NodeExplanation) -> str:
    if not explained.load.before:
        return f"unknown: {explained.unknown or 'nobody measures it'}"
    told = ", ".join(
        f"{name} {explained.load.before[name]:.1f} % (threshold {explained.thresholds[name]:g})"
        for name in RESOURCES
    )
    return f"{told}, by {explained.word}; {counted(explained.load.pods_before, 'pod')}"


def _hot(explained: NodeExplanation) -> str:
    if not explained.overloaded:
        return "no"
    parts = []
    for name in explained.overloaded:
        over = explained.load.before[name] - explained.thresholds[name]
        most = sorted(explained.residents, key=lambda each: -each.share.get(name, 0.0))[:3]
        shares = ", ".join(f"{each.full_name} {each.share.get(name, 0.0):.1f}" for each in most)
        parts.append(f"{over:.1f} points of {name} too much; the largest shares: {shares}")
    return "; ".join(parts)


def _planned(explained: NodeExplanation) -> Iterator[str]:
    if explained.is_emptied:
        yield "is to empty it"
    if not explained.leaving and not explained.coming:
        yield "moves nothing off it, and nothing to it"
        return
    after = ", ".join(f"{name} {load:.1f} %" for name, load in explained.load.after.items())
    for moves, words in ((explained.leaving, "off it"), (explained.coming, "to it")):
        if moves:
            yield f"moves {counted(len(moves), 'pod')} {words}: {_named(moves)}"
    if after:
        yield f"after that: {after}"


def _named(moves: tuple[Move, ...]) -> str:
    return some_of([each.full_name for each in moves])


def _resident(each: Resident) -> Iterator[str]:
    share = ", ".join(f"{name} {points:.1f}" for name, points in each.share.items())
    why = "; ".join(each.reasons) or "it may move, and no strategy has a use for that"
    yield f"- {each.full_name}{f' ({share} points)' if share else ''}: {why}"
    yield from (f"  {line}" for line in to_move(each.remedies, each.nothing_helps))


# ------------------------------------------------------------------ plans


def of_plan(
    explained: PlanExplanation, page: Page, *, about: str = "", everything: bool = False
) -> str:
    plan = explained.plan
    blocks: list[list[str]] = [
        page.wrapped(f"{about}{': ' if about else ''}{plan_tables.headline(plan)}"),
        plan_tables.strategies(plan, page),
        plan_tables.moves(plan.moves, page),
        _staying(explained, page, everything=everything),
        [line for each in plan.notes for line in page.wrapped(f"Note: {each}", " " * 6)],
    ]
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def _staying(explained: PlanExplanation, page: Page, *, everything: bool) -> list[str]:
    if not explained.staying:
        return []
    shown = explained.staying if everything else explained.staying[: explained.asked_about]
    lines = ["Stay, and what would have to change:"]
    for each in shown:
        lines += _group(each, page)
    left = len(explained.staying) - len(shown)
    if left:
        lines.append(f"and {counted(left, 'more reason')}; --all shows all")
    return lines


def _group(each: Staying, page: Page) -> Iterator[str]:
    yield from page.wrapped(
        f"{len(each.pods)}  {some_of(each.pods)}: {'; '.join(each.reasons)}", "    "
    )
    about = f"{each.pods[0]}: " if len(each.pods) > 1 else ""
    for line in to_move(each.remedies, each.nothing_helps):
        yield from page.wrapped(f"    {about}{line}", " " * 6)
        about = ""
