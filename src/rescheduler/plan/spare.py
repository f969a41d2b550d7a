"""Nodes that an autoscaler of nodes would remove soon. Who balances load fills none of them: that
would undo what saves a node, or the pods would be moved again when the node goes.

cluster-autoscaler removes a node of which no more than a share of cpu and memory is asked for, if
all of its pods have a place elsewhere. karpenter asks only the latter, and begins with those whose
pods are fewest for what they cost; before its taint it leaves no mark on a node. So of the nodes
that are packed like this, any may go as soon as load falls: those are taken to stay that its pool
would need all the same if a third of it were gone, counted from the last that it would give up.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rescheduler.config import NodeAutoscaler
from rescheduler.model import names
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, Flag, Numbers
from rescheduler.model.resources import CPU
from rescheduler.model.selectors import Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import Mask, Placement
from rescheduler.plan.loads import RESOURCES, Figures
from rescheduler.plan.movable.annotations import is_undisturbed

_EMPTIEST: Final = 50
"""Nodes that are asked first: where many are spare, these have room enough for any of them."""
_LASTS: Final = 2 / 3
"""Of what pods ask for: load that falls further within minutes is rare."""
LEFT_ALONE: Final = "is left to the autoscaler of nodes, which may remove it soon (nodeAutoscaler)"
MANY_LEFT_ALONE: Final = (
    "are left to the autoscaler of nodes, which may remove them soon (nodeAutoscaler)"
)
PACKED: Final = "is packed by its autoscaler, and not evened out (nodeAutoscaler.packedNodes)"
MANY_PACKED: Final = (
    "are packed by their autoscaler, and not evened out (nodeAutoscaler.packedNodes)"
)
FULL: Final = "is full by requests as its autoscaler means it to be (nodeAutoscaler.packedNodes)"
MANY_FULL: Final = (
    "are full by requests as their autoscaler means them to be (nodeAutoscaler.packedNodes)"
)
"""Of nodes, in words."""


def packed_nodes(snapshot: Snapshot, settings: NodeAutoscaler) -> Mask:
    """By node: its autoscaler packs it by requests, and whoever evens it out works against it."""
    return _matching(snapshot.nodes, settings.packed_nodes)


def kept_nodes(snapshot: Snapshot, packed: Mask) -> Mask:
    """By node: karpenter leaves it alone for a while when a pod asks for it that we moved there."""
    found = packed.copy()
    for number in np.flatnonzero(packed).tolist():
        found[number] = names.NODE_POOL in snapshot.nodes[number].labels
    return found


def spare_nodes(
    snapshot: Snapshot, placement: Placement, settings: NodeAutoscaler, packed: Mask
) -> Mask:
    """By node, as pods are placed now."""
    none = np.zeros(len(snapshot.nodes), np.bool_)
    if not settings.scale_down_utilization_percent:
        return none
    used_little = _requested_percent(snapshot, placement) <= settings.scale_down_utilization_percent
    is_same = settings.node_selector == settings.packed_nodes
    declared = packed if is_same else _matching(snapshot.nodes, settings.node_selector)
    found = used_little & declared
    removable = (found | packed) & placement.nodes_open
    if not removable.any():
        return none
    removable &= ~np.array([_stays(node) for node in snapshot.nodes], np.bool_)
    removable[_held_by_pods(snapshot, placement)] = False
    guests_of = _Guests(snapshot, placement)
    found &= removable
    numbers = np.flatnonzero(found).tolist()
    found[[each for each in numbers if not guests_of.have_room(each)]] = False
    return found | (
        removable & packed & ~_lasting(snapshot, placement, guests_of, packed, removable)
    )


def _matching(nodes: Iterable[Node], selector: Selector) -> Mask:
    return np.array([selector.matches(node.labels) for node in nodes], np.bool_)


def _requested_percent(snapshot: Snapshot, placement: Placement) -> Figures:
    """By node: of cpu or memory, whichever is more. Room that is kept for others is asked for."""
    columns = [snapshot.resource_names.index(name) for name in RESOURCES]
    room, free = snapshot.room[:, columns], placement.free[:, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        requested: Figures = np.where(room > 0, 100 * (room - free) / room, 0).max(axis=1)
    return requested


class _Guests:
    """What of a node would have to go elsewhere with it."""

    def __init__(self, snapshot: Snapshot, placement: Placement) -> None:
        rows = guests(snapshot, placement.place)
        places = placement.place[rows]
        self.count = np.bincount(places, minlength=len(snapshot.nodes))
        self.requested = np.zeros((len(snapshot.nodes), len(snapshot.resource_names)), np.int64)
        np.add.at(self.requested, places, snapshot.requests[snapshot.pods.request_set[rows]])
        free = np.where(placement.nodes_open[:, None], np.maximum(placement.free, 0), 0)
        self._order = np.argsort(-free[:, snapshot.resource_names.index(CPU)], kind="stable")
        """Nodes, the emptiest first."""
        self._free = free[self._order]

    def have_room(self, node: int) -> bool:
        """As if all were of the same size. To try it pod by pod would cost more than a plan."""
        needed = self.requested[node] > 0
        if not needed.any():
            return True
        mean, left = self.requested[node, needed] / self.count[node], int(self.count[node])
        for few in (slice(_EMPTIEST), slice(_EMPTIEST, None)):
            slots = np.floor(self._free[few][:, needed] / mean).min(axis=1)
            left -= int(slots[self._order[few] != node].sum())
            if left <= 0:
                return True
        return False


def _lasting(
    snapshot: Snapshot, placement: Placement, guests_of: _Guests, packed: Mask, removable: Mask
) -> Mask:
    """Of packed nodes: what their pool would need after a fall of load. Those come first that
    nobody can remove, then those with the most pods for their size, which stands for their price.
    """
    columns = [snapshot.resource_names.index(name) for name in RESOURCES]
    requested = guests_of.requested[:, columns]
    room = np.where(placement.nodes_open[:, None], snapshot.room[:, columns], 0)
    rank = room[:, RESOURCES.index(CPU)] / (1 + guests_of.count)
    rank[~removable] = -1.0
    pools: dict[str, list[int]] = {}
    for number in np.flatnonzero(packed).tolist():
        pools.setdefault(snapshot.nodes[number].labels.get(names.NODE_POOL, ""), []).append(number)
    found = np.zeros(len(snapshot.nodes), np.bool_)
    for numbers in pools.values():
        ordered = np.array(numbers)[np.argsort(rank[numbers], kind="stable")]
        before = np.cumsum(room[ordered], axis=0) - room[ordered]
        needed = _LASTS * requested[ordered].sum(axis=0)
        found[ordered] = (before < needed).any(axis=1)
    return found


def _stays(node: Node) -> bool:
    told = node.annotations
    return "true" in (told.get(names.SCALE_DOWN_DISABLED), told.get(names.DO_NOT_DISRUPT))


def guests(snapshot: Snapshot, places: Numbers) -> Numbers:
    """Rows of pods that are not bound to their node, as those of DaemonSets and static ones are,
    and that are not on their way out.
    """
    of_daemons = np.array(
        [owner is not None and owner.kind == "DaemonSet" for owner in snapshot.owners], np.bool_
    )
    ending = snapshot.pods.flags[snapshot.rows] & (Flag.TERMINATING | Flag.LEAVING) != 0
    rows = snapshot.rows[(places[snapshot.rows] != NONE) & ~ending]
    owners = snapshot.pods.owner[rows]
    bound = np.zeros(len(rows), np.bool_)
    bound[owners != NONE] = of_daemons[owners[owners != NONE]]
    static = [row for row, told in snapshot.pods.annotations.items() if names.MIRROR_POD in told]
    bound |= np.isin(rows, static)
    found: Numbers = rows[~bound]
    return found


def _held_by_pods(snapshot: Snapshot, placement: Placement) -> list[int]:
    """Nodes with a pod that says to both autoscalers, or to the one of them, that it stays."""
    held = (
        int(placement.place[row])
        for row, told in snapshot.pods.annotations.items()
        if told.get(names.SAFE_TO_EVICT) == "false"
        or is_undisturbed(snapshot, row, told.get(names.DO_NOT_DISRUPT, ""))
    )
    return [node for node in held if node != NONE]
