"""The mark that makes its ReplicaSet remove the original first: the lowest deletion cost. Pure.

The cost that a user had set stands beside it, and is given back when the mark is taken off.
"""

from collections.abc import Mapping
from typing import Any

from rescheduler.migrate.deciding.steps import PatchPod
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations


def mark(original: Object) -> Mapping[str, Any]:
    before = cost(original)
    if before == names.LOWEST_DELETION_COST:
        before = annotations(original).get(names.PREVIOUS_DELETION_COST, before)
    marked = {names.DELETION_COST: names.LOWEST_DELETION_COST, names.PREVIOUS_DELETION_COST: before}
    # With its version, so that a request which arrives late cannot mark it a second time.
    return {"annotations": marked, "resourceVersion": original["metadata"]["resourceVersion"]}


def unmark(marked: Mapping[str, str]) -> Mapping[str, Any]:
    """The change that takes our mark off, and gives back the deletion cost of the user."""
    change: dict[str, str | None] = {names.PREVIOUS_DELETION_COST: None}
    # Another cost is one that the user has set since, and stays.
    if marked.get(names.DELETION_COST) == names.LOWEST_DELETION_COST:
        change[names.DELETION_COST] = marked[names.PREVIOUS_DELETION_COST] or None
    return {"annotations": change}


def take_off(original: Object) -> PatchPod:
    change = unmark(annotations(original))
    return PatchPod("takes the mark off the original", original, change)


def is_marked(original: Object) -> bool:
    return names.PREVIOUS_DELETION_COST in annotations(original)


def cost(pod: Object) -> str:
    return annotations(pod).get(names.DELETION_COST, "")
