"""Conditions in the status of an object as the API server sends it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def holds(raw: Mapping[str, Any], kind: str) -> bool:
    found = find(raw, kind)
    return found is not None and found["status"] == "True"


def find(raw: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    for condition in (raw.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            return condition  # type: ignore[no-any-return]
    return None


def since(raw: Mapping[str, Any], kind: str) -> datetime | None:
    """When the condition last changed, by the clock of whoever wrote it."""
    stamp = (find(raw, kind) or {}).get("lastTransitionTime")
    return datetime.fromisoformat(stamp) if stamp else None
