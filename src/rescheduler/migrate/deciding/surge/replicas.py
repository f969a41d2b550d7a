"""The pods of a ReplicaSet, several of which may be moved at once. Pure.

An original gets the lowest deletion cost only when its own copy is Ready. So whichever of those
marked originals the ReplicaSet removes when it adopts any copy, the workload has as many Ready pods
as before: the migration of the removed one lets its own copy be adopted in its place.
"""

from rescheduler.migrate.deciding import marks, selecting
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.migrate.deciding.surge import copies
from rescheduler.model import conditions, names, workloads
from rescheduler.model.objects import (
    Object,
    annotations,
    controller,
    is_active,
    is_terminating,
    labels,
    owners,
)


def wanted(replica_set: Object) -> int:
    replicas: int = replica_set["spec"].get("replicas", 1)
    return replicas


def counted(view: View, replica_set: Object) -> list[Object]:
    """Those that it counts, and those that it will adopt as soon as it sees them."""
    labelled = tuple((replica_set["spec"]["selector"].get("matchLabels") or {}).items())
    selector = selecting.of(replica_set)
    free = [
        pod
        for pod in view.neighbours
        # In a namespace of many workloads most are ruled out by the first comparison.
        if all(labels(pod).get(key) == value for key, value in labelled)
        and controller(pod) is None
        and selector.matches(labels(pod))
    ]
    return [pod for pod in (*view.pods, *free) if is_active(pod)]


def is_one(pod: Object, view: View) -> bool:
    """Whether its ReplicaSet counts it: who relabels a pod takes it out, who fails is replaced."""
    owner = view.replica_set
    if owner is None or not is_active(pod) or not _is_controlled(pod, owner):
        return False
    return not copies.missing_labels(owner, pod)


def why_not_at_rest(intent: Intent, view: View, replica_set: Object) -> str:
    """Why its pods should be left alone now. What it says of their number is late: we count."""
    if changed := workloads.why_changed(replica_set, view.deployment):
        return changed
    observed = (replica_set.get("status") or {}).get("observedGeneration", 0)
    if observed < replica_set["metadata"].get("generation", 0):
        return "its ReplicaSet has just been changed"
    return why_another_would_go(intent, view, replica_set)


def why_another_would_go(intent: Intent, view: View, replica_set: Object) -> str:
    """Why the ReplicaSet, once it has one too many, might remove a pod that nobody stands in for.

    Readiness ranks before deletion cost: with one replica unready, it would remove that one. Where
    somebody wants the original away that is no reason to wait: it goes first (`is_any_unready`).
    """
    found, number = counted(view, replica_set), wanted(replica_set)
    leaving = [pod for pod in found if marks.is_first(pod) and _uid(pod) != intent.uid]
    # More than it should have are only those whose copies it has adopted already.
    if not number <= len(found) <= number + len(leaving):
        return f"its ReplicaSet has {len(found)} of {number} pods"
    for pod in found:
        if not intent.asked and not conditions.is_well(pod):
            return f"its sibling {_name(pod)} is not Ready"
    lingering = [pod for pod in found if conditions.has_left(pod) and _uid(pod) != intent.uid]
    for pod in (*leaving, *lingering):
        copy = _copy_of(view, pod)
        if copy is None or not is_active(copy) or not conditions.holds(copy, "Ready"):
            return f"the copy of its sibling {_name(pod)} is not Ready"
    return why_a_sibling_goes_first(intent, view, replica_set)


def is_any_unready(view: View, replica_set: Object) -> bool:
    """But for originals that have left their Services: they go first, and have their copies."""
    return not all(conditions.is_well(pod) for pod in counted(view, replica_set))


def why_a_sibling_goes_first(intent: Intent, view: View, replica_set: Object) -> str:
    for pod in counted(view, replica_set):
        is_lowest = marks.cost(pod) == names.LOWEST_DELETION_COST
        if is_lowest and not marks.is_first(pod) and _uid(pod) != intent.uid:
            return (
                f"its sibling {_name(pod)} has the lowest deletion cost there is: it would be "
                "removed instead"
            )
    return ""


def others_leaving(intent: Intent, view: View, replica_set: Object) -> list[Object]:
    """Siblings that are about to be removed for copies of their own."""
    found = counted(view, replica_set)
    return [pod for pod in found if marks.is_first(pod) and _uid(pod) != intent.uid]


def standing_in(intent: Intent, view: View, replica_set: Object) -> list[Object]:
    """Copies of other migrations that are about to be adopted in place of originals that left."""
    alive = {_uid(pod) for pod in view.neighbours if not is_terminating(pod)}
    return [
        copy
        for copy in _other_copies(intent, view, replica_set)
        if annotations(copy)[names.ORIGINAL_POD] not in alive
    ]


def are_moving(intent: Intent, view: View, replica_set: Object) -> bool:
    """Whether siblings are being moved, so that what is not at rest soon will be."""
    copies_ = _other_copies(intent, view, replica_set)
    if copies_ or others_leaving(intent, view, replica_set):
        return True
    # It removes one too many in a moment: for whose copy it was, a sibling was evicted.
    return intent.asked and len(counted(view, replica_set)) > wanted(replica_set)


def _other_copies(intent: Intent, view: View, replica_set: Object) -> list[Object]:
    """Not adopted yet."""
    uid = replica_set["metadata"]["uid"]
    return [
        pod
        for pod in view.neighbours
        if names.ORIGINAL_POD in annotations(pod)
        and _name(pod) != intent.copy
        and is_active(pod)
        and controller(pod) is None
        and any(each["uid"] == uid for each in owners(pod))
        and copies.missing_labels(replica_set, pod)
    ]


def _copy_of(view: View, original: Object) -> Object | None:
    migration = labels(original).get(names.MIGRATION_ID)
    for pod in view.neighbours:
        is_of = annotations(pod).get(names.ORIGINAL_POD) == _uid(original)
        if is_of and migration and labels(pod).get(names.MIGRATION_ID) == migration:
            return pod
    return None


def _is_controlled(pod: Object, replica_set: Object) -> bool:
    reference = controller(pod)
    return reference is not None and bool(reference["uid"] == replica_set["metadata"]["uid"])


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])
