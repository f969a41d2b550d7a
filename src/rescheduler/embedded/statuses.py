"""Statuses of pods and nodes as kubelets, the scheduler and controllers write them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rescheduler.embedded import conditions
from rescheduler.kube import Object


def stamp(moment: datetime) -> str:
    """As the API server writes times: in whole seconds."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def with_conditions(status: Mapping[str, Any], told: Iterable[Object]) -> Object:
    """Those of the same type are replaced, wholly."""
    new = {each["type"]: each for each in told}
    kept = [new.pop(each["type"], each) for each in status.get("conditions") or ()]
    return {**status, "conditions": [*kept, *new.values()]}


def with_pod_condition(
    status: Mapping[str, Any], kind: str, value: str, moment: datetime, **words: str
) -> Object:
    """As UpdatePodCondition does it."""
    made = {"type": kind, "status": value, "lastProbeTime": None, **words}
    known = status.get("conditions") or ()
    return {**status, "conditions": conditions.with_condition(known, made, stamp(moment))}
