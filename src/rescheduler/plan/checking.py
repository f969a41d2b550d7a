"""Whether a move that was decided on is still right, asked just before it is begun.

A cluster changes while moves wait for their turn. Only this one pod and its target are looked at:
that takes a few milliseconds where a plan takes hundreds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.moves import Move, Way
from rescheduler.model.objects import Object, labels
from rescheduler.model.resources import Resources
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.strategies import NODE_MAINTENANCE
from rescheduler.plan.adopting import as_adopted
from rescheduler.plan.budgets import SOURCE
from rescheduler.plan.fitting import Memory, Placement
from rescheduler.plan.fitting.nodes import who_removes
from rescheduler.plan.fitting.spreading import Spreading
from rescheduler.plan.movable import Movable


def why_not_there(
    snapshot: Snapshot,
    configuration: Configuration,
    move: Move,
    memory: Memory | None = None,
    *,
    asks: Resources | None = None,
    record: str = "",
) -> str:
    """Why this move should not be made now, all reasons in one sentence; empty: it should be.

    That it is begun already, as its record (of this name), its marks, its temporary budget and what
    is assumed of it show, is none of them. Nor are cooldowns: they were over when it was decided
    on, and other moves of the same plan have been made since. `memory` is one of an earlier plan or
    check: without it, all rules are read anew. `asks`: the size that the pod will have there, if it
    is another one.
    """
    row = _row(snapshot, move)
    if row is None:
        return _why_elsewhere(snapshot, move)
    if (name := snapshot.pods.names[row]) != move.full_name:
        return f"its UID is that of {name}"
    if move.target not in snapshot.node_numbers:
        return f"there is no node {move.target} any more"
    before = as_adopted(_without_copy(_without_budget(snapshot, move, record), move, row))
    target = before.node_numbers[move.target]
    placement = Placement(before, memory, only=target)
    if asks is not None:
        placement.room.set_size(row, asks)
    return "; ".join(dict.fromkeys(_reasons(before, configuration, move, row, placement)))


def why_uneven_after(
    snapshot: Snapshot, move: Move, copy: str, memory: Memory | None = None
) -> str:
    """Why a hard topology spread would not hold once this copy has taken the place of its original;
    empty: all hold, or as they did. Others may have come and gone while the copy started; and whose
    spread goes by a label that the copy lacks was placed by the scheduler as if it were not there.
    """
    memory = memory or Memory()
    row = _row(snapshot, move)
    if row is None or move.target not in snapshot.node_numbers:
        return ""  # who looks closer finds that out
    index = memory.index_of(snapshot)
    if not index.is_spread(int(snapshot.pods.pod_class[row])):
        return ""
    before = as_adopted(_without_copy(snapshot, move, row, copy))
    spreading = Spreading.of(before, memory)
    return "; ".join(dict.fromkeys(spreading.why_not_after(row, before.node_numbers[move.target])))


def _reasons(
    snapshot: Snapshot, configuration: Configuration, move: Move, row: int, placement: Placement
) -> Iterable[str]:
    target = snapshot.node_numbers[move.target]
    movable = Movable(snapshot, configuration, placement)
    yield from movable.why_it_stays(row, asked=move.asked, begun=True)
    is_ready = movable.is_ready(row)
    # What is not Ready was planned to go first, whatever was chosen when it was asked for.
    way = move.way if is_ready else movable.way(row)
    if way is Way.SURGE and (why := movable.why_recreated(row)):
        yield f"it would have to be recreated by now: {why}"
    source = snapshot.nodes[snapshot.node_numbers[move.source]]
    is_leaving = is_in_maintenance(source.labels) or source.unschedulable or who_removes(source)
    if move.strategy == NODE_MAINTENANCE and not is_leaving:
        yield f"{move.source} is not to be emptied any more"
    for end, node in (("source", move.source), ("target", move.target)):
        labels = snapshot.nodes[snapshot.node_numbers[node]].labels
        if not configuration.scope.node_selector.matches(labels):
            yield f"its {end} {node} is not in scope.nodeSelector"
    for why in placement.why_not(row, target, way):
        yield f"{move.target} does not take it: {why}"


# ---------------------------------------------------------------------- where it is


def _row(snapshot: Snapshot, move: Move) -> int | None:
    """Of the pod, if it is on its source. Looked for there only: there may be many elsewhere."""
    if move.source not in snapshot.node_numbers:
        return None
    slot = snapshot.slot_names.index(move.source)
    uids = snapshot.pods.uids
    there = np.flatnonzero(snapshot.pods.node == slot).tolist()
    return next((row for row in there if uids[row] == move.uid), None)


def _why_elsewhere(snapshot: Snapshot, move: Move) -> str:
    if move.uid not in snapshot.pods.uids:
        return "it is not there any more"
    if move.source not in snapshot.node_numbers:
        return f"its node {move.source} is not there any more"
    return f"it is not on {move.source}"


def _without_budget(snapshot: Snapshot, move: Move, record: str) -> Snapshot:
    """As if it guarded its workload by none of its own: it waits itself until that is counted."""
    budgets: Mapping[tuple[str, str], Object] = snapshot.objects.get(SOURCE, {})
    kept = {
        key: each
        for key, each in budgets.items()
        if key[0] != move.namespace or not record or labels(each).get(names.RECORD) != record
    }
    if len(kept) == len(budgets):
        return snapshot
    return replace(snapshot, objects={**snapshot.objects, SOURCE: kept})


def _without_copy(snapshot: Snapshot, move: Move, row: int, copy: str = "") -> Snapshot:
    """As if nothing were known of this move yet: its copy takes no room, assumed or (of this name)
    there, and the pod does not leave.
    """
    pods = snapshot.pods
    of_it = [
        each
        for each, told in pods.annotations.items()
        if told.get(names.ORIGINAL_POD) == move.uid
        and (
            pods.flags[each] & int(Flag.ASSUMED)
            or (copy and pods.names[each] == f"{move.namespace}/{copy}")
        )
    ]
    if not of_it:
        return snapshot
    classes, flags = pods.pod_class.copy(), pods.flags.copy()
    classes[of_it] = NONE
    flags[of_it] = 0
    flags[row] &= ~np.uint8(Flag.LEAVING)
    kept = {each: told for each, told in pods.annotations.items() if each not in of_it}
    return replace(snapshot, pods=replace(pods, pod_class=classes, flags=flags, annotations=kept))
