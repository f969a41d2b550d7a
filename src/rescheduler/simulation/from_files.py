"""The user's own cluster, from a file, as one that can be simulated.

A file has what planning needs, and not all that a cluster needs: templates of workloads are taken
from one of their pods. Whose owner is not in the file, or is of a kind that nobody plays here,
stays as it is and does not come back when it goes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rescheduler import wire
from rescheduler.embedded import behaviours
from rescheduler.errors import ReschedulerError
from rescheduler.model import names, resources
from rescheduler.model.objects import controller, is_terminating
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files import Loaded, to_objects
from rescheduler.simulation.described import WORKLOAD, BaseLoad, Described, Json
from rescheduler.wire import Resource

_PLAYED: Final = {
    "Deployment": wire.DEPLOYMENTS,
    "ReplicaSet": wire.REPLICA_SETS,
    "StatefulSet": wire.STATEFUL_SETS,
    "DaemonSet": wire.DAEMON_SETS,
}
_ORDER: Final = (
    wire.NAMESPACES,
    wire.PRIORITY_CLASSES,
    wire.RUNTIME_CLASSES,
    wire.STORAGE_CLASSES,
    wire.NODES,
    wire.CSI_NODES,
    wire.PERSISTENT_VOLUMES,
    wire.PERSISTENT_VOLUME_CLAIMS,
    wire.SERVICES,
    wire.DEPLOYMENTS,
    wire.REPLICA_SETS,
    wire.STATEFUL_SETS,
    wire.DAEMON_SETS,
    wire.POD_DISRUPTION_BUDGETS,
)
"""What is taken over. Quotas are not: what they count is not all in the file."""
_OF_ONE_POD: Final = ("nodeName", "hostname", "subdomain", "priority", "preemptionPolicy")
_USED_OF_REQUESTS: Final = (0.5, 0.7)
"""CPU and memory, of what nobody measured."""
_LEAST: Final = (0.005, 16.0 * 2**20)
_MOST_BESIDE: Final = 10.0


def describe(loaded: Loaded) -> Described:
    """Raises ReschedulerError."""
    described = _Describing(loaded.snapshot, loaded.ended_pods).described()
    if not described.count(wire.NODES):
        raise ReschedulerError("no node in the file says how much cpu and memory it has for pods")
    return described


@dataclass(slots=True)
class _Found:
    """What is known of a workload, gathered from its pods."""

    pods: list[Json] = field(default_factory=list)
    used: list[tuple[float, float]] = field(default_factory=list)


class _Describing:
    def __init__(self, snapshot: Snapshot, ended: int) -> None:
        self._by_resource: dict[Resource, list[Json]] = {each: [] for each in _ORDER}
        self._pods: list[Json] = []
        self._plain: Counter[str] = Counter()
        self._ended, self._nowhere = ended, 0
        # Nobody can tell how much of a node is used that does not say what it has.
        self._nodes = {
            each.name
            for each in snapshot.nodes
            if each.allocatable.get(resources.CPU) and each.allocatable.get(resources.MEMORY)
        }
        resources_by_kind = {(each.group_version, kind): each for kind, each in _KINDS.items()}
        for item in to_objects(snapshot):
            resource = resources_by_kind.get((item["apiVersion"], item["kind"]))
            if resource == wire.PODS:
                self._take_pod(dict(item))
            elif resource == wire.NODES and item["metadata"]["name"] not in self._nodes:
                continue  # the snapshot tells of it
            elif resource is not None:
                self._by_resource[resource].append(dict(item))
        self._owners = {
            each["metadata"].get("uid", ""): (resource, each)
            for resource in _PLAYED.values()
            for each in self._by_resource[resource]
        }
        self._runtime_classes = {
            each["metadata"]["name"] for each in self._by_resource[wire.RUNTIME_CLASSES]
        }
        self._used = _used(snapshot)
        self._workloads: dict[str, _Found] = {}
        self._samples: dict[str, Json] = {}
        """By UID of its owner: a pod."""
        self._replica_sets: dict[str, list[Json]] = {}
        """By UID of their Deployment."""
        for each in self._by_resource[wire.REPLICA_SETS]:
            if (owner := controller(each)) is not None:
                self._replica_sets.setdefault(owner["uid"], []).append(each)
        self._gather()

    def _take_pod(self, pod: Json) -> None:
        node = pod["spec"].get("nodeName")
        if is_terminating(pod):
            self._ended += 1
        elif node and node not in self._nodes:
            self._nowhere += 1
        else:
            self._pods.append(pod)

    # ------------------------------------------------------------------ workloads

    def _gather(self) -> None:
        self._pods = [self._with_owner(each) for each in self._pods]
        for pod in self._pods:
            found = self._workloads.setdefault(self._workload_of(pod), _Found())
            found.pods.append(pod)
            found.used.append(self._used[_name(pod)])
            if (owner := controller(pod)) is not None:
                self._samples.setdefault(owner["uid"], pod)

    def _with_owner(self, pod: Json) -> Json:
        """With the reference to it as an API server has it, or with none at all."""
        reference, metadata = controller(pod), dict(pod["metadata"])
        if reference is not None and reference["uid"] in self._owners:
            resource, _ = self._owners[reference["uid"]]
            owner = {**reference, "apiVersion": resource.group_version, "blockOwnerDeletion": True}
            metadata["ownerReferences"] = [owner]
        else:
            if reference is not None and names.MIRROR_POD not in (
                metadata.get("annotations") or {}
            ):
                self._plain[reference["kind"]] += 1
            metadata.pop("ownerReferences", None)
        return {**pod, "metadata": metadata}

    def _workload_of(self, pod: Json) -> str:
        reference = controller(pod)
        if reference is None:
            return _name(pod)
        _, owner = self._owners[reference["uid"]]
        above = controller(owner)
        name = above["name"] if above is not None else reference["name"]
        return f"{pod['metadata']['namespace']}/{name}"

    # ------------------------------------------------------------------ together

    def described(self) -> Described:
        loads, beside = {}, {}
        for name, found in self._workloads.items():
            used = np.array(found.used)
            mean = np.maximum(used.mean(axis=0), _LEAST)
            loads[name] = BaseLoad(cores=float(mean[0]), memory=float(mean[1]))
            for pod, share in zip(found.pods, (used / mean).tolist(), strict=True):
                cpu, memory = (min(max(each, 1 / _MOST_BESIDE), _MOST_BESIDE) for each in share)
                beside[_name(pod)] = (cpu, memory)
        return Described(
            objects=tuple(self._objects()),
            loads=loads,
            beside=beside,
            notes=tuple(self._notes()),
        )

    def _objects(self) -> Iterator[tuple[Resource, Json]]:
        for resource in _ORDER:
            if resource == wire.NAMESPACES:
                yield from ((resource, each) for each in self._namespaces())
            else:
                if resource == wire.PRIORITY_CLASSES:
                    yield from ((resource, each) for each in self._priority_classes())
                for each in self._by_resource[resource]:
                    yield resource, self._completed(resource, each)
        yield from ((wire.PODS, self._pod(each)) for each in self._pods if not _made_anew(each))

    def _namespaces(self) -> Iterator[Json]:
        known = {each["metadata"]["name"]: each for each in self._by_resource[wire.NAMESPACES]}
        used = {
            each["metadata"].get("namespace")
            for each in (*self._pods, *(i for r in _ORDER for i in self._by_resource[r]))
        }
        for name in sorted({*known, *filter(None, used)}):
            metadata = _kept(known.get(name, {"metadata": {}})["metadata"])
            yield {"metadata": {**metadata, "name": name}}

    def _completed(self, resource: Resource, item: Json) -> Json:
        item = {**item, "metadata": _kept(item["metadata"])}
        if resource == wire.NODES:
            return _node(item)
        if resource not in _PLAYED.values():
            return item
        metadata, spec = item["metadata"], dict(item.get("spec") or {})
        owner = controller(item)
        # Of one that is not there it would be garbage, and its pods with it.
        metadata.pop("ownerReferences", None)
        if owner is not None and owner["uid"] in self._owners:
            metadata["ownerReferences"] = [
                {**owner, "apiVersion": "apps/v1", "blockOwnerDeletion": True}
            ]
        spec["template"] = self._template_of(resource, item)
        spec.setdefault("selector", {"matchLabels": spec["template"]["metadata"]["labels"]})
        if resource == wire.STATEFUL_SETS:
            spec.setdefault("serviceName", metadata["name"])
        return {**item, "metadata": metadata, "spec": spec}

    def _template_of(self, resource: Resource, item: Json) -> Json:
        spec, sample = item.get("spec") or {}, self._sample_of(resource, item)
        given = spec.get("template") or {}
        if sample is None:
            # None of its pods is there to tell what it is made of.
            labels = (spec.get("selector") or {}).get("matchLabels") or {}
            return _template(labels, {"containers": [_NO_CONTAINER]}, {})
        annotations = {WORKLOAD: self._workload_of(sample)}
        if (given.get("spec") or {}).get("containers"):
            # Files have it of DaemonSets, whose pods are each made for one node.
            labels = (given.get("metadata") or {}).get("labels") or {}
            return _template(labels, self._spec(given), annotations)
        left_out = {*names.OF_ONE_POD, *names.OF_ONE_PLACE, *_REVISIONS}
        if resource == wire.DEPLOYMENTS:
            left_out.add("pod-template-hash")
        labels = {
            key: value
            for key, value in (sample["metadata"].get("labels") or {}).items()
            if key not in left_out
        }
        return _template(labels, self._spec(sample), annotations)

    def _sample_of(self, resource: Resource, item: Json) -> Json | None:
        """One of its pods; of a Deployment, of the ReplicaSet that it has come to."""
        uid = item["metadata"].get("uid", "")
        if resource == wire.DEPLOYMENTS:
            sets = self._replica_sets.get(uid, [])
            newest = max(sets, key=lambda each: (_revision(each), _replicas(each)), default=None)
            uid = newest["metadata"].get("uid", "") if newest is not None else ""
        return self._samples.get(uid)

    def _pod(self, pod: Json) -> Json:
        metadata = _kept(pod["metadata"])
        annotations = {**(metadata.get("annotations") or {}), WORKLOAD: self._workload_of(pod)}
        spec = self._spec(pod)
        if node := pod["spec"].get("nodeName"):
            spec["nodeName"] = node
        return {"metadata": {**metadata, "annotations": annotations}, "spec": spec}

    def _spec(self, pod: Json) -> Json:
        """As in a template: without what the API server adds by itself."""
        spec = _with_containers(pod["spec"])
        if spec.get("runtimeClassName") not in self._runtime_classes:
            spec.pop("runtimeClassName", None)
            spec.pop("overhead", None)
        return {key: value for key, value in spec.items() if key not in _OF_ONE_POD}

    def _priority_classes(self) -> Iterator[Json]:
        """Also those that are not in the file: pods say what they are worth."""
        known = {each["metadata"]["name"] for each in self._by_resource[wire.PRIORITY_CLASSES]}
        missing = {
            name: each["spec"].get("priority") or 0
            for each in self._pods
            if (name := each["spec"].get("priorityClassName")) and name not in known
        }
        for name, value in sorted(missing.items()):
            if not name.startswith(_SYSTEM):
                yield {"metadata": {"name": name}, "value": value}

    def _notes(self) -> Iterator[str]:
        if self._plain:
            count = sum(self._plain.values())
            kinds = ", ".join(sorted(self._plain))
            yield (
                f"pods whose owner is not in the file or not simulated ({kinds}): {count}; they "
                "stay, and do not come back when they go"
            )
        if self._ended:
            yield f"pods left out, as they have ended or are terminating: {self._ended}"
        if self._nowhere:
            yield f"pods left out, as their node is not simulated: {self._nowhere}"


_KINDS: Final = {
    "Namespace": wire.NAMESPACES,
    "PriorityClass": wire.PRIORITY_CLASSES,
    "RuntimeClass": wire.RUNTIME_CLASSES,
    "StorageClass": wire.STORAGE_CLASSES,
    "Node": wire.NODES,
    "CSINode": wire.CSI_NODES,
    "PersistentVolume": wire.PERSISTENT_VOLUMES,
    "PersistentVolumeClaim": wire.PERSISTENT_VOLUME_CLAIMS,
    "Service": wire.SERVICES,
    "PodDisruptionBudget": wire.POD_DISRUPTION_BUDGETS,
    "Pod": wire.PODS,
    **_PLAYED,
}
_REVISIONS: Final = ("controller-revision-hash", "pod-template-generation")
_SYSTEM: Final = "system-"
"""So begin the names of PriorityClasses that every cluster has."""
_NO_CONTAINER: Final[Json] = {"name": "app", "image": "unknown"}


def _used(snapshot: Snapshot) -> Mapping[str, tuple[float, float]]:
    """Cores and bytes of each pod: measured, else a part of what it asks for."""
    usage, pods = snapshot.usage, snapshot.pods
    found = {}
    for row in snapshot.rows.tolist():
        asked = snapshot.requests_of(row)
        cores = asked.get(resources.CPU, 0) / 1000 * _USED_OF_REQUESTS[0]
        memory = asked.get(resources.MEMORY, 0) * _USED_OF_REQUESTS[1]
        if usage is not None and not usage.outage and usage.pod_measured[row]:
            cores, memory = usage.pod_cpu[row] / 1000, usage.pod_memory[row]
        found[pods.names[row]] = (float(cores), float(memory))
    return found


def _made_anew(pod: Json) -> bool:
    """By its DaemonSet, at once: files do not say which node one is for that is on none yet."""
    owner = controller(pod)
    return not pod["spec"].get("nodeName") and owner is not None and owner["kind"] == "DaemonSet"


def _node(node: Json) -> Json:
    status = node.get("status") or {}
    ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    has = status.get("allocatable") or {}
    metadata = dict(node["metadata"])
    if not ready:
        down = {behaviours.PREFIX + "down": "true"}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **down}
    return {
        **node,
        "metadata": metadata,
        "status": {"allocatable": has, "capacity": status.get("capacity") or has},
    }


def _template(labels: Mapping[str, str], spec: Json, annotations: Json) -> Json:
    return {"metadata": {"labels": dict(labels), "annotations": annotations}, "spec": spec}


def _with_containers(spec: Mapping[str, Any]) -> Json:
    """Files of ours leave out images, and what else nobody needs for planning."""
    return {
        **spec,
        "containers": list(_named(spec.get("containers") or [_NO_CONTAINER], "app")),
        **(
            {"initContainers": list(_named(spec["initContainers"], "init"))}
            if spec.get("initContainers")
            else {}
        ),
    }


def _named(containers: Sequence[Mapping[str, Any]], word: str) -> Iterable[Json]:
    for number, each in enumerate(containers):
        yield {"name": f"{word}-{number}", "image": "unknown", **each}


def _kept(metadata: Mapping[str, Any]) -> Json:
    left_out = ("resourceVersion", "generation", "deletionTimestamp", "managedFields")
    return {key: value for key, value in metadata.items() if key not in left_out}


def _name(pod: Mapping[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _replicas(replica_set: Json) -> int:
    return int((replica_set.get("spec") or {}).get("replicas") or 0)


def _revision(replica_set: Json) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(names.REVISION) or "0"
    return int(text) if text.isdecimal() else 0
