"""Whether anybody misses a pod that ends before its successor begins. Pure."""

from datetime import datetime, timedelta
from typing import Final

from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import conditions
from rescheduler.model.objects import Object

_BLIP: Final = timedelta(seconds=30)
"""For so long a pod that was Ready may be on its way back: a probe that failed once, a restart."""
_STARTING: Final = ("", "ContainerCreating", "PodInitializing")
"""Why containers wait that nothing is wrong with."""


def is_missed(intent: Intent, original: Object) -> bool:
    """Whether anybody notices when it ends before its successor begins. Who is not Ready serves
    nobody; but unless somebody wants it away, it is left to become Ready. So is one that has served
    until a moment ago, and may do so again in another.
    """
    return not intent.asked or not _is_lastingly_unready(original, intent.requested_at)


def _is_lastingly_unready(pod: Object, asked_at: datetime) -> bool:
    if conditions.is_well(pod):
        return False
    since = conditions.unready_since(pod)
    if since is None or asked_at - since >= _BLIP:
        return True
    status = pod.get("status") or {}
    found = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    states = [each.get("state") or {} for each in found]
    if any((each.get("waiting") or {}).get("reason", "") not in _STARTING for each in states):
        return True
    # Not Ready since before its containers ran for the first time: it has never been.
    starts = [each["running"]["startedAt"] for each in states if each.get("running")]
    is_first_run = not any(each.get("restartCount") for each in found)
    return is_first_run and all(since <= datetime.fromisoformat(start) for start in starts)
