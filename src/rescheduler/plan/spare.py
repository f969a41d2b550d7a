"""Nodes that an autoscaler of nodes would remove soon. Who balances load fills none of them: that
would undo what saves a node, or the pods would be moved again when the node goes.

cluster-autoscaler removes a node of which no more than a share of cpu and memory is asked for, if
all of its pods have a place elsewhere. karpenter asks only the latter, and begins with those whose
pods are fewest; before its taint it leaves no mark on a node.
"""

from typing import Final

import numpy as np

from rescheduler.config import NodeAutoscaler
from rescheduler.model import names
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, Flag, Numbers
from rescheduler.model.resources import CPU
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import Mask, Placement
from rescheduler.plan.loads import RESOURCES, Figures

_SPARE: Final = "left to the autoscaler of nodes, being used little (nodeAutoscaler)"
_EMPTIEST: Final = 50
"""Nodes that are asked first: where many are spare, these have room enough for any of them."""
LEFT_ALONE: Final = f"is {_SPARE}"
MANY_LEFT_ALONE: Final = f"are {_SPARE}"


def spare_nodes(snapshot: Snapshot, placement: Placement, settings: NodeAutoscaler) -> Mask:
    """By node, as pods are placed now."""
    found = np.array([_may_be_removed(node, settings) for node in snapshot.nodes], np.bool_)
    found &= placement.nodes_open
    found &= _asked_percent(snapshot, placement) <= settings.scale_down_utilization_percent
    if not settings.scale_down_utilization_percent or not found.any():
        return np.zeros(len(snapshot.nodes), np.bool_)
    found[_held_by_pods(snapshot, placement)] = False
    guests_of = _Guests(snapshot, placement)
    numbers = np.flatnonzero(found).tolist()
    found[[each for each in numbers if not guests_of.have_room(each)]] = False
    return found


def _asked_percent(snapshot: Snapshot, placement: Placement) -> Figures:
    """By node: of cpu or memory, whichever is more. Room that is kept for others is asked for."""
    columns = [snapshot.resource_names.index(name) for name in RESOURCES]
    room, free = snapshot.room[:, columns], placement.free[:, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        asked: Figures = np.where(room > 0, 100 * (room - free) / room, 0).max(axis=1)
    return asked


class _Guests:
    """What of a node would have to go elsewhere with it."""

    def __init__(self, snapshot: Snapshot, placement: Placement) -> None:
        rows = guests(snapshot, placement.place)
        places = placement.place[rows]
        self._count = np.bincount(places, minlength=len(snapshot.nodes))
        self._asked = np.zeros((len(snapshot.nodes), len(snapshot.resource_names)), np.int64)
        np.add.at(self._asked, places, snapshot.requests[snapshot.pods.asks[rows]])
        free = np.where(placement.nodes_open[:, None], np.maximum(placement.free, 0), 0)
        self._order = np.argsort(-free[:, snapshot.resource_names.index(CPU)], kind="stable")
        """Nodes, the emptiest first."""
        self._free = free[self._order]

    def have_room(self, node: int) -> bool:
        """As if all were of the same size. To try it pod by pod would cost more than a plan."""
        needed = self._asked[node] > 0
        if not needed.any():
            return True
        mean, left = self._asked[node, needed] / self._count[node], int(self._count[node])
        for few in (slice(_EMPTIEST), slice(_EMPTIEST, None)):
            slots = np.floor(self._free[few][:, needed] / mean).min(axis=1)
            left -= int(slots[self._order[few] != node].sum())
            if left <= 0:
                return True
        return False


def _may_be_removed(node: Node, settings: NodeAutoscaler) -> bool:
    told = node.annotations
    stays = "true" in (told.get(names.SCALE_DOWN_DISABLED), told.get(names.DO_NOT_DISRUPT))
    return not stays and settings.node_selector.matches(node.labels)


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
        if told.get(names.SAFE_TO_EVICT) == "false" or told.get(names.DO_NOT_DISRUPT) == "true"
    )
    return [node for node in held if node != NONE]
