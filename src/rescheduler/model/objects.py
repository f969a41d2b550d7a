"""Kubernetes objects as the API server sends them: questions that more than one stage asks."""

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]


def is_terminating(raw: Object) -> bool:
    return "deletionTimestamp" in raw["metadata"]


def owners(raw: Object) -> Iterable[Object]:
    return raw["metadata"].get("ownerReferences") or ()


def controller(raw: Object) -> Object | None:
    """The reference to the one owner that manages it."""
    return next((each for each in owners(raw) if each.get("controller")), None)


def labels(raw: Object) -> Mapping[str, str]:
    return raw["metadata"].get("labels") or {}


def annotations(raw: Object) -> Mapping[str, str]:
    return raw["metadata"].get("annotations") or {}
