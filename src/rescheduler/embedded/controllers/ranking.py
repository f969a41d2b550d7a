"""Which pods a ReplicaSet deletes when it has too many: pure (ActivePodsWithRanks in
controller_utils.go, with the features that are on by default since 1.22).
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from rescheduler.embedded.apiserver.pod_specs import is_deletion_cost
from rescheduler.embedded.controllers.pods import is_ready, moment, ready_since
from rescheduler.kube import Object
from rescheduler.model import names
from rescheduler.model.objects import annotations, is_active

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_MICROSECOND: Final = timedelta(microseconds=1)


class _Ranked(NamedTuple):
    first: tuple[bool, int, bool, int, int]
    """What decides before any time does, smallest first."""
    is_ready: bool
    ready_since: datetime | None
    restarts: tuple[int, int]
    created: datetime
    uid: str
    pod: Object


def to_delete(
    active: Sequence[Object], related: Iterable[Object], count: int, now: datetime
) -> list[Object]:
    """So many of the active pods. `related`: those of all ReplicaSets with the same owner, itself
    included; of two on one node, one is rather done without.
    """
    if count >= len(active):
        return list(active)
    doubled = Counter(_node(pod) for pod in related if is_active(pod))

    def compared(one: _Ranked, other: _Ranked) -> int:
        return _compared(one, other, now)

    ranked = sorted((_ranked(pod, doubled) for pod in active), key=functools.cmp_to_key(compared))
    return [each.pod for each in ranked[:count]]


def deletion_cost(pod: Object) -> int:
    """What cannot be read counts as nothing."""
    text = annotations(pod).get(names.DELETION_COST, "")
    return int(text) if is_deletion_cost(text) else 0


def _ranked(pod: Object, doubled: Mapping[str, int]) -> _Ranked:
    metadata, node, ready = pod["metadata"], _node(pod), is_ready(pod)
    phase = _PHASES.get((pod.get("status") or {}).get("phase", ""), 0)
    return _Ranked(
        (bool(node), phase, ready, deletion_cost(pod), -doubled.get(node, 0)),
        ready,
        ready_since(pod),
        _restarts(pod),
        moment(metadata["creationTimestamp"]),
        metadata["uid"],
        pod,
    )


def _compared(one: _Ranked, other: _Ranked, now: datetime) -> int:
    """Negative: rather the one. No order in the strict sense: equal moments are compared further,
    moments that are almost equal are not, and then the UIDs decide, which is as good as a lot.
    """
    if one.first != other.first:
        return -1 if one.first < other.first else 1
    if one.is_ready and one.ready_since != other.ready_since:
        if one.ready_since is None or other.ready_since is None:
            return -1 if one.ready_since is None else 1
        return _younger(one, one.ready_since, other, other.ready_since, now)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _younger(one, one.created, other, other.created, now)
    return 0


def _younger(
    one: _Ranked, its_time: datetime, other: _Ranked, other_time: datetime, now: datetime
) -> int:
    mine, theirs = _magnitude(now - its_time), _magnitude(now - other_time)
    if mine != theirs:
        return mine - theirs
    return -1 if one.uid < other.uid else 1


def _magnitude(age: timedelta) -> int:
    """The power of two, in nanoseconds."""
    nanoseconds = age // _MICROSECOND * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _node(pod: Object) -> str:
    return pod["spec"].get("nodeName") or ""


def _restarts(pod: Object) -> tuple[int, int]:
    """The most of any container, and then of any sidecar."""
    status = pod.get("status") or {}
    sidecars = {
        container["name"]
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    regular = (each.get("restartCount", 0) for each in status.get("containerStatuses") or ())
    beside = (
        each.get("restartCount", 0)
        for each in status.get("initContainerStatuses") or ()
        if each["name"] in sidecars
    )
    return max(regular, default=0), max(beside, default=0)
