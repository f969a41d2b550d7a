"""Whether a pod of a ReplicaSet can surge, and which label its copy lacks meanwhile. Pure."""

from typing import Final

from rescheduler.migrate.deciding import selecting, two_or_none
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.migrate.deciding.surge import copies, replicas
from rescheduler.model import copying, workloads
from rescheduler.model.objects import Object, labels, owners

NO_LABEL_TO_LACK: Final = (
    "a budget, NetworkPolicy or rule of another workload would not select the copy as it does the "
    "pod"
)
NO_GATE_WOULD_OPEN: Final = (
    "a Service selects by what the copy would lack until it is Ready, and its readiness gates may "
    "wait for it to be an endpoint"
)


def why_no_surge(intent: Intent, view: View, original: Object, replica_set: Object) -> str:
    """Why there cannot be two of this pod, not even for a while."""
    if view.deployment and workloads.recreates(view.deployment):
        return "its Deployment has strategy Recreate: two of its pods must not run at once"
    spec = replica_set["spec"]["template"]["spec"]
    if spec.get("nodeName"):
        return "its template names a node, past the scheduler"
    if exclusive := _why_exclusive(view, original):
        return exclusive
    withheld = withheld_label(view, original, replica_set)
    if withheld is None:
        is_gated = copies.has_gates(replica_set)
        could = is_gated and _label_to_lack(view, original, replica_set, is_gated=False)
        return NO_GATE_WOULD_OPEN if could else NO_LABEL_TO_LACK
    if sibling := replicas.why_a_sibling_goes_first(intent, view, replica_set):
        return sibling
    template = (replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    copy = {key: value for key, value in template.items() if key != withheld}
    return two_or_none.why_adopted(view, copy, intent.copy)


def _why_exclusive(view: View, original: Object) -> str:
    ports = copying.why_ports_are_exclusive(original["spec"])
    return ports or two_or_none.why_volumes_are_exclusive(view, original)


def withheld_label(view: View, original: Object, replica_set: Object) -> str | None:
    """Best one that nobody misses. Else one that only Services go by: a copy that is Ready becomes
    an endpoint as it is adopted, and so before its original is seen to end. Not where it could have
    to be an endpoint to become Ready.
    """
    is_gated = copies.has_gates(replica_set)
    return _label_to_lack(view, original, replica_set, is_gated=is_gated)


def _label_to_lack(
    view: View, original: Object, replica_set: Object, *, is_gated: bool
) -> str | None:
    known, uid = labels(original), replica_set["metadata"]["uid"]
    # Where siblings are is asked with all labels when the move is planned and when it begins, while
    # others, who may come at any time, could be led astray by what the copy lacks.
    others = [pod for pod in view.neighbours if all(each["uid"] != uid for each in owners(pod))]
    for pods in (view.neighbours, others):
        best = copies.withheld_label(replica_set, known, two_or_none.selecting_by(view, pods))
        if best is not None:
            return best
    if is_gated:
        return None
    services = selecting.of_services(view.services)
    return copies.withheld_label(
        replica_set, known, two_or_none.counting_by(view, others), later=services
    )
