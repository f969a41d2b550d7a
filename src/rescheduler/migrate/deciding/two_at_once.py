"""What speaks against two of a pod for a while, for any way that makes a copy. Pure."""

from collections.abc import Iterable

from rescheduler.migrate.deciding import selecting, verdicts
from rescheduler.migrate.deciding.facts import View
from rescheduler.model import copying
from rescheduler.model.objects import Object
from rescheduler.model.selectors import Selector


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
            return f"another {kind} would adopt the copy: {verdicts.listed(adopters)}"
    # A StatefulSet adopts what has the name of one of its pods, too.
    parent, _, ordinal = name.rpartition("-")
    if ordinal.isdecimal() and parent in selecting.matching(view.stateful_sets, copy):
        return f"another StatefulSet would adopt the copy: {parent}"
    return ""
