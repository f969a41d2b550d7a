"""Statuses of pods and nodes as kubelets, the scheduler and controllers write them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rescheduler.kube import Object


def stamp(moment: datetime) -> str:
    """As the API server writes times: in whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_conditions(status: Mapping[str, Any], conditions: Iterable[Object]) -> Object:
    """Those of the same type are replaced, wholly."""
    new = {each["type"]: each for each in conditions}
    kept = [new.pop(each["type"], each) for each in status.get("conditions") or ()]
    return {**status, "conditions": [*kept, *new.values()]}


def with_condition(
    status: Mapping[str, Any], kind: str, value: str, moment: datetime, **words: str
) -> Object:
    """As UpdatePodCondition does it: the time is that of the last change of its value."""
    before = next((each for each in status.get("conditions") or () if each["type"] == kind), None)
    since = stamp(moment)
    if before is not None and before.get("status") == value:
        since = before.get("lastTransitionTime") or since
    made = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": since}
    return with_conditions(status, [made | words])
