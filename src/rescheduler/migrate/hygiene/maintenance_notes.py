"""Tells on a node in maintenance which pods are left there, and why: an annotation, for whoever
looks at the node and at no log.

It is written when it changes, and goes with the maintenance: with our cordon in one patch, and
where there is none by itself.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from rescheduler.kube import KubeApi, Object, errors
from rescheduler.migrate.hygiene import cordoning
from rescheduler.migrate.hygiene.cordoning import State
from rescheduler.model import names
from rescheduler.model.cluster import Node
from rescheduler.wire import NODES

_NAMED: Final = 10
_LONGEST_REASON: Final = 200
"""With the names of ten pods well below what an annotation may take."""
_BY_DRAIN: Final = "drain: "
"""Begins what `rescheduler drain` tells: nobody has labelled the node, and it stays true."""

Wanted = Callable[[State], str]
"""What the annotation should say; empty: it should not be there."""


# ---------------------------------------------------------------------- deciding


def in_words(left: int, stay: Mapping[str, str]) -> str:
    """Of so many pods, and by full name why some of them cannot go."""
    if not left:
        return "empty, but for pods of DaemonSets and static ones"
    words = f"{left} {'pod' if left == 1 else 'pods'} left"
    if not stay:
        return words + ", on their way"
    named = [f"{name} ({_short(why)})" for name, why in sorted(stay.items())[:_NAMED]]
    more = len(stay) - len(named)
    words += f", {len(stay)} of them {'stays' if len(stay) == 1 else 'stay'}: "
    return words + ", ".join(named) + (f" and {more} more" if more else "")


def _short(why: str) -> str:
    return why if len(why) <= _LONGEST_REASON else why[: _LONGEST_REASON - 3] + "..."


def for_maintenance(found: str | None, *, is_enabled: bool, cordoned_nodes: bool) -> Wanted:
    """`found` is what a plan has found there; None: it has not looked at this node."""

    def wanted(state: State) -> str:
        is_cordoned = state.unschedulable and not state.noted
        is_asked = state.labelled or (is_cordoned and cordoned_nodes)
        if is_enabled and is_asked:
            return state.told if found is None else found
        is_drained = state.unschedulable and state.told.startswith(_BY_DRAIN)
        return state.told if is_drained else ""

    return wanted


def by_drain(found: str) -> Wanted:
    """Whoever uncordons the node meanwhile wants no more of it."""
    return lambda state: _BY_DRAIN + found if state.unschedulable else ""


# ---------------------------------------------------------------------- acting


async def keep_telling(
    kube: KubeApi, nodes: Iterable[Node], wanted: Callable[[Node], Wanted]
) -> None:
    """On all of these nodes at once. What cannot be written is told in the log, and tried again
    when this is called again.
    """
    due = [
        (node, decide)
        for node in nodes
        if (decide := wanted(node))(state := cordoning.state_of(node)) != state.told
    ]
    await asyncio.gather(*(tell(kube, node.name, decide, uid=node.uid) for node, decide in due))


async def tell(kube: KubeApi, name: str, wanted: Wanted, *, uid: str = "") -> None:
    try:
        await cordoning.unless_it_conflicts(lambda: _try_to_tell(kube, name, wanted, uid))
    except errors.NotFound:
        return  # there is nobody to tell it of
    except errors.NotLeading:
        raise
    except errors.KubeError as problem:
        structlog.get_logger().warning(
            "node could not be annotated with the pods that are left",
            node=name,
            problem=str(problem),
        )


async def _try_to_tell(kube: KubeApi, name: str, wanted: Wanted, uid: str) -> None:
    node = await kube.get(NODES, None, name)
    found = node["metadata"]["uid"]
    state = cordoning.state_of_object(node)
    words = wanted(state)
    if uid in ("", found) and words != state.told:
        await kube.patch(NODES, None, name, uid=found, change=_patch(node, words))


def _patch(node: Object, words: str) -> Object:
    # With its version: nobody may have ended the maintenance since.
    version = node["metadata"]["resourceVersion"]
    annotations = {names.MAINTENANCE_STATUS: words or None}
    return {"metadata": {"annotations": annotations, "resourceVersion": version}}
