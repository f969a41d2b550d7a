"""How many there may be of a pod while it moves: two for a while, or none. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from rescheduler.migrate.deciding import selecting
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.model import conditions, copying
from rescheduler.model.objects import Object
from rescheduler.model.selectors import Selector

_BLIP: Final = timedelta(seconds=30)
"""For so long a pod that was Ready may be on its way back: a probe that failed once, a restart."""
_STARTING: Final = ("", "ContainerCreating", "PodInitializing")
"""Why containers wait that nothing is wrong with."""


# ---------------------------------------------------------------------- two


def why_volumes_are_exclusive(view: View, original: Object) -> str:
    """What only one of two pods could have."""
    volumes = original["spec"].get("volumes") or ()
    if exclusive := copying.why_volumes_are_exclusive(volumes):
        return exclusive
    claims = {each["metadata"]["name"]: each for each in view.claims}
    named = ((each.get("persistentVolumeClaim") or {}).get("claimName") for each in volumes)
    found = (copying.why_claim_is_exclusive(name, claims.get(name)) for name in named if name)
    return next(filter(None, found), "")


def selecting_by(view: View, pods: Iterable[Object]) -> list[Selector]:
    """Whoever finds pods by their labels has to find the copy just as it finds the pod; so have
    these pods, in the company they keep.
    """
    return [*selecting.of_services(view.services), *counting_by(view, pods)]


def counting_by(view: View, pods: Iterable[Object]) -> list[Selector]:
    """Those who must not miss it even for as long as it does not serve."""
    return [
        *selecting.of_budgets(view.budgets),
        *selecting.of_network_policies(view.network_policies),
        *selecting.of_pods(pods),
    ]


def why_adopted(view: View, copy: dict[str, str], name: str) -> str:
    """Who would take the copy for its own."""
    by_labels = (("ReplicaSet", view.replica_sets), ("DaemonSet", view.daemon_sets))
    for kind, holders in by_labels:
        if adopters := selecting.matching(holders, copy):
            return f"another {kind} would adopt the copy: {', '.join(sorted(adopters))}"
    # A StatefulSet adopts what has the name of one of its pods, too.
    parent, _, ordinal = name.rpartition("-")
    if ordinal.isdecimal() and parent in selecting.matching(view.stateful_sets, copy):
        return f"another StatefulSet would adopt the copy: {parent}"
    return ""


# ---------------------------------------------------------------------- none


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
