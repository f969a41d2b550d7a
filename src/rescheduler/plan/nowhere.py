"""Why no node takes a pod, in one sentence over all of them."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from rescheduler.model import resources
from rescheduler.model.columns import NONE
from rescheduler.plan.cooldowns import UNSETTLED
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import Mask
from rescheduler.plan.spare import LEFT_ALONE, PACKED

_MANY: Final = 50
_SOME: Final = 20
"""If nodes are many, some of them are asked for all: of thousands, most say the same."""

Part = tuple[str, int, str]
"""Why, of how many nodes, and how sure that is: empty, `about ` or `at least `."""


def why_nowhere(desk: Desk, row: int, *, balancing: bool = False, evening: bool = False) -> str:
    """Of a pod that has no target now. Every node counts for the first rule that excludes it.

    Balancing: of those that are left to an autoscaler, none was asked; evening: nor of those that
    it packs.
    """
    others = np.ones(len(desk.nodes), np.bool_)
    if desk.placement.place[row] != NONE:
        others[desk.placement.place[row]] = False
    if not others.any():
        return "there is no other node"
    left_alone = [(~desk.packed, f"the node {PACKED}")] if evening else []
    left_alone += [(~desk.left_alone, f"the node {LEFT_ALONE}")] if balancing else []
    most_first = sorted(_parts(desk, row, others, left_alone), key=lambda part: -part[1])
    told = [f"{why} ({sure}{_nodes(count)})" for why, count, sure in most_first if count]
    return "no node takes it: " + "; ".join(told)


def _parts(
    desk: Desk, row: int, others: Mask, left_alone: list[tuple[Mask, str]]
) -> Iterator[Part]:
    """From what is true of a node whatever the pod to what depends on who else is there."""
    placement = desk.placement
    left = others.copy()
    for mask, words in (
        (desk.in_scope, "the node is not in scope.nodeSelector"),
        (~desk.closed, "the node is being emptied"),
        (desk.usable, f"the node {UNSETTLED}"),
        *left_alone,
    ):
        yield words, int((left & ~mask).sum()), ""
        left &= mask
    shut = np.flatnonzero(left & ~placement.nodes_open).tolist()
    for why, count in Counter(map(placement.why_no_target, shut)).items():
        yield f"the node cannot be a target: {why}", count, ""
    left &= placement.nodes_open
    can = placement.static_mask(row)
    yield from _asked(desk, row, left & ~can)
    left &= can
    asks = placement.asks(row)
    for number in np.flatnonzero(asks).tolist():
        short = left & (placement.free[:, number] < asks[number])
        if short.any():
            yield _too_little(desk, row, number, short), int(short.sum()), ""
            left &= ~short
    yield from _asked(desk, row, left)


def _too_little(desk: Desk, row: int, number: int, short: Mask) -> str:
    name = desk.snapshot.resource_names[number]
    if name == resources.PODS:
        return "no room for another pod"
    asked = resources.in_words(name, int(desk.placement.asks(row)[number]))
    most = max(int(desk.placement.free[short, number].max()), 0)
    return f"not enough {name}: requests {asked}, at most {resources.in_words(name, most)} free"


def _asked(desk: Desk, row: int, nodes: Mask) -> Iterator[Part]:
    numbers = np.flatnonzero(nodes).tolist()
    some = numbers if len(numbers) <= _MANY else numbers[:: len(numbers) // _SOME]
    reasons = (desk.placement.why_not(row, node, desk.way(row))[:1] for node in some)
    found = Counter(why for first in reasons for why in first)
    for why, count in found.items():
        if len(some) == len(numbers):
            yield why, count, ""
        elif len(found) == 1:
            yield why, len(numbers), "about "
        else:
            yield why, count, "at least "


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
