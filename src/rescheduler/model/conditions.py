"""Conditions in the status of an object as the API server sends it."""

from rescheduler.model.objects import Object


def holds(raw: Object, kind: str) -> bool:
    found = find(raw, kind)
    return found is not None and found["status"] == "True"


def find(raw: Object, kind: str) -> Object | None:
    for condition in (raw.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            return condition  # type: ignore[no-any-return]
    return None
