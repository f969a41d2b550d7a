"""Conditions in the status of an object as the API server sends it."""

from datetime import datetime

from rescheduler.model import names
from rescheduler.model.objects import Object, labels


def holds(raw: Object, kind: str) -> bool:
    found = find(raw, kind)
    return found is not None and found["status"] == "True"


def find(raw: Object, kind: str) -> Object | None:
    for condition in (raw.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            return condition  # type: ignore[no-any-return]
    return None


def has_left(pod: Object) -> bool:
    """Whether it is not Ready by our own hand: taken out of its Services while its copy serves."""
    ready = find(pod, "Ready") or {}
    is_told = ready.get("status") == "False" and ready.get("reason") == names.LEAVING
    return is_told and labels(pod).get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS


def left_at(pod: Object) -> datetime | None:
    """When we have taken it out of its Services; what its kubelet said in between does not count.
    None: it is in them, or nobody has told.
    """
    told = (find(pod, "Ready") or {}).get("lastProbeTime") if has_left(pod) else None
    return datetime.fromisoformat(told) if told else None


def away_since(pod: Object) -> datetime | None:
    """The same, since its kubelet gave it back last."""
    told = (find(pod, "Ready") or {}).get("lastTransitionTime") if has_left(pod) else None
    return datetime.fromisoformat(told) if told else None


def is_well(pod: Object) -> bool:
    """Ready, or it would be if we had not taken it out of its Services."""
    return holds(pod, "Ready") or has_left(pod)


def unready_since(pod: Object) -> datetime | None:
    """When it was Ready last, or made; None: it is Ready, or nobody has told."""
    ready = find(pod, "Ready") or {}
    told = ready.get("lastTransitionTime") or pod["metadata"].get("creationTimestamp")
    return None if not told or ready.get("status") == "True" else datetime.fromisoformat(told)
