"""Amounts of every resource: what nodes have, and what kube-scheduler 1.36 reserves for pods.

Follows k8s.io/component-helpers/resource/helpers.go as the scheduler calls it with the feature
gates that are on by default: PodLevelResources, InPlacePodVerticalScaling and
InPlacePodLevelResourcesVerticalScaling. DRANodeAllocatableResources is off: what a resource claim
takes from its node's cpu or memory is not counted. DRAExtendedResource is on: an extended resource
that a node does not have may come from a DeviceClass instead, and then only the scheduler knows
whether there is one left; by these figures such a pod does not fit, which errs on the safe side.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.model import quantities, selectors

Resources = Mapping[str, int]
"""cpu in thousandths of a core, everything else in whole units (memory in bytes)."""

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
EPHEMERAL_STORAGE = "ephemeral-storage"

LARGEST = 2**55
"""What one pod can ask for, 32 PiB of memory: the sum over 255 pods of a node fits into 64 bits,
where the scheduler's own arithmetic overflows. A node has less than that (`read`), so that a pod
of a capped size fits nowhere."""

_HUGE_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"
_QUOTA_PREFIX = "requests."
_KIBI = 1024
_BINARY_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def read(amounts: Mapping[str, Any] | None) -> Resources:
    """What a node has (`status.allocatable`), as the scheduler reads it.

    Raises:
        ValueError: an amount is negative or is no quantity; the message names the resource.
    """
    parsed = {}
    for name, amount in (amounts or {}).items():
        if is_counted(name) or name == PODS:
            value = _rounded(name, _thousandths_of(amount, name))
            parsed[name] = min(value, LARGEST - 1)
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


def in_words(name: str, amount: float) -> str:
    """As a person would write it: `1500m` and `2` of cpu, `1.5Gi` of what is counted in bytes."""
    if name == CPU:
        return f"{amount:.0f}m" if amount % 1000 else f"{amount / 1000:.0f}"
    if name not in (MEMORY, EPHEMERAL_STORAGE) and not name.startswith(_HUGE_PAGES):
        return f"{amount:.0f}"
    power = 0
    while amount >= _KIBI and power < len(_BINARY_UNITS) - 1:
        amount, power = amount / _KIBI, power + 1
    return f"{amount:.1f}".removesuffix(".0") + _BINARY_UNITS[power]


def of_pod(spec: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> Resources:
    """What the scheduler reserves for a pod: containers and sidecars together, or the largest init
    step if that is more; pod-level requests in their place; overhead on top; and the pod itself.

    The status is that of a pod with a node, which may be in the middle of a resize: then it holds
    the most of what it asks for, what its kubelet has granted and what it really has. A pod without
    a node is judged by its specification alone.

    Raises:
        ValueError: an amount is negative or is no quantity; the message names the field.
    """
    resizing = _Resizing(status or {})
    of_containers = _of_containers(spec, resizing)
    thousandths = add(
        {**of_containers, **_of_the_whole_pod(spec, resizing)},
        _thousandths(spec.get("overhead"), "overhead"),
    )
    return _reserved(thousandths)


def of_template(spec: Mapping[str, Any], overhead: Mapping[str, Any] | None = None) -> Resources:
    """What the scheduler will reserve for a pod made of this template.

    The API server completes a pod when it is created, not the template: a limit without a request
    becomes the request, and the overhead comes from its RuntimeClass (`overhead.podFixed`).
    """
    completed = {
        **spec,
        "containers": [_with_requests(each) for each in spec.get("containers") or ()],
        "initContainers": [_with_requests(each) for each in spec.get("initContainers") or ()],
        "overhead": overhead or spec.get("overhead"),
    }
    of_containers = _of_containers(completed, _Resizing({}))
    whole = spec.get("resources") or {}
    requests = dict(whole.get("requests") or {})
    for name, limit in (whole.get("limits") or {}).items():
        # The containers' own requests come first, but for huge pages, which are never shared out.
        if name.startswith(_HUGE_PAGES) or name not in of_containers:
            requests.setdefault(name, limit)
    completed["resources"] = {"requests": requests}
    return of_pod(completed)


@functools.cache
def is_counted(name: str) -> bool:
    """Whether the scheduler keeps account of what pods ask for of it. Not `storage`, for example,
    or a name that is no extended resource by Kubernetes' rules. `pods` are counted by themselves.
    """
    if name in (CPU, MEMORY, EPHEMERAL_STORAGE):
        return True
    if name.startswith((_HUGE_PAGES, "attachable-volumes-")) or _NATIVE in name:
        return True
    return "/" in name and not name.startswith(_QUOTA_PREFIX) and _may_have_a_quota(name)


def _may_have_a_quota(name: str) -> bool:
    try:
        # The rule for such names is the one for keys of labels.
        selectors.Requirement(_QUOTA_PREFIX + name, selectors.Operator.EXISTS)
    except selectors.InvalidSelectorError:
        return False
    return True


class _Resizing:
    """What the status of a pod says about its resize, and what is reserved meanwhile."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        self.pod = status
        self._containers: dict[str, Mapping[str, Any]] = {}
        for kind in ("containerStatuses", "initContainerStatuses"):
            self._containers |= {each["name"]: each for each in status.get(kind) or ()}
        pending = [
            each for each in status.get("conditions") or () if each["type"] == "PodResizePending"
        ]
        # Infeasible is refused for good. Deferred may be granted at any time, so it counts.
        self._is_refused = bool(pending) and pending[0].get("reason") == "Infeasible"

    def of_container(self, name: str) -> Mapping[str, Any]:
        return self._containers.get(name, {})

    def reserved(self, asked: Resources, seen: Mapping[str, Any], place: str) -> Resources:
        """Of a container or of the pod: `seen` is its part of the status."""
        actual = seen.get("resources")
        if actual is None:
            return asked
        held = [
            _thousandths(actual.get("requests"), f"{place}.resources.requests"),
            _thousandths(seen.get("allocatedResources"), f"{place}.allocatedResources"),
        ]
        return largest(held if self._is_refused else [asked, *held])


def _of_containers(spec: Mapping[str, Any], resizing: _Resizing) -> Resources:
    running = [
        _of_resizable(container, resizing, "containers")
        for container in spec.get("containers") or ()
    ]
    sidecars: list[Resources] = []
    steps: list[Resources] = []
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars.append(_of_resizable(container, resizing, "initContainers"))
            steps.append(add(*sidecars))
        else:
            steps.append(add(_requests(container, _place("initContainers", container)), *sidecars))
    return largest([add(*running, *sidecars), *steps])


def _of_resizable(container: Mapping[str, Any], resizing: _Resizing, kind: str) -> Resources:
    place = _place(kind, container)
    seen = resizing.of_container(container.get("name") or "")
    return resizing.reserved(_requests(container, place), seen, f"status of {place}")


def _of_the_whole_pod(spec: Mapping[str, Any], resizing: _Resizing) -> Resources:
    """Pod-level requests, which stand in place of the containers' where they name a resource."""
    asked = {
        name: amount
        for name, amount in _requests(spec, "the pod").items()
        if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)
    }
    held = resizing.reserved(asked, resizing.pod, "status of the pod")
    return {name: held.get(name, 0) for name in asked}


def _with_requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    given = container.get("resources") or {}
    requests = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    return {**container, "resources": {"requests": requests}}


def _requests(holder: Mapping[str, Any], place: str) -> Resources:
    return _thousandths((holder.get("resources") or {}).get("requests"), f"{place}: requests")


def _place(kind: str, container: Mapping[str, Any]) -> str:
    return f"{kind}[{container.get('name', '')}]"


def _thousandths(amounts: Mapping[str, Any] | None, place: str) -> Resources:
    """Of every resource: as fine as the API server keeps the amounts of a pod."""
    return {
        name: _thousandths_of(amount, f"{place}.{name}") for name, amount in (amounts or {}).items()
    }


def _thousandths_of(amount: str | int, place: str) -> int:
    try:
        value = quantities.millis(amount)
    except ValueError as problem:
        raise ValueError(f"{place}: {problem}") from None
    if value < 0:
        raise ValueError(f"{place}: {amount} is negative")
    return value


def _reserved(thousandths: Resources) -> Resources:
    # Rounded up once, after adding: 0.3Gi twice is not one byte more than 0.6Gi.
    counted = {
        name: min(_rounded(name, amount), LARGEST)
        for name, amount in thousandths.items()
        if is_counted(name)
    }
    return {**counted, PODS: 1}


def _rounded(name: str, thousandths: int) -> int:
    return thousandths if name == CPU else -(-thousandths // 1000)
