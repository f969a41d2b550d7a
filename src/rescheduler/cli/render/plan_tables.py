"""A plan as text for people: why, how the nodes stand before and after, what moves, what stays."""

from collections.abc import Sequence
from typing import Final

from rescheduler.cli.render.layout import Page, alike, counted, some_of
from rescheduler.cli.render.load_pictures import pictures
from rescheduler.model.moves import Move, NodeLoad, Plan, Report
from rescheduler.plan.loads import RESOURCES

_MOST_NODES: Final = 20
"""Up to so many are shown, whether they change or not."""
_MOST_REASONS: Final = 15
_UNKNOWN: Final = "<unknown>"


def as_text(plan: Plan, page: Page, *, about: str = "", everything: bool = False) -> str:
    """What `about` says of the cluster stands first. Everything: also nodes that do not change,
    and every reason why pods stay.
    """
    blocks: list[list[str]] = [
        page.wrapped(f"{about}{': ' if about else ''}{headline(plan)}"),
        strategies(plan, page),
        pictures(plan, page),
        _nodes(plan, page, everything=everything),
        moves(plan.moves, page),
        refusals(plan, page, everything=everything),
        _notes(plan, page),
        page.wrapped(_again(plan)),
    ]
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def headline(plan: Plan) -> str:
    if not plan.moves:
        return "nothing to move"
    waves = counted(len({move.wave for move in plan.moves}), "wave")
    return f"{counted(len(plan.moves), 'move')} in {waves}; nothing is changed by planning"


def strategies(plan: Plan, page: Page) -> list[str]:
    if not plan.reports:
        return ["No strategy is enabled."]
    counts = {each.strategy: 0 for each in plan.reports}
    for move in plan.moves:
        counts[move.strategy] = counts.get(move.strategy, 0) + 1
    rows = [["STRATEGY", "MOVES", "WHY"]]
    rows += [[each.strategy, str(counts[each.strategy]), why(each)] for each in plan.reports]
    return page.table_with_text(rows, numbers=(1,))


def why(report: Report) -> str:
    return report.summary if report.acted else f"skipped: {report.summary}"


# ------------------------------------------------------------------ nodes


def _nodes(plan: Plan, page: Page, *, everything: bool) -> list[str]:
    if not plan.nodes:
        return []
    few = everything or len(plan.nodes) <= _MOST_NODES
    shown = list(plan.nodes) if few else _telling(plan)
    rows = [["NODE", *(f"{name.upper()}-%" for name in RESOURCES), "PODS", "ELIGIBLE"]]
    rows += [_node_row(each, page) for each in shown]
    lines = page.table(rows, numbers=range(1, len(rows[0]) - 1))
    left = len(plan.nodes) - len(shown)
    if left:
        lines += page.wrapped(f"and {counted(left, 'node')} without a change; --all shows all")
    return lines


def _telling(plan: Plan) -> list[NodeLoad]:
    """Nodes that change, and those at the ends."""
    ends = {name for each in plan.imbalances for name in (each.most, each.least)}
    return [each for each in plan.nodes if each.node in ends or _changes(each)]


def _changes(node: NodeLoad) -> bool:
    if node.pods_before != node.pods_after:
        return True
    return any(f"{node.before[name]:.1f}" != f"{node.after[name]:.1f}" for name in node.before)


def _node_row(node: NodeLoad, page: Page) -> list[str]:
    loads = [_changed(node.before.get(name), node.after.get(name), page) for name in RESOURCES]
    pods = str(node.pods_before)
    if node.pods_before != node.pods_after:
        pods = f"{pods} {page.arrow} {node.pods_after}"
    return [node.node, *loads, pods, "yes" if node.eligible else "no"]


def _changed(before: float | None, after: float | None, page: Page) -> str:
    if before is None or after is None:
        return _UNKNOWN
    one, other = f"{before:.1f}", f"{after:.1f}"
    return one if one == other else f"{one} {page.arrow} {other:>5}"


# ------------------------------------------------------------------ moves, and what stays


def moves(moves: Sequence[Move], page: Page) -> list[str]:
    if not moves:
        return []
    rows = [["#", "POD", "FROM", "TO", "STRATEGY", "WAY", "WAVE", "REASON"]]
    rows += [
        [
            str(place),
            move.full_name,
            move.source,
            move.target,
            move.strategy,
            move.way,
            str(move.wave),
            f"with its group {move.group}: {move.reason}" if move.group else move.reason,
        ]
        for place, move in enumerate(moves, 1)
    ]
    return page.table_with_text(rows, names=(1, 2, 3), numbers=(0, 6))


def refusals(plan: Plan, page: Page, *, everything: bool = False) -> list[str]:
    told = ((reason, each.full_name) for each in plan.refusals for reason in each.reasons)
    groups = list(alike(told))
    if not groups:
        return []
    shown = groups if everything else groups[:_MOST_REASONS]
    rows = [["STAY", "WHY"]]
    rows += [[str(len(pods)), f"{reason}: {some_of(pods)}"] for reason, pods in shown]
    lines = page.table_with_text(rows, names=(), numbers=(0,))
    if len(shown) < len(groups):
        more = counted(len(groups) - len(shown), "more reason")
        lines.append(f"and {more}; --all shows all")
    return lines


# ------------------------------------------------------------------ what else is to be told


def _notes(plan: Plan, page: Page) -> list[str]:
    return [line for each in plan.notes for line in page.wrapped(f"Note: {each}", " " * 6)]


def _again(plan: Plan) -> str:
    if not plan.steps:
        return ""
    return f"The same plan again: --steps {plan.steps} --seed {plan.seed}"
