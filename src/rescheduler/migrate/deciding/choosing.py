"""In which way a pod is moved, by what the cluster shows now. Pure.

Planning has chosen from its snapshot; the live objects have the last word.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from rescheduler.config.migration import AUTO, STEER, SURGE
from rescheduler.migrate.deciding import copies, replicas, selecting, verdicts
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.migrate.deciding.stages import Method
from rescheduler.migrate.deciding.steps import End
from rescheduler.model import conditions, names, workloads
from rescheduler.model.claims import is_shared
from rescheduler.model.objects import (
    Object,
    annotations,
    is_terminating,
    labels,
    owners,
)
from rescheduler.model.selectors import Selector

NO_LABEL_TO_LACK: Final = (
    "a budget, NetworkPolicy or rule of another workload would not select the copy as it does the "
    "pod"
)
NO_GATE_WOULD_OPEN: Final = (
    "a Service selects by what the copy would lack until it is Ready, and its readiness gates may "
    "wait for it to be an endpoint"
)
_SHARED_VOLUMES: Final = frozenset(
    {
        "azureFile",
        "cephfs",
        "configMap",
        "csi",  # in line, it is made for each pod
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "glusterfs",
        "hostPath",
        "image",
        "nfs",
        "persistentVolumeClaim",  # by the claim itself, which says who may have it
        "projected",
        "quobyte",
        "secret",
    }
)
"""Named are those that do not hinder: a kind that we do not know may be a disk."""

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
    if conditions.holds(pod, "Ready"):
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


def choose(intent: Intent, view: View) -> Method | End:
    original = view.original
    if original is None:
        return verdicts.not_now("the pod is gone")
    if is_terminating(original):
        return verdicts.not_now("the pod is terminating")
    if names.MIRROR_POD in annotations(original):
        return verdicts.never("it is a static pod")
    wanted = _wanted(intent, original)
    if isinstance(wanted, End):
        return wanted
    return _by_owner(intent, view, original, wanted)


def _by_owner(intent: Intent, view: View, original: Object, wanted: Method | None) -> Method | End:
    if intent.owner is None:
        return _for_bare(intent, view, original, wanted)
    match intent.owner.known_as:
        case "ReplicaSet":
            return _for_replica(intent, view, original, wanted)
        case "DaemonSet":
            return verdicts.never("it belongs to a DaemonSet")
        case "Node":
            return verdicts.never("it is a static pod")
    hinders = f"it is one of a {intent.owner.known_as}"
    return _by_eviction(intent, original, hinders, wanted)


def _wanted(intent: Intent, original: Object) -> Method | End | None:
    """What the record, the pod or the configuration asks for; None: whichever is right."""
    if intent.method:
        return intent.method
    told = annotations(original).get(names.WAY, "")
    if told and told not in (SURGE, STEER):
        return verdicts.never(
            f"its annotation {names.WAY} is {told!r}: it can be {SURGE} or {STEER}"
        )
    if told:
        return Method(told)
    if intent.settings.way == STEER and intent.owner is None:
        return None  # the setting is about pods that are made anew
    return None if intent.settings.way == AUTO else Method(intent.settings.way)


# ---------------------------------------------------------------------- by kind of owner


def _for_bare(intent: Intent, view: View, original: Object, wanted: Method | None) -> Method | End:
    if wanted is Method.STEER:
        return verdicts.never("it cannot be evicted: nobody would make it anew")
    if others := [each["kind"] for each in owners(original)]:
        return verdicts.never(f"it is owned, without being controlled, by a {others[0]}")
    if exclusive := _why_volumes_are_exclusive(view, original):
        return verdicts.never(exclusive)
    if hinders := _why_its_work_would_begin_anew(original):
        may_begin_anew = intent.may_interrupt or intent.asked
        return Method.COPY if may_begin_anew else verdicts.never(hinders)
    return Method.COPY


def _why_its_work_would_begin_anew(original: Object) -> str:
    restarts = original["spec"].get("restartPolicy") or "Always"
    if restarts != "Always":
        return f"its restartPolicy is {restarts}, so its work would be done twice"
    if original["spec"].get("activeDeadlineSeconds") is not None:
        return "it has activeDeadlineSeconds, which would begin anew"
    return ""


def _for_replica(
    intent: Intent, view: View, original: Object, wanted: Method | None
) -> Method | End:
    if wanted is Method.STEER:
        return Method.STEER
    if wanted is Method.COPY:
        return verdicts.never("only pods that nobody controls are copied")
    if view.replica_set is None:
        return verdicts.not_now("its ReplicaSet is gone")
    hinders = "" if is_missed(intent, original) else "it is not Ready"
    if hinders := hinders or why_no_surge(intent, view, original, view.replica_set):
        return _by_eviction(intent, original, hinders, wanted)
    return Method.SURGE


def _by_eviction(
    intent: Intent, original: Object, hinders: str, wanted: Method | None
) -> Method | End:
    may_end_first = intent.may_interrupt or not is_missed(intent, original)
    if wanted is Method.STEER or (wanted is None and may_end_first):
        return Method.STEER
    if wanted is None:
        return verdicts.never(f"its move would interrupt it: {hinders}")
    return verdicts.never(f"its move would interrupt it, and {wanted} is asked for: {hinders}")


def without_a_copy(intent: Intent, original: Object, refusal: Outcome) -> Method | End:
    """The way for a pod of which admission lets nobody make a right copy."""
    wanted = _wanted(intent, original)
    if isinstance(wanted, End):
        return wanted
    chosen = _by_eviction(intent, original, refusal.message, wanted)
    return End(refusal) if isinstance(chosen, End) else chosen


# ---------------------------------------------------------------------- what a surge asks for


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
    return why_adopted(view, copy, intent.copy)


def _why_exclusive(view: View, original: Object) -> str:
    spec = original["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    ports = [port for each in containers for port in each.get("ports") or ()]
    if any(port.get("hostPort") for port in ports) or (spec.get("hostNetwork") and ports):
        return "it uses ports of its node"
    return _why_volumes_are_exclusive(view, original)


def _why_volumes_are_exclusive(view: View, original: Object) -> str:
    """What only one of two pods could have."""
    claims = {each["metadata"]["name"]: each for each in view.claims}
    for volume in original["spec"].get("volumes") or ():
        if not volume.keys() & _SHARED_VOLUMES:
            return f"one pod at a time may have its volume {volume['name']}"
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        # A claim that is not known counts as a disk.
        if name and not (name in claims and is_shared(claims[name])):
            return f"one node at a time may have its PersistentVolumeClaim {name}"
    return ""


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
        best = copies.withheld_label(replica_set, known, selecting_by(view, pods))
        if best is not None:
            return best
    if is_gated:
        return None
    services = selecting.of_services(view.services)
    return copies.withheld_label(replica_set, known, _counting_by(view, others), later=services)


def selecting_by(view: View, pods: Iterable[Object]) -> list[Selector]:
    """Whoever finds pods by their labels has to find the copy just as it finds the pod; so have
    these pods, in the company they keep.
    """
    return [*selecting.of_services(view.services), *_counting_by(view, pods)]


def _counting_by(view: View, pods: Iterable[Object]) -> list[Selector]:
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
