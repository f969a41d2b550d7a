"""Kubernetes objects as the API server sends them: questions that more than one stage asks."""

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]


def is_terminating(raw: Object) -> bool:
    return "deletionTimestamp" in raw["metadata"]


def is_active(pod: Object) -> bool:
    """Whether its controller counts it: neither told to end nor ended."""
    return not is_terminating(pod) and not has_ended(pod)


def has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def owners(raw: Object) -> Iterable[Object]:
    return raw["metadata"].get("ownerReferences") or ()


def controller(raw: Object) -> Object | None:
    """The reference to the one owner that manages it."""
    return next((each for each in owners(raw) if each.get("controller")), None)


def labels(raw: Object) -> Mapping[str, str]:
    return raw["metadata"].get("labels") or {}


def annotations(raw: Object) -> Mapping[str, str]:
    return raw["metadata"].get("annotations") or {}


def spec(raw: Object) -> Object:
    """What is empty was left out when the object was read."""
    return raw.get("spec") or {}


def version_of(found: Object) -> int:
    """Versions of one object may be compared (Kubernetes 1.35 says so for all servers); where they
    are no numbers, none is newer than another.
    """
    version: str = found["metadata"].get("resourceVersion") or ""
    return int(version) if version.isdigit() else 0
