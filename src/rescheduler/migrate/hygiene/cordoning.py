"""Cordons nodes that are to be emptied, and uncordons those that we cordoned.

An annotation on the node remembers that it was us, written in one patch with the cordon itself: so
there is never one without the other, whenever the process dies. Whoever cordoned a node before us
keeps it so; whoever uncordons ours while it is labelled has the last word.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

import structlog

from rescheduler.kube import KubeApi, Object, errors
from rescheduler.model import names, objects
from rescheduler.model.cluster import Node
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.wire import NODES

T = TypeVar("T")

_TRIES: Final = 3
"""A node changes with every heartbeat, and each try needs a version that holds."""


class Noted(StrEnum):
    """The values of the annotation."""

    MAINTENANCE = "maintenance"
    """We cordoned it as it was labelled; it is uncordoned when the label goes."""
    DRAIN = "drain"
    """`rescheduler drain` cordoned it; as with `kubectl drain`, a person uncordons it."""
    RELEASED = "released"
    """We cordoned it, and somebody has uncordoned it since: it is left to him."""


@dataclass(frozen=True, slots=True)
class State:
    """What of a node decides about its cordon."""

    labelled: bool
    unschedulable: bool
    noted: str
    """The value of our annotation; empty: there is none."""
    told: str = ""
    """What we have told on it about the pods that are left."""


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    """In words, for the log."""
    unschedulable: bool | None
    """None: as it is."""
    noted: Noted | None
    """None: the annotation goes, and what was told about the maintenance with it."""


_CORDON: Final = Change("node cordoned", unschedulable=True, noted=Noted.MAINTENANCE)
_CORDON_TO_DRAIN: Final = Change("node cordoned", unschedulable=True, noted=Noted.DRAIN)
_UNCORDON: Final = Change("node uncordoned", unschedulable=False, noted=None)
_RELEASE: Final = Change("node left uncordoned, as somebody wants it", None, Noted.RELEASED)
_FORGET: Final = Change("note of a cordon removed from node", unschedulable=None, noted=None)
_UNTELL: Final = Change("maintenance note removed from node", unschedulable=None, noted=None)
LEAVE_CORDONED: Final = Change("node left cordoned", unschedulable=None, noted=None)

Decide = Callable[[State], Change | None]


# ---------------------------------------------------------------------- deciding


def for_maintenance(state: State) -> Change | None:
    """What the label asks for, if anything is to be done about it."""
    if not state.labelled:
        return _without_label(state)
    if not state.noted:
        return None if state.unschedulable else _CORDON
    if not state.unschedulable and state.noted != Noted.RELEASED:
        return _RELEASE
    return None


def _without_label(state: State) -> Change | None:
    if not state.noted or (state.noted == Noted.DRAIN and state.unschedulable):
        return None
    is_ours = state.unschedulable and state.noted == Noted.MAINTENANCE
    return _UNCORDON if is_ours else _FORGET


def only_to_uncordon(state: State) -> Change | None:
    """The same, where nobody is to be cordoned."""
    change = for_maintenance(state)
    return None if change is _CORDON else change


def to_drain(state: State) -> Change | None:
    return None if state.unschedulable else _CORDON_TO_DRAIN


def to_leave_nothing(state: State) -> Change | None:
    """For whoever is about to go for ever. A node that somebody has had drained, or that is still
    labelled for maintenance, may be under repair: nobody's pods are to come back to it by this.
    """
    if not state.noted:
        return _UNTELL if state.told else None
    if state.unschedulable and (state.labelled or state.noted == Noted.DRAIN):
        return LEAVE_CORDONED
    is_ours = state.unschedulable and state.noted == Noted.MAINTENANCE
    return _UNCORDON if is_ours else _FORGET


def state_of(node: Node) -> State:
    return State(
        labelled=is_in_maintenance(node.labels),
        unschedulable=node.unschedulable,
        noted=node.annotations.get(names.CORDONED, ""),
        told=node.annotations.get(names.MAINTENANCE_STATUS, ""),
    )


def state_of_object(node: Object) -> State:
    return State(
        labelled=is_in_maintenance(objects.labels(node)),
        unschedulable=bool((node.get("spec") or {}).get("unschedulable")),
        noted=objects.annotations(node).get(names.CORDONED, ""),
        told=objects.annotations(node).get(names.MAINTENANCE_STATUS, ""),
    )


def _patch(node: Object, change: Change) -> Mapping[str, Any]:
    annotations = {names.CORDONED: change.noted.value if change.noted else None}
    if change.noted is None:
        annotations[names.MAINTENANCE_STATUS] = None
    # With its version: what it was decided by must still be so.
    version = node["metadata"]["resourceVersion"]
    patch: dict[str, Any] = {"metadata": {"annotations": annotations, "resourceVersion": version}}
    if change.unschedulable is not None:
        patch["spec"] = {"unschedulable": change.unschedulable or None}
    return patch


# ---------------------------------------------------------------------- acting


async def keep_cordons(kube: KubeApi, nodes: Iterable[Node], decide: Decide) -> None:
    """Of these nodes, each as it should be. What cannot be done is told, and tried again when this
    is called again: a node that stays uncordoned is no reason not to empty it.
    """
    for node in nodes:
        if decide(state_of(node)) is None:
            continue
        try:
            await apply(kube, node.name, decide, uid=node.uid)
        except errors.NotLeading:
            raise
        except errors.KubeError as problem:
            structlog.get_logger().warning(
                "node could not be cordoned or uncordoned", node=node.name, problem=str(problem)
            )


async def apply(kube: KubeApi, name: str, decide: Decide, *, uid: str = "") -> Change | None:
    """Decides by the node as it is now, and does it. Returns what was done.

    Raises:
        NotFound: there is no such node.
    """
    return await unless_it_conflicts(lambda: _try_to_apply(kube, name, decide, uid))


async def unless_it_conflicts(attempt: Callable[[], Awaitable[T]]) -> T:
    """With a node that changes between look and write: then it is looked at again."""
    for _ in range(_TRIES - 1):
        try:
            return await attempt()
        except errors.Conflict:
            continue
    return await attempt()


async def _try_to_apply(kube: KubeApi, name: str, decide: Decide, uid: str) -> Change | None:
    node = await kube.get(NODES, None, name)
    found = node["metadata"]["uid"]
    change = decide(state_of_object(node)) if uid in ("", found) else None
    if change is not None:
        await kube.patch(NODES, None, name, uid=found, change=_patch(node, change))
        structlog.get_logger().info(change.what, node=name)
    return change
