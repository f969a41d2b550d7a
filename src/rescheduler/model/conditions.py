"""Conditions in the status of an object as the API server sends it."""

from datetime import datetime

from rescheduler.model.objects import Object


def holds(raw: Object, kind: str) -> bool:
    found = find(raw, kind)
    return found is not None and found["status"] == "True"


def find(raw: Object, kind: str) -> Object | None:
    for condition in (raw.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            return condition  # type: ignore[no-any-return]
    return None


def unready_since(pod: Object) -> datetime | None:
    """When it was Ready last, or made; None: it is Ready, or nobody has told."""
    ready = find(pod, "Ready") or {}
    told = ready.get("lastTransitionTime") or pod["metadata"].get("creationTimestamp")
    return None if not told or ready.get("status") == "True" else datetime.fromisoformat(told)
