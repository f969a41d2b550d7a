"""Everything there is to say about one node: why it is hot, or not emptied, and who holds it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.config import Configuration
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Move, NodeLoad, Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.balancing.taking_part import thresholds
from rescheduler.plan.desk import Desk
from rescheduler.plan.explaining import Help, share_of, what_would_help
from rescheduler.plan.loads import RESOURCES
from rescheduler.plan.whatif import Remedy

ASKED_ABOUT: Final = 10
"""Pods of which it is found out what would have to change, those of the largest share first: each
takes several plans' worth of looking.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A pod of the node."""

    full_name: str
    share: Mapping[str, float]
    """Of the node, by resource, in points."""
    is_part_of_node: bool
    """Of a DaemonSet, or static: it ends with the node."""
    leaves: str
    """The node that the plan moves it to; empty: it stays."""
    reasons: tuple[str, ...]
    """Why it stays; none: nothing but that the plan has no use for it elsewhere."""
    remedies: tuple[Remedy, ...]
    nothing_helps: str
    """Why there is none, in words; empty: there is, or nobody asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExplanation:
    node: Node
    word: str
    """What loads are judged by: `requests` or `usage`."""
    load: NodeLoad
    thresholds: Mapping[str, float]
    overloaded: tuple[str, ...]
    """Resources of which it has more than the threshold."""
    unknown: str
    """Why its load is not known."""
    problems: tuple[str, ...]
    """Why it takes no pods."""
    is_emptied: bool
    """The plan is to empty it."""
    leaving: tuple[Move, ...]
    coming: tuple[Move, ...]
    residents: tuple[Resident, ...]
    """The largest share first."""
    notes: tuple[str, ...]
    """What strategies say of it."""


def explain_node(
    snapshot: Snapshot,
    configuration: Configuration,
    name: str,
    decided: Plan,
    *,
    asked_about: int = ASKED_ABOUT,
) -> NodeExplanation:
    """`decided` is the plan of the same snapshot and configuration."""
    desk = Desk(snapshot, configuration)
    number = snapshot.node_numbers[name]
    load = decided.nodes[number]
    limits = dict(zip(RESOURCES, thresholds(desk).tolist(), strict=True))
    is_emptied = any(each.node == name for each in decided.emptying)
    return NodeExplanation(
        node=snapshot.nodes[number],
        word=desk.loads.word,
        load=load,
        thresholds=limits,
        overloaded=tuple(each for each in RESOURCES if load.before.get(each, 0.0) > limits[each]),
        unknown=desk.loads.unknown.get(number, ""),
        problems=tuple(desk.placement.facts.problems[number]),
        is_emptied=is_emptied,
        leaving=tuple(each for each in decided.moves if each.source == name),
        coming=tuple(each for each in decided.moves if each.target == name),
        residents=tuple(_residents(desk, number, decided, is_emptied, asked_about)),
        notes=tuple(each for each in decided.notes if _names(each, name)),
    )


def _names(note: str, node: str) -> bool:
    return node in note.replace(",", " ").replace(":", " ").split()


def _residents(
    desk: Desk,
    number: int,
    decided: Plan,
    is_emptied: bool,  # noqa: FBT001
    asked_about: int,
) -> Iterable[Resident]:
    targets = {each.full_name: each.target for each in decided.moves}
    told = {each.full_name: each.reasons for each in decided.refusals}
    rows = desk.placement.rows_on(number)
    shares = {row: share_of(desk, row) for row in rows}
    left = asked_about
    for row in sorted(rows, key=lambda row: (-sum(shares[row].values()), desk.name(row))):
        name, is_part = desk.name(row), desk.is_part_of_its_node(row)
        reasons = tuple(desk.why_it_stays(row, asked=is_emptied)) or told.get(name, ())
        found = Help()
        if not is_part and name not in targets and reasons and left > 0:
            left -= 1
            found = what_would_help(desk, row, asked=is_emptied)
        yield Resident(
            full_name=name,
            share=shares[row],
            is_part_of_node=is_part,
            leaves=targets.get(name, ""),
            reasons=() if name in targets else tuple(map(str, reasons)),
            remedies=found.remedies,
            nothing_helps=found.nothing_helps,
        )
