"""What controllers ask of a pod: pure, and as k8s.io/kubernetes/pkg/api/v1/pod answers it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def is_ready(pod: Object) -> bool:
    return conditions.holds(pod, "Ready")


def ready_since(pod: Object) -> datetime | None:
    """None: it is not, or nobody knows since when."""
    found = conditions.find(pod, "Ready")
    if found is None or found["status"] != "True" or not found.get("lastTransitionTime"):
        return None
    return moment(found["lastTransitionTime"])


def is_available(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Ready for so long that it is believed."""
    if not min_ready_seconds:
        return is_ready(pod)
    since = ready_since(pod)
    return since is not None and since + timedelta(seconds=min_ready_seconds) <= now


def next_availability(
    pods: Iterable[Object], min_ready_seconds: int, now: datetime
) -> float | None:
    """In how many seconds the first of them that is Ready will be available too."""
    waiting = (
        (since + timedelta(seconds=min_ready_seconds) - now).total_seconds()
        for pod in pods
        if (since := ready_since(pod)) is not None
    )
    return min((seconds for seconds in waiting if seconds > 0), default=None)


def has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_ending(pod: Object) -> bool:
    """Told to end, and not seen to have ended."""
    return is_terminating(pod) and not has_ended(pod)
