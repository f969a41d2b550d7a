"""Kubernetes objects of generated clusters, as their API server would have them. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rescheduler import wire
from rescheduler.model import names
from rescheduler.simulation.described import WORKLOAD, Json
from rescheduler.wire import Resource

PODS_A_NODE: Final = 110
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"

_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_TEMPLATE_HASH: Final = "pod-template-hash"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_LONG_AGO: Final = "2025-10-01T08:00:00Z"
"""When all of it came: nothing of it is new."""


def node(name: str, cores: int, gibi: int, zone: str, price: str) -> Json:
    has = {"cpu": str(cores), "memory": f"{gibi}Gi", "pods": str(PODS_A_NODE)}
    # As in a cloud: some of it is for the system.
    left = has | {"cpu": f"{cores * 940}m", "memory": f"{gibi * 963}Mi"}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": _LONG_AGO,
            "labels": {
                _HOST: name,
                _ZONE: zone,
                "node.kubernetes.io/instance-type": f"standard-{cores}",
            },
            "annotations": {names.NODE_COST: price},
        },
        "status": {"capacity": has, "allocatable": left},
    }


def pod_spec(*, cpu: int, memory: int) -> Json:
    """Asks for so many thousandths of a core, and MiB."""
    asked = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    container = {"name": "app", "image": "registry.example/app:1", "resources": {"requests": asked}}
    return {"containers": [container]}


def apart(label: Json) -> Json:
    term = {"topologyKey": _HOST, "labelSelector": {"matchLabels": label}}
    return {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}}


def spread(label: Json) -> Json:
    rule = {
        "maxSkew": 1,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": label},
    }
    return {"topologySpreadConstraints": [rule]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    kind: str
    namespace: str
    name: str
    replicas: int
    labels: Json
    spec: Json
    """Of its pods."""
    behaviour: Json = field(default_factory=dict)
    """Annotations that say how its pods behave."""
    budget: bool = False

    @property
    def uid(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}".lower()

    @property
    def _code(self) -> str:
        """Of its ReplicaSet."""
        return "6d8f7b9c5"

    def objects(self) -> Iterator[tuple[Resource, Json]]:
        """It and what belongs to it, but for its pods."""
        yield _RESOURCES[self.kind], self._workload()
        if self.kind == "Deployment":
            yield wire.REPLICA_SETS, self._replica_set()
        if self.kind != "DaemonSet":
            yield wire.SERVICES, self._service()
        if self.budget:
            yield wire.POD_DISRUPTION_BUDGETS, self._budget()

    def pods(self, nodes: Sequence[str], suffix: Callable[[], str]) -> list[Json]:
        return [self._pod(number, node, suffix) for number, node in enumerate(nodes)]

    # ------------------------------------------------------------------ objects

    def _workload(self) -> Json:
        spec: dict[str, Any] = {
            "selector": {"matchLabels": self.labels},
            "template": self._template(self.labels),
        }
        if self.kind != "DaemonSet":
            spec["replicas"] = self.replicas
        if self.kind == "StatefulSet":
            spec["serviceName"] = self.name
        return {"metadata": self._metadata(self.name, self.uid), "spec": spec}

    def _replica_set(self) -> Json:
        labels = {**self.labels, _TEMPLATE_HASH: self._code}
        metadata = self._metadata(f"{self.name}-{self._code}", f"{self.uid}/replicas")
        owner = self._reference("Deployment", self.name, self.uid)
        return {
            "metadata": metadata
            | {
                "labels": labels,
                "annotations": {names.REVISION: "1"},
                "ownerReferences": [owner],
            },
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": labels},
                "template": self._template(labels),
            },
        }

    def _service(self) -> Json:
        spec: dict[str, Any] = {"selector": self.labels, "ports": [{"port": 80}]}
        if self.kind == "StatefulSet":
            spec["clusterIP"] = "None"
        return {"metadata": self._metadata(self.name, ""), "spec": spec}

    def _budget(self) -> Json:
        spec = {"selector": {"matchLabels": self.labels}, "maxUnavailable": 1}
        return {"metadata": self._metadata(self.name, ""), "spec": spec}

    def _pod(self, number: int, node: str, suffix: Callable[[], str]) -> Json:
        labels, name = self.labels, f"{self.name}-{number}"
        owner = self._reference(self.kind, self.name, self.uid)
        if self.kind == "Deployment":
            labels = {**labels, _TEMPLATE_HASH: self._code}
            owner = self._reference(
                "ReplicaSet", f"{self.name}-{self._code}", f"{self.uid}/replicas"
            )
            name = f"{self.name}-{self._code}-{suffix()}"
        elif self.kind == "StatefulSet":
            labels = {
                **labels,
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(number),
            }
        else:
            name = f"{self.name}-{suffix()}"
        spec = {**self.spec, "nodeName": node}
        if self.kind == "DaemonSet":
            pin = {"key": "metadata.name", "operator": "In", "values": [node]}
            terms = {"nodeSelectorTerms": [{"matchFields": [pin]}]}
            spec["affinity"] = {"nodeAffinity": {_REQUIRED: terms}}
        if self.kind == "StatefulSet":
            spec |= {"hostname": name, "subdomain": self.name}
        return {
            "metadata": self._metadata(name, "")
            | {
                "labels": labels,
                "annotations": self._annotations(),
                "ownerReferences": [owner],
            },
            "spec": spec,
        }

    # ------------------------------------------------------------------ parts

    def _metadata(self, name: str, uid: str) -> Json:
        made = {"namespace": self.namespace, "name": name, "creationTimestamp": _LONG_AGO}
        return made | ({"uid": uid} if uid else {})

    def _annotations(self) -> Json:
        return {WORKLOAD: f"{self.namespace}/{self.name}", **self.behaviour}

    def _template(self, labels: Json) -> Json:
        metadata = {"labels": labels, "annotations": self._annotations()}
        return {"metadata": metadata, "spec": self.spec}

    def _reference(self, kind: str, name: str, uid: str) -> Json:
        return {
            "apiVersion": "apps/v1",
            "kind": kind,
            "name": name,
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


_RESOURCES: Final = {
    "Deployment": wire.DEPLOYMENTS,
    "StatefulSet": wire.STATEFUL_SETS,
    "DaemonSet": wire.DAEMON_SETS,
}
