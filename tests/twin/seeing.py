"""What a cluster shows, without what differs from one run to the next: names drawn by lot, hashes,
times, and where the scheduler put a pod that might as well be elsewhere.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from testbed.api import Object
from testbed.scenarios import OWNER, Scene
from tests.twin.deliberate import PROGRESS, SHARED

KINDS: Final = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "Pod",
    "Service",
    "PodDisruptionBudget",
    "EndpointSlice",
)
COST: Final = "controller.kubernetes.io/pod-deletion-cost"
HOSTNAME: Final = "kubernetes.io/hostname"
_UNDER_WAY: Final = frozenset({"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"})
_REVISION: Final = "deployment.kubernetes.io/revision"
_RS_ANNOTATIONS: Final = (
    _REVISION,
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deployment.kubernetes.io/revision-history",
)
_HASHES: Final = (
    "pod-template-hash",
    "controller-revision-hash",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
)
_COUNTED: Final = {
    "Deployment": (
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ),
    "ReplicaSet": (
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "terminatingReplicas",
    ),
    "StatefulSet": (
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "collisionCount",
    ),
    "DaemonSet": (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ),
    "Job": ("active", "ready", "terminating", "succeeded"),
    "PodDisruptionBudget": (
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
        "disruptionsAllowed",
    ),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """All objects of one moment."""

    objects: dict[str, list[Object]]
    nodes: list[Object]
    names: tuple[str, ...]
    """Of the nodes, in the order in which they were made."""

    def of(self, kind: str) -> list[Object]:
        return self.objects[kind]

    def node_number(self, name: str) -> int:
        return self.names.index(name)


async def look(world: Scene) -> Seen:
    objects = {kind: await world.api.list(kind, world.name) for kind in KINDS}
    nodes = await world.api.list("Node", selector=f"{OWNER}={world.name}")
    return Seen(objects, nodes, tuple(world.nodes))


def versions(seen: Seen) -> list[tuple[str, str, str]]:
    """These are the same as long as nobody does anything; nodes have heartbeats."""
    found = [
        (kind, each["metadata"]["uid"], each["metadata"]["resourceVersion"])
        for kind, objects in seen.objects.items()
        for each in objects
    ]
    return sorted(found) + [(line, "", "") for line in _nodes(seen)]


def told(seen: Seen) -> list[str]:
    """Line by line, in an order of its own."""
    return [
        *sorted(_workloads(seen)),
        *sorted(_replica_sets(seen)),
        *sorted(line_of_pod(seen, pod) for pod in seen.of("Pod")),
        *sorted(_budgets(seen)),
        *sorted(_endpoints(seen)),
        *sorted(_nodes(seen)),
    ]


# ---------------------------------------------------------------------- workloads


def _workloads(seen: Seen) -> Iterator[str]:
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        for each in seen.of(kind):
            status = each.get("status") or {}
            parts = {
                "replicas wanted": each["spec"].get("replicas"),
                "image": _image(each["spec"]["template"]["spec"]),
                **_counted(kind, status),
                "conditions": _conditions(status),
                "is observed": _is_observed(each) if kind != "Job" else None,
                "ends": "deletionTimestamp" in each["metadata"],
            }
            if kind == "Deployment":
                parts["revision"] = (each["metadata"].get("annotations") or {}).get(_REVISION)
            if kind == "StatefulSet":
                current = status.get("currentRevision") == status.get("updateRevision")
                parts["is up to date"] = current
            yield _line(f"{kind} {each['metadata']['name']}", parts)


def _replica_sets(seen: Seen) -> Iterator[str]:
    for each in seen.of("ReplicaSet"):
        annotations = each["metadata"].get("annotations") or {}
        parts = {
            "replicas wanted": each["spec"].get("replicas"),
            "image": _image(each["spec"]["template"]["spec"]),
            **{key.partition("/")[2]: annotations.get(key) for key in _RS_ANNOTATIONS},
            **_counted("ReplicaSet", each.get("status") or {}),
            "conditions": _conditions(each.get("status") or {}),
            "is observed": _is_observed(each),
            "ends": "deletionTimestamp" in each["metadata"],
        }
        owner = _owner(each)
        name = f"of {owner}" if owner else each["metadata"]["labels"]["app"]
        yield _line(f"ReplicaSet {name}", parts)


def _counted(kind: str, status: Object) -> dict[str, int]:
    return {key: status.get(key) or 0 for key in _COUNTED[kind]}


def _is_observed(each: Object) -> bool:
    seen: int = (each.get("status") or {}).get("observedGeneration", 0)
    return seen == int(each["metadata"].get("generation", 0))


def _conditions(status: Object) -> list[str]:
    return sorted(
        f"{each['type']}={each['status']}({_alike(each.get('reason', ''))})"
        for each in status.get("conditions") or ()
    )


def _alike(reason: str) -> str:
    return PROGRESS.what if reason in _UNDER_WAY else reason


# ---------------------------------------------------------------------- pods


def line_of_pod(seen: Seen, pod: Object) -> str:
    """Alike for pods that nobody can tell apart, but by their names, ages and nodes."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key not in _HASHES}
    owner = _owner(pod)
    parts = {
        "of": owner,
        "revision": _revision(seen, pod),
        "labels": labels,
        "phase": status.get("phase"),
        "ready": is_ready(pod),
        "conditions": _pod_conditions(status),
        "waits": waiting(pod),
        "image": _image(spec),
        "cost": (metadata.get("annotations") or {}).get(COST),
        "is placed": "nodeName" in spec,
        "ends": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers") or [],
    }
    if owner.startswith("DaemonSet") and "nodeName" in spec:
        parts["node"] = seen.node_number(spec["nodeName"])
    kind = owner.partition(" ")[0]
    name = metadata["name"] if kind in ("", "StatefulSet") and _has_own_name(pod) else ""
    return _line(f"Pod {name}".strip(), parts)


def _has_own_name(pod: Object) -> bool:
    """One that nobody drew: a StatefulSet's, or a bare one's."""
    return "generateName" not in pod["metadata"] or bool(
        (pod["metadata"].get("labels") or {}).get("apps.kubernetes.io/pod-index")
    )


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def waiting(pod: Object) -> list[str]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return [
        str(each["state"]["waiting"].get("reason"))
        for each in statuses
        if "waiting" in (each.get("state") or {})
    ]


def _pod_conditions(status: Object) -> list[str]:
    return sorted(f"{each['type']}={each['status']}" for each in status.get("conditions") or ())


def _revision(seen: Seen, pod: Object) -> str:
    """Of the ReplicaSet, or whether it is of the current or the coming one of a StatefulSet."""
    for reference in pod["metadata"].get("ownerReferences") or ():
        for owner in seen.objects.get(reference["kind"], ()):
            if owner["metadata"]["uid"] != reference["uid"]:
                continue
            if reference["kind"] == "ReplicaSet":
                return str((owner["metadata"].get("annotations") or {}).get(_REVISION, ""))
            label = (pod["metadata"].get("labels") or {}).get("controller-revision-hash")
            status = owner.get("status") or {}
            if reference["kind"] == "StatefulSet":
                is_coming = label == status.get("updateRevision")
                return "update" if is_coming else "current"
    return ""


# ---------------------------------------------------------------------- budgets, services, nodes


def _budgets(seen: Seen) -> Iterator[str]:
    selectors = Counter(_selector(each) for each in seen.of("PodDisruptionBudget"))
    for each in seen.of("PodDisruptionBudget"):
        if selectors[_selector(each)] > 1:
            yield f"PodDisruptionBudget {each['metadata']['name']}: {SHARED.what}"
            continue
        status = each.get("status") or {}
        parts = {
            **_counted("PodDisruptionBudget", status),
            "conditions": _conditions(status),
            # Else it is `UNKNOWABLE`.
            "is observed": None if _has_failed(status) else _is_observed(each),
        }
        yield _line(f"PodDisruptionBudget {each['metadata']['name']}", parts)


def _has_failed(status: Object) -> bool:
    return any(each.get("reason") == "SyncFailed" for each in status.get("conditions") or ())


def _selector(budget: Object) -> str:
    return json.dumps(budget["spec"].get("selector"), sort_keys=True)


def _endpoints(seen: Seen) -> Iterator[str]:
    for service in seen.of("Service"):
        name = service["metadata"]["name"]
        slices = [
            each
            for each in seen.of("EndpointSlice")
            if each["metadata"]["labels"].get("kubernetes.io/service-name") == name
        ]
        found = sorted(
            json.dumps(endpoint["conditions"], sort_keys=True)
            for each in slices
            for endpoint in each.get("endpoints") or ()
        )
        ports = sorted(
            {
                (port.get("name") or "", port["port"])
                for each in slices
                for port in each["ports"] or ()
            }
        )
        yield _line(f"endpoints of {name}", {"endpoints": found, "ports": ports})


def _nodes(seen: Seen) -> Iterator[str]:
    for node in seen.nodes:
        conditions = (node.get("status") or {}).get("conditions") or ()
        [ready, *_] = [each["status"] for each in conditions if each["type"] == "Ready"] or [""]
        taints = sorted(
            f"{each['key']}:{each['effect']}"
            for each in node["spec"].get("taints") or ()
            if each["key"] != OWNER
        )
        parts = {
            "ready": ready,
            "cordoned": bool(node["spec"].get("unschedulable")),
            "taints": taints,
        }
        yield _line(f"Node {seen.node_number(node['metadata']['name'])}", parts)


# ---------------------------------------------------------------------- words


def _owner(item: Object) -> str:
    for reference in item["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            kind = reference["kind"]
            # Its name has a hash; of whom it is, its label tells.
            name = item["metadata"]["labels"]["app"] if kind == "ReplicaSet" else reference["name"]
            return f"{kind} {name}"
    return ""


def _image(spec: Object) -> str:
    return str(spec["containers"][0]["image"])


def _line(name: str, parts: dict[str, Any]) -> str:
    kept = {key: value for key, value in parts.items() if value not in (None, "", [], {})}
    return f"{name}: {json.dumps(kept, sort_keys=True)}"


def in_order(seen: Seen, pods: Iterable[Object]) -> Sequence[Object]:
    """An order that is the same on both clusters, but for pods that nobody can tell apart."""
    return sorted(pods, key=lambda pod: line_of_pod(seen, pod))
