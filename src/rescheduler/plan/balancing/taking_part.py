"""Between which nodes load is moved, how far, and which pods go back nowhere."""

from typing import Final

import numpy as np

from rescheduler.model import names, strategies
from rescheduler.model.columns import NONE
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.spare import (
    FULL,
    LEFT_ALONE,
    MANY_FULL,
    MANY_LEFT_ALONE,
    MANY_PACKED,
    PACKED,
    guests,
)

BY_LOAD: Final = frozenset({strategies.LOAD_BALANCING, strategies.RESOURCE_OPTIMIZATION})
"""Whose moves only load has decided."""

_DAY: Final = 24 * 3600.0
"""For so long a pod does not go back to where load has driven it from: what is busy by day and idle
by night would make it commute.
"""
_NAMED: Final = 3
"""Nodes that a sentence names; of more, only their number."""


def taking_part(desk: Desk) -> Mask:
    """By node: it is evened out with others. What an autoscaler would remove soon is not."""
    return _filled(desk, desk.eligible & ~desk.spare) & ~desk.packed


def taking_load(desk: Desk) -> Mask:
    """By node: it may take pods of overloaded ones. What an autoscaler would remove soon does so if
    it can be kept, and no other would do.
    """
    return _filled(desk, desk.eligible & ~desk.left_alone)


def _filled(desk: Desk, found: Mask) -> Mask:
    """Where nodes are to be emptied for their cost, those that are empty are not filled again."""
    if strategies.COST_OPTIMIZATION not in desk.configuration.enabled_strategies:
        return found
    return found & at_work(desk)


def at_work(desk: Desk) -> Mask:
    """By node: it has pods that are not bound to it, as those of DaemonSets and static ones are,
    and that are not on their way out.
    """
    places = desk.placement.place
    rows = guests(desk.snapshot, places)
    busy: Mask = np.bincount(places[rows], minlength=len(desk.nodes)) > 0
    return busy


def why_too_few_are_known(desk: Desk) -> str:
    """Half of the nodes say nothing about the other half."""
    open_ = desk.in_scope & desk.placement.nodes_open & ~desk.closed
    known = int((open_ & desk.loads.known).sum())
    if 2 * known >= int(open_.sum()):
        return ""
    return (
        f"the {desk.loads.word} of {known} of {int(open_.sum())} nodes is known: half of them are "
        f"needed{unknown_words(desk)}"
    )


def unknown_words(desk: Desk) -> str:
    """To go on a sentence with; empty where all is known."""
    unknown = [number for number in sorted(desk.loads.unknown) if desk.in_scope[number]]
    if not unknown:
        return ""
    named = "; ".join(
        f"the {desk.loads.word} of {desk.nodes[number].name} is unknown: "
        f"{desk.loads.unknown[number]}"
        for number in unknown[:_NAMED]
    )
    more = len(unknown) - _NAMED
    return f"; {named}" + (f"; and that of {more} more nodes" if more > 0 else "")


def left_out_words(desk: Desk) -> str:
    """The same, and of nodes that are left to who would remove them."""
    return unknown_words(desk) + _named(desk, desk.left_alone, LEFT_ALONE, MANY_LEFT_ALONE)


def not_evened_words(desk: Desk) -> str:
    """The same, and of nodes that are left to who packs them."""
    spare = _named(desk, desk.spare & ~desk.packed, LEFT_ALONE, MANY_LEFT_ALONE)
    return unknown_words(desk) + spare + _named(desk, desk.packed, PACKED, MANY_PACKED)


def full_words(desk: Desk) -> str:
    """Of nodes that are as full as they are meant to be, where nobody measures."""
    return _named(desk, not_judged(desk), FULL, MANY_FULL)


def not_judged(desk: Desk) -> Mask:
    """By node: it is packed by requests, which are all that is known of it."""
    return desk.packed & (desk.loads.word == "requests")


def _named(desk: Desk, nodes: Mask, words: str, of_many: str) -> str:
    found = np.flatnonzero(desk.in_scope & desk.placement.nodes_open & nodes).tolist()
    if not found:
        return ""
    named = ", ".join(desk.nodes[number].name for number in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"; {named}{more} {words if len(found) == 1 else of_many}"


def thresholds(desk: Desk) -> Figures:
    configuration = desk.configuration
    by_name = {
        "cpu": configuration.cpu_threshold_percent,
        "memory": configuration.memory_threshold_percent,
    }
    return np.array([by_name[name] for name in RESOURCES])


def ceiling(desk: Desk) -> Figures:
    """The load to which a target may be lifted: a margin below the threshold from which on it would
    be relieved, or noise would set that off.
    """
    if strategies.RESOURCE_OPTIMIZATION not in desk.configuration.enabled_strategies:
        return np.full(len(RESOURCES), np.inf)
    return thresholds(desk) - desk.configuration.stability.margin_points


def may_take(desk: Desk, row: int, nodes: Mask) -> Mask:
    """Of these nodes, those that take the pod, and from which load has not driven it."""
    targets = desk.targets(row) & nodes
    back = _came_from(desk, row)
    if back != NONE:
        targets[back] = False
    return targets


def _came_from(desk: Desk, row: int) -> int:
    """The node from which load has driven it within a day; NONE: it may go anywhere."""
    told = desk.snapshot.own_labels_of(row)
    if told.get(names.MIGRATION_REASON) not in BY_LOAD:
        return NONE
    return desk.movable.cooldowns.source_within(row, _DAY)
