"""Objects of every kind that we follow, with every field that we read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rescheduler import wire
from rescheduler.wire import Resource

Object = dict[str, Any]

THEN = "2026-01-02T03:04:05Z"
UID = "6f1c7ad0-0000-4000-8000-000000000001"
# Of a kind that nobody knows: the garbage collector would remove what an owner left behind.
OWNER = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "one", "uid": UID}
SELECTOR = {
    "matchLabels": {"app": "web", "tier": "1"},
    "matchExpressions": [{"key": "track", "operator": "In", "values": ["a", "b"]}],
}
REQUIREMENT = {"key": "zone", "operator": "In", "values": ["a", ""]}
TOLERATION = {
    "key": "broken",
    "operator": "Equal",
    "value": "yes",
    "effect": "NoExecute",
    "tolerationSeconds": 0,
}
RESOURCES = {
    "requests": {"cpu": "0.25", "memory": "64Mi", "example.com/card": "1"},
    "limits": {"cpu": "1", "memory": "1Gi", "example.com/card": "1"},
}
ALLOCATED = {"cpu": "250m", "memory": "64Mi"}


@dataclass(frozen=True, kw_only=True)
class Full:
    """One object, and what is to be written into its status."""

    resource: Resource
    name: str
    content: Object
    namespaced: bool = True
    status: Object = field(default_factory=dict)
    metadata: Object = field(default_factory=dict)

    def manifest(self) -> Object:
        labels = {"app": "web", "empty": ""}
        return {
            "apiVersion": self.resource.group_version,
            "metadata": {"name": self.name, "labels": labels, **self.metadata},
            **self.content,
        }


def condition(**more: str) -> Object:
    kind = {"type": "Odd", "status": "True", "reason": "Because", "message": "of it"}
    return {**kind, "lastTransitionTime": THEN, **more}


# ------------------------------------------------------------------ the cluster


def cluster(unique: str) -> Iterator[Full]:
    """What is outside namespaces. Pods need the priority class and the runtime class."""
    taint = {"key": "gone", "value": "bad", "effect": "NoExecute", "timeAdded": THEN}
    room = {"cpu": "1500m", "memory": "1.5Gi", "pods": "0"}
    yield Full(
        resource=wire.NODES,
        name=unique,
        namespaced=False,
        content={"spec": {"unschedulable": True, "taints": [taint], "providerID": "cloud://n"}},
        status={
            "capacity": {**room, "cpu": "2"},
            "allocatable": room,
            "conditions": [condition()],
            "volumesAttached": [{"name": "v", "devicePath": "/dev/v"}],
        },
    )
    preemption = {"preemptionPolicy": "Never", "globalDefault": False}
    yield Full(
        resource=wire.PRIORITY_CLASSES,
        name=unique,
        namespaced=False,
        content={"value": 1234, **preemption},
    )
    yield Full(
        resource=wire.RUNTIME_CLASSES,
        name=unique,
        namespaced=False,
        content={
            "handler": "runc",
            "overhead": {"podFixed": {"cpu": "10m", "memory": "1Mi"}},
            "scheduling": {"nodeSelector": {"runtime": "odd"}, "tolerations": [TOLERATION]},
        },
    )
    topology = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}
    yield Full(
        resource=wire.STORAGE_CLASSES,
        name=unique,
        namespaced=False,
        content={
            "provisioner": "example.com/none",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [topology],
        },
    )
    driver = {"name": "d.example.com", "nodeID": "n", "topologyKeys": ["zone"]}
    yield Full(
        resource=wire.CSI_NODES,
        name=unique,
        namespaced=False,
        content={"spec": {"drivers": [{**driver, "allocatable": {"count": 0}}]}},
    )
    yield Full(
        resource=wire.CSI_NODES, name=f"{unique}-bare", namespaced=False, content={"spec": {}}
    )
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "nowhere",
        "name": "c",
        "uid": UID,
    }
    yield Full(
        resource=wire.PERSISTENT_VOLUMES,
        name=unique,
        namespaced=False,
        content={
            "spec": {
                "capacity": {"storage": "1Gi"},
                "csi": {"driver": "d.example.com", "volumeHandle": "h"},
                "accessModes": ["ReadWriteOnce"],
                "claimRef": claim,
                "storageClassName": unique,
                "persistentVolumeReclaimPolicy": "Retain",
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [REQUIREMENT]}]}
                },
            }
        },
    )
    yield Full(
        resource=wire.VOLUME_ATTACHMENTS,
        name=unique,
        namespaced=False,
        content={
            "spec": {
                "attacher": "d.example.com",
                "nodeName": unique,
                "source": {"persistentVolumeName": unique},
            }
        },
        status={"attached": True},
    )


# ------------------------------------------------------------------ the rest


def others(storage_class: str) -> Iterator[Full]:
    yield Full(
        resource=wire.SERVICES,
        name="service",
        content={
            "spec": {
                "selector": {"app": "web"},
                "type": "ClusterIP",
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
            }
        },
    )
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}],
    }
    yield Full(
        resource=wire.NETWORK_POLICIES,
        name="policy",
        content={
            "spec": {
                "podSelector": selector,
                "ingress": [{"from": [{"podSelector": selector}]}],
                "egress": [{"to": [{"podSelector": selector}]}],
            }
        },
    )
    target = {"kind": "Pod", "namespace": "n", "name": "p", "uid": UID, "apiVersion": "v1"}
    endpoint = {
        "addresses": ["10.0.0.1"],
        "conditions": {"ready": False, "serving": True, "terminating": False},
        "targetRef": target,
        "nodeName": "n1",
    }
    yield Full(
        resource=wire.ENDPOINT_SLICES,
        name="slice",
        content={
            "addressType": "IPv4",
            "endpoints": [endpoint, {"addresses": ["10.0.0.2"]}],
            "ports": [],
        },
    )
    # The server writes null for the endpoints of this one.
    yield Full(
        resource=wire.ENDPOINT_SLICES,
        name="bare",
        content={"addressType": "IPv4", "endpoints": [], "ports": []},
    )
    yield Full(
        resource=wire.PERSISTENT_VOLUME_CLAIMS,
        name="claim",
        content={
            "spec": {
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "volumeName": "nothing",
                "storageClassName": storage_class,
                "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
        status={"phase": "Lost"},
    )
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    yield Full(
        resource=wire.RESOURCE_QUOTAS,
        name="quota",
        content={
            "spec": {
                "hard": {"pods": "10", "requests.cpu": "0.5"},
                "scopes": ["NotTerminating"],
                "scopeSelector": {"matchExpressions": [scope]},
            }
        },
        status={"hard": {"pods": "10"}, "used": {"pods": "0", "requests.cpu": "100m"}},
    )
