"""What pods carry of a migration. Pure.

An original carries it while it is moved, and loses it again when it was not.

From the beginning: whose migration it is, in labels. While its copy takes over: the lowest deletion
cost, which makes its ReplicaSet remove it first. What stood there before, a cost that its user had
set or the history of an earlier move, stands beside it and is given back.

Its successor carries whence it came, ever after; and, for karpenter, for how long after its start
it is not to be disrupted.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rescheduler.documents import durations
from rescheduler.migrate.deciding.actions import PatchPod
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations, labels
from rescheduler.model.podmigration import Step

Change = Mapping[str, Any]
"""To the metadata of a pod."""


# ---------------------------------------------------------------------- from the beginning


def begin(original: Object, migration: str, at: datetime) -> PatchPod:
    stale = unmark(original)  # of a process that died, and whose record is gone, too
    told = annotations(original)
    history: dict[str, str | None] = {names.MIGRATION_TIME: _text(at)}
    if before := _history(original):
        history[names.PREVIOUS_MIGRATION] = before
    elif names.PREVIOUS_MIGRATION in told:
        history[names.PREVIOUS_MIGRATION] = told[names.PREVIOUS_MIGRATION]
    change = {
        "labels": {
            names.MIGRATION_ID: migration,
            names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS,
        },
        "annotations": {**stale.get("annotations", {}), **history},
        # So that a request which arrives late cannot mark it a second time.
        "resourceVersion": original["metadata"]["resourceVersion"],
    }
    return PatchPod("marks the original as being moved", original, change, step=Step.MARK)


def has_begun(original: Object, migration: str) -> bool:
    told = labels(original)
    is_ours = told.get(names.MIGRATION_ID) == migration
    return is_ours and told.get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS


# ---------------------------------------------------------------------- while the copy takes over


def put_first(original: Object) -> PatchPod:
    """First of all that its ReplicaSet removes."""
    before = cost(original)
    if before == names.LOWEST_DELETION_COST:
        before = annotations(original).get(names.PREVIOUS_DELETION_COST, before)
    marked = {names.DELETION_COST: names.LOWEST_DELETION_COST, names.PREVIOUS_DELETION_COST: before}
    change = {
        "annotations": marked,
        "resourceVersion": original["metadata"]["resourceVersion"],
    }
    return PatchPod("marks the original as first to go", original, change, step=Step.HAND_OVER)


def is_first(original: Object) -> bool:
    """By our mark, which stands only where the pod's own copy is Ready."""
    has_mark = names.PREVIOUS_DELETION_COST in annotations(original)
    return has_mark and cost(original) == names.LOWEST_DELETION_COST


def cost(pod: Object) -> str:
    return annotations(pod).get(names.DELETION_COST, "")


# ---------------------------------------------------------------------- when it was not moved


def are_on(pod: Object) -> bool:
    """Whether it carries any mark of ours. Never true of a copy."""
    told = annotations(pod)
    if names.PREVIOUS_DELETION_COST in told or names.PREVIOUS_MIGRATION in told:
        return True
    in_progress = labels(pod).get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS
    return in_progress and names.ORIGINAL_POD not in told


def take_off(original: Object, *, step: Step = Step.TAKE_BACK) -> PatchPod:
    what = "takes the marks off the original"
    # As it was judged: the user may be setting a deletion cost of his own just now.
    version = {"resourceVersion": original["metadata"]["resourceVersion"]}
    return PatchPod(what, original, {**unmark(original), **version}, step=step)


def unmark(pod: Object) -> Change:
    """The change that takes all marks off, and gives back what stood there before; empty where
    there are none.
    """
    if not are_on(pod):
        return {}
    told = annotations(pod)
    change: dict[str, str | None] = {}
    marked: dict[str, str | None] = {}
    if labels(pod).get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS:
        before = told.get(names.PREVIOUS_MIGRATION, "").split(" ")
        id_, status, time = before if len(before) == _PARTS else (None, None, None)
        marked = {names.MIGRATION_ID: id_, names.MIGRATION_STATUS: status}
        change[names.MIGRATION_TIME] = time
    if names.PREVIOUS_MIGRATION in told:
        change[names.PREVIOUS_MIGRATION] = None
    if names.PREVIOUS_DELETION_COST in told:
        change[names.PREVIOUS_DELETION_COST] = None
        # Another cost is one that the user has set since, and stays.
        if told.get(names.DELETION_COST) == names.LOWEST_DELETION_COST:
            change[names.DELETION_COST] = told[names.PREVIOUS_DELETION_COST] or None
    return {"labels": marked, "annotations": change} if marked else {"annotations": change}


_PARTS = 3


def _history(pod: Object) -> str:
    """Of an earlier move; empty where there was none."""
    told = labels(pod)
    parts = (
        told.get(names.MIGRATION_ID),
        told.get(names.MIGRATION_STATUS),
        annotations(pod).get(names.MIGRATION_TIME),
    )
    if not all(parts) or names.STATUS_IN_PROGRESS in parts:
        return ""
    return " ".join(map(str, parts))


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


# ---------------------------------------------------------------------- on its successor


def history(intent: Intent, at: datetime) -> Mapping[str, Any]:
    """The change to the metadata of a successor that the workload itself has made. What may be too
    long for a label stands in full in an annotation.
    """
    return {
        "labels": {
            names.MIGRATION_ID: intent.id,
            names.MIGRATION_STATUS: names.STATUS_COMPLETED,
            names.MIGRATED_FROM: names.label_value(intent.source),
            names.MIGRATION_REASON: names.label_value(intent.strategy),
        },
        "annotations": {
            names.MIGRATION_TIME: at.isoformat(timespec="seconds"),
            names.ORIGINAL_POD: intent.uid,
            names.ORIGINAL_POD_NAME: intent.pod,
            names.MIGRATED_FROM: intent.source,
            names.MIGRATION_REASON: intent.strategy,
        },
    }


def has_history(pod: Object, intent: Intent) -> bool:
    told = labels(pod)
    is_ours = told.get(names.MIGRATION_ID) == intent.id
    return is_ours and told.get(names.MIGRATION_STATUS) == names.STATUS_COMPLETED


def lease(intent: Intent, target: Object | None, told: Mapping[str, str]) -> dict[str, str]:
    """As annotations of a successor. `told`: those that it has anyway; what a user says counts.

    Karpenter removes any node whose pods have room elsewhere, soon after the last that came: then a
    pod that was moved to spread load would be evicted a minute later. This ends by itself, whatever
    becomes of us.
    """
    seconds = intent.settings.do_not_disrupt_seconds
    is_of_karpenter = target is not None and names.NODE_POOL in labels(target)
    if not seconds or intent.asked or not is_of_karpenter or names.DO_NOT_DISRUPT in told:
        return {}
    text = durations.format_nanoseconds(round(seconds * durations.SECOND))
    return {names.DO_NOT_DISRUPT: text, names.OWN_DO_NOT_DISRUPT: text}
