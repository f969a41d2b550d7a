"""What pods say by their annotations about being moved."""

from collections.abc import Iterable

from rescheduler.documents import durations
from rescheduler.model import leases, names
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.movable.holds import TAKE_OFF, Hold, always


def holds_by(snapshot: Snapshot, row: int) -> Iterable[Hold]:
    annotations = snapshot.pods.annotations[row]
    if names.MIRROR_POD in annotations:
        yield always("it is a static pod")
    if annotations.get(names.SAFE_TO_EVICT) == "false":
        yield always(f"its annotation {names.SAFE_TO_EVICT} keeps it out", TAKE_OFF)
    told = "" if leases.is_ours(annotations) else annotations.get(names.DO_NOT_DISRUPT, "")
    if is_undisturbed(snapshot, row, told):
        yield always(f"its annotation {names.DO_NOT_DISRUPT} keeps it out", TAKE_OFF)
    if names.PREFER_NO_EVICTION in annotations:
        # A wish, as the descheduler has it by default: a node that is to be emptied is.
        yield Hold(f"its annotation {names.PREFER_NO_EVICTION} keeps it out", "")


def is_undisturbed(snapshot: Snapshot, row: int, told: str) -> bool:
    """For ever, or for some time since it began, as karpenter reads it."""
    if told == "true":
        return True
    try:
        seconds = durations.parse_nanoseconds(told) / durations.SECOND
    except ValueError:
        return False
    age = age_of(snapshot, row)
    return seconds > 0 and (age is None or age < seconds)


def age_of(snapshot: Snapshot, row: int) -> float | None:
    """In seconds; None: nobody knows."""
    began = int(snapshot.pods.started[row] or snapshot.pods.created[row])
    return snapshot.taken_at - began if snapshot.taken_at and began else None
