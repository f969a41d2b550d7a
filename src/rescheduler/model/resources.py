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
    whole_pod = {name: n for name, n in _requests(spec).items() if _may_be_of_a_whole_pod(name)}
    thousandths = add({**total, **whole_pod}, _thousandths(spec.get("overhead")))
    # Rounded up once, after adding: 0.3Gi twice is not one byte more than 0.6Gi.
    rounded = {name: n if name == CPU else -(-n // 1000) for name, n in thousandths.items()}
    return add(rounded, {PODS: 1})


def _requests(holder: Mapping[str, Any]) -> Resources:
    return _thousandths((holder.get("resources") or {}).get("requests"))


def _thousandths(amounts: Mapping[str, Any] | None) -> Resources:
    """Of every resource: as fine as the API server keeps the requests of a pod."""
    return {name: quantities.millis(amount) for name, amount in (amounts or {}).items()}


def _may_be_of_a_whole_pod(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")
