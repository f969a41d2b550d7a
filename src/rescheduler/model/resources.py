"""Amounts of every resource that nodes have and pods ask for."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.model import quantities

Resources = Mapping[str, int]
"""cpu in thousandths of a core, everything else in whole units (memory in bytes)."""

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"


def read(amounts: Mapping[str, Any] | None) -> Resources:
    parsed = {}
    for name, amount in (amounts or {}).items():
        parsed[name] = quantities.millis(amount) if name == CPU else quantities.units(amount)
    return parsed


def add(*amounts: Resources) -> Resources:
    total: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def largest(amounts: Iterable[Resources]) -> Resources:
    most: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            most[name] = max(most.get(name, 0), amount)
    return most


def of_pod(spec: Mapping[str, Any]) -> Resources:
    """What the scheduler reserves for a pod: containers and sidecars together, or the largest init
    step if that is more; pod-level requests in their place; overhead on top; and the pod itself.
    """
    running = [_requests(container) for container in spec.get("containers", [])]
    sidecars: list[Resources] = []
    steps: list[Resources] = []
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            sidecars.append(_requests(container))
            steps.append(add(*sidecars))
        else:
            steps.append(add(_requests(container), *sidecars))
    total = largest([add(*running, *sidecars), *steps])
    whole_pod = _requests(spec)
    return add({**total, **whole_pod}, read(spec.get("overhead")), {PODS: 1})


def _requests(holder: Mapping[str, Any]) -> Resources:
    return read((holder.get("resources") or {}).get("requests"))
