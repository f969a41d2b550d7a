"""What a Deployment says of itself: pure (calculateStatus in sync.go, and progress.go)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rescheduler.embedded.controllers import rolling
from rescheduler.embedded.controllers.pods import moment
from rescheduler.embedded.statuses import stamp
from rescheduler.kube import Object
from rescheduler.model import conditions

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
FAILURE: Final = "ReplicaFailure"

COMPLETE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"

_NO_DEADLINE: Final = 2**31 - 1
_DEFAULT_DEADLINE: Final = 600

Status = dict[str, Any]


def deadline(deployment: Object) -> timedelta | None:
    seconds = deployment["spec"].get("progressDeadlineSeconds", _DEFAULT_DEADLINE)
    return None if seconds == _NO_DEADLINE else timedelta(seconds=seconds)


def find(status: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    return conditions.find({"status": status}, kind)


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": stamp(now),
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message,
    }


def put(status: Status, new: Mapping[str, Any]) -> None:
    """Unless it says the same already."""
    known = find(status, new["type"])
    if known is not None and known["status"] == new["status"]:
        if known.get("reason") == new.get("reason"):
            return
        new = {**new, "lastTransitionTime": known.get("lastTransitionTime")}
    remove(status, new["type"])
    status["conditions"] = [*status.get("conditions", ()), dict(new)]


def remove(status: Status, kind: str) -> None:
    kept = [each for each in status.get("conditions") or () if each["type"] != kind]
    if kept:
        status["conditions"] = kept
    else:
        status.pop("conditions", None)


def counted(deployment: Object, new: Object | None, old: Sequence[Object], now: datetime) -> Status:
    """With the conditions that it has, and whether it has enough pods."""
    every = [*old, new] if new is not None else old
    before = deployment.get("status") or {}
    available = total(every, "availableReplicas")
    counts = {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": total(every, "replicas"),
        "updatedReplicas": total([new], "replicas") if new is not None else 0,
        "readyReplicas": total(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(rolling.sizes(every) - available, 0),
        "collisionCount": before.get("collisionCount", 0),
    }
    status: Status = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = total(every, "terminatingReplicas")
    if before.get("conditions"):
        status["conditions"] = list(before["conditions"])
    least = rolling.size(deployment) - rolling.max_unavailable(deployment)
    put(status, _availability(is_enough=available >= least, now=now))
    return status


def _availability(*, is_enough: bool, now: datetime) -> Object:
    if is_enough:
        words = "MinimumReplicasAvailable", "Deployment has minimum availability."
        return condition(AVAILABLE, "True", *words, now)
    words = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    return condition(AVAILABLE, "False", *words, now)


def total(replica_sets: Iterable[Object], count: str) -> int:
    return sum((each.get("status") or {}).get(count, 0) for each in replica_sets)


def is_complete(deployment: Object, status: Mapping[str, Any]) -> bool:
    wanted = rolling.size(deployment)
    return (
        all(
            status.get(count, 0) == wanted
            for count in ("updatedReplicas", "replicas", "availableReplicas")
        )
        and status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    )


def with_progress(
    deployment: Object, new: Object | None, old: Sequence[Object], now: datetime
) -> Status:
    """The same, and how the rollout goes."""
    status = counted(deployment, new, old, now)
    if deadline(deployment) is None:
        remove(status, PROGRESSING)
    else:
        _tell_progress(deployment, new, status, now)
    failures = _failures(new, old)
    if failures:
        put(status, failures[0])
    else:
        remove(status, FAILURE)
    return status


def _tell_progress(deployment: Object, new: Object | None, status: Status, now: datetime) -> None:
    before = deployment.get("status") or {}
    known = find(before, PROGRESSING)
    is_all_new = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if is_all_new and known is not None and known.get("reason") == COMPLETE:
        # Nothing is being rolled out; a pod that comes or goes is no progress.
        return
    kind = "ReplicaSet" if new is not None else "Deployment"
    name = f'{kind} "{(new or deployment)["metadata"]["name"]}"'
    if is_complete(deployment, status):
        words = COMPLETE, f"{name} has successfully progressed."
        put(status, condition(PROGRESSING, "True", *words, now))
    elif _progressed(before, status):
        words = "ReplicaSetUpdated", f"{name} is progressing."
        made = condition(PROGRESSING, "True", *words, now)
        if known is not None and known["status"] == "True":
            made["lastTransitionTime"] = known.get("lastTransitionTime")
        remove(status, PROGRESSING)
        put(status, made)
    elif _has_timed_out(deployment, status, now):
        words = TIMED_OUT, f"{name} has timed out progressing."
        put(status, condition(PROGRESSING, "False", *words, now))


def _progressed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    def old(status: Mapping[str, Any]) -> int:
        count: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return count

    return old(after) < old(before) or any(
        after.get(count, 0) > before.get(count, 0)
        for count in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _has_timed_out(deployment: Object, status: Mapping[str, Any], now: datetime) -> bool:
    known, patience = find(status, PROGRESSING), deadline(deployment)
    if known is None or patience is None or known.get("reason") == COMPLETE:
        return False
    if known.get("reason") == TIMED_OUT:
        return True
    return moment(known["lastUpdateTime"]) + patience < now


def seconds_until_late(
    deployment: Object, status: Mapping[str, Any], now: datetime
) -> float | None:
    """When to look again whether the rollout has got stuck; None: it is over, or nobody asks."""
    known, patience = find(status, PROGRESSING), deadline(deployment)
    if known is None or patience is None or known.get("reason") in (COMPLETE, TIMED_OUT):
        return None
    if is_complete(deployment, status):
        return None
    left = moment(known["lastUpdateTime"]) + patience - now
    # A second more, so that it is late for certain.
    return max(left.total_seconds(), 0.0) + 1.0


def _failures(new: Object | None, old: Sequence[Object]) -> list[Object]:
    """Of the new ReplicaSet, or else of old ones."""
    for replica_sets in ([new] if new is not None else [], old):
        found = [conditions.find(each, FAILURE) for each in replica_sets]
        if any(found):
            return [
                {**each, "lastUpdateTime": each["lastTransitionTime"]}
                for each in found
                if each is not None
            ]
    return []
