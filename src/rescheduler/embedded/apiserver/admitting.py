"""What happens to an object on its way in: the admission plugins that matter, and its first status.

Each gives another object, or raises what the plugin would answer.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import refusals, steering
from rescheduler.embedded.conditions import with_condition
from rescheduler.embedded.kinds import Kind
from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from rescheduler.model import company, objects, quantities
from rescheduler.wire import Resource

if TYPE_CHECKING:
    from rescheduler.embedded.apiserver.server import ApiServer

BUILT_IN_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""PriorityClasses that are in every cluster (`bootstrapping`), and hold even before they are."""
_TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS: Final = 300


def check_namespace(store: Store, kind: Kind, item: Object) -> None:
    if not kind.namespaced:
        return
    metadata = item["metadata"]
    place = metadata["namespace"]
    namespace = store.find(wire.NAMESPACES, None, place)
    if namespace is None:
        raise refusals.not_found(wire.NAMESPACES, place)
    if objects.is_terminating(namespace):
        why = f"unable to create new content in namespace {place} because it is being terminated"
        raise refusals.forbidden(kind.resource, metadata.get("name", ""), why)


def begin_status(resource: Resource, item: Object) -> None:
    """Nobody brings a status along, but for nodes, which kubelets make together with theirs."""
    if resource == wire.NODES:
        return
    item.pop("status", None)
    if resource == wire.NAMESPACES:
        item["spec"] = {**(item.get("spec") or {}), "finalizers": ["kubernetes"]}
    if resource in _FIRST_STATUS:
        item["status"] = dict(_FIRST_STATUS[resource])


_PENDING: Final = {"phase": "Pending"}
_FIRST_STATUS: Final[Mapping[Resource, Mapping[str, Any]]] = {
    wire.NAMESPACES: {"phase": "Active"},
    wire.PERSISTENT_VOLUME_CLAIMS: _PENDING,
    wire.PERSISTENT_VOLUMES: _PENDING,
    wire.POD_MIGRATIONS: _PENDING,
    # What is not left out when it is zero.
    wire.REPLICA_SETS: {"replicas": 0},
    wire.STATEFUL_SETS: {"replicas": 0, "availableReplicas": 0},
    wire.DAEMON_SETS: dict.fromkeys(
        ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0
    ),
    wire.POD_DISRUPTION_BUDGETS: dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0
    ),
}


def taint(node: Object) -> None:
    """Until the node controller has heard that it is Ready."""
    taints = node["spec"].get("taints") or []
    if not any(
        each.get("key") == _NOT_READY and each.get("effect") == "NoSchedule" for each in taints
    ):
        node["spec"]["taints"] = [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]


# ------------------------------------------------------------------ pods


def admitted(api: "ApiServer", pod: Object) -> Object:
    """In the order of the real one's plugins."""
    spec = pod["spec"]
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"
    set_tolerations(spec)
    _set_priority(api.store, pod)
    _set_overhead(api.store, pod)
    if api.steering:
        pod = steering.steered(api, pod)
    if node := pod["spec"].get("nodeName"):
        # It was never scheduled, and is nevertheless labelled by where it is.
        pod = _with_topology(pod, api.store.find(wire.NODES, None, node))
    pod = _with_label_keys(pod)
    status: dict[str, Any] = {"phase": "Pending", "qosClass": quality_of(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        status["conditions"] = with_condition((), gated, api.stamp())
    return {**pod, "status": status}


def set_tolerations(spec: Object) -> None:
    """When a pod is made, and whenever its spec is changed."""
    known = spec.get("tolerations") or []
    missing = [key for key in (_NOT_READY, _UNREACHABLE) if not _tolerates(known, key)]
    if missing:
        spec["tolerations"] = [
            *known,
            *(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATED_SECONDS,
                }
                for key in missing
            ),
        ]


def _tolerates(tolerations: list[Object], key: str) -> bool:
    return any(
        (each.get("key") or key) == key and (each.get("effect") or "NoExecute") == "NoExecute"
        for each in tolerations
    )


def _set_priority(store: Store, pod: Object) -> None:
    spec, name = pod["spec"], pod["metadata"]["name"]
    priority, policy = 0, "PreemptLowerPriority"
    if wanted := spec.get("priorityClassName"):
        found = store.find(wire.PRIORITY_CLASSES, None, wanted)
        if found is None and wanted not in BUILT_IN_PRIORITIES:
            why = f"no PriorityClass with name {wanted} was found"
            raise refusals.forbidden(wire.PODS, name, why)
    else:
        defaults = [each for each in store.all(wire.PRIORITY_CLASSES) if each.get("globalDefault")]
        # Of several, the lowest.
        found = min(defaults, key=lambda each: int(each["value"]), default=None)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    if found is not None:
        priority, policy = int(found["value"]), found.get("preemptionPolicy", policy)
    elif wanted:
        priority = BUILT_IN_PRIORITIES[wanted]
    if spec.get("priority", priority) != priority:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise refusals.forbidden(wire.PODS, name, why)
    if spec.get("preemptionPolicy", policy) != policy:
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name"
        )
        raise refusals.forbidden(wire.PODS, name, why)
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _set_overhead(store: Store, pod: Object) -> None:
    spec, name = pod["spec"], pod["metadata"]["name"]
    wanted = spec.get("runtimeClassName")
    if not wanted:
        if spec.get("overhead"):
            why = (
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
            raise refusals.forbidden(wire.PODS, name, why)
        return
    found = store.find(wire.RUNTIME_CLASSES, None, wanted)
    if found is None:
        raise refusals.forbidden(
            wire.PODS, name, f'pod rejected: RuntimeClass "{wanted}" not found'
        )
    overhead = (found.get("overhead") or {}).get("podFixed")
    given = spec.get("overhead")
    if given and _amounts(given) != _amounts(overhead or {}):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise refusals.forbidden(wire.PODS, name, why)
    if overhead:
        spec["overhead"] = dict(overhead)
    placing = found.get("scheduling") or {}
    if selector := placing.get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    for toleration in placing.get("tolerations") or ():
        if toleration not in (spec.get("tolerations") or ()):
            spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]


def _amounts(resources: Object) -> dict[str, int]:
    return {name: quantities.nanos(amount) for name, amount in resources.items()}


def _with_label_keys(pod: Object) -> Object:
    """Keys by which a pod is compared with its like become a part of the selector."""
    labels, spec = objects.labels(pod), pod["spec"]
    for _, term in company.rules(spec):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        for keys, operator in company.LABEL_KEYS:
            found = [
                {"key": key, "operator": operator, "values": [labels[key]]}
                for key in term.get(keys) or ()
                if key in labels
            ]
            if found:
                selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *found]
    return pod


def quality_of(spec: Object) -> str:
    """BestEffort asks for nothing; Guaranteed asks for all that it may use, of cpu and memory."""
    given = spec.get("resources") or {}
    holders = (
        [given]
        if given.get("requests") or given.get("limits")
        else [
            each.get("resources") or {}
            for kind in ("containers", "initContainers")
            for each in spec.get(kind) or ()
        ]
    )
    asked = [_nonzero(each.get("requests")) for each in holders]
    limits = [_nonzero(each.get("limits")) for each in holders]
    if not any(asked) and not any(limits):
        return "BestEffort"
    is_guaranteed = all(len(each) == len(_QUALITY_OF) for each in limits) and all(
        request == limit for request, limit in zip(asked, limits, strict=True)
    )
    return "Guaranteed" if is_guaranteed else "Burstable"


_QUALITY_OF: Final = ("cpu", "memory")


def _nonzero(amounts: Object | None) -> dict[str, int]:
    found = {name: quantities.nanos((amounts or {}).get(name, 0)) for name in _QUALITY_OF}
    return {name: amount for name, amount in found.items() if amount}


# ------------------------------------------------------------------ binding


def bound(pod: Object, node: str, found: Object | None, at: str) -> Object:
    """The pod on its node, labelled by where that is."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    why = ""
    if objects.is_terminating(pod):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise refusals.conflict(wire.Resource("v1", "pods/binding"), name, why)
    status = {
        key: value for key, value in (pod.get("status") or {}).items() if key != "nominatedNodeName"
    }
    scheduled = {"type": "PodScheduled", "status": "True"}
    status["conditions"] = with_condition(status.get("conditions") or (), scheduled, at)
    made = {**pod, "spec": {**spec, "nodeName": node}, "status": status}
    return _with_topology(made, found)


def _with_topology(pod: Object, node: Object | None) -> Object:
    of_node = objects.labels(node) if node else {}
    copied = {key: of_node[key] for key in _TOPOLOGY_LABELS if key in of_node}
    if not copied:
        return pod
    labels = {**objects.labels(pod), **copied}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}
