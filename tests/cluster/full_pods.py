"""Pods with every field that we read."""

from collections.abc import Iterator

from rescheduler import wire
from tests.cluster.full_objects import (
    ALLOCATED,
    OWNER,
    REQUIREMENT,
    RESOURCES,
    SELECTOR,
    THEN,
    TOLERATION,
    Full,
    Object,
    condition,
)


def _affinity() -> Object:
    term = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaces": ["other"],
        "topologyKey": "zone",
        "namespaceSelector": {},
        "matchLabelKeys": ["one"],
        "mismatchLabelKeys": ["two"],
    }
    between_pods = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term, {"topologyKey": "zone"}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}],
    }
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    node_term = {"matchExpressions": [REQUIREMENT], "matchFields": [by_name]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 7, "preference": node_term}
            ],
        },
        "podAffinity": between_pods,
        "podAntiAffinity": between_pods,
    }


def _volumes() -> Iterator[Object]:
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "volumeName": "v",
        "storageClassName": "",
        "volumeMode": "Block",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    sources: dict[str, Object] = {
        "hostPath": {"path": "/x"},
        "emptyDir": {"medium": "Memory"},
        "gcePersistentDisk": {"pdName": "d", "readOnly": True},
        "awsElasticBlockStore": {"volumeID": "d", "readOnly": True},
        "gitRepo": {"repository": "r"},
        "secret": {"secretName": "s"},
        "nfs": {"server": "s", "path": "/x"},
        "iscsi": {"targetPortal": "1.2.3.4:5", "iqn": "iqn.2001-04.com.example:x", "lun": 3}
        | {"readOnly": True},
        "glusterfs": {"endpoints": "e", "path": "x"},
        "persistentVolumeClaim": {"claimName": "c", "readOnly": True},
        "rbd": {"monitors": ["m"], "image": "i", "pool": "p", "readOnly": True},
        "flexVolume": {"driver": "d/d"},
        "cinder": {"volumeID": "d"},
        "cephfs": {"monitors": ["m"]},
        "flocker": {"datasetName": "d"},
        "downwardAPI": {},
        "fc": {"targetWWNs": ["w"], "lun": 0},
        "azureFile": {"secretName": "s", "shareName": "n"},
        "configMap": {"name": "m"},
        "vsphereVolume": {"volumePath": "p"},
        "quobyte": {"registry": "r:1", "volume": "v"},
        "azureDisk": {"diskName": "d", "diskURI": "https://a.example.com/c/d.vhd"},
        "photonPersistentDisk": {"pdID": "d"},
        "portworxVolume": {"volumeID": "d"},
        "scaleIO": {"gateway": "g", "system": "s", "volumeName": "v"}
        | {"secretRef": {"name": "s"}},
        "projected": {"sources": []},
        "storageos": {"volumeName": "v", "volumeNamespace": "n"},
        "csi": {"driver": "d.example.com", "readOnly": False},
        "ephemeral": {"volumeClaimTemplate": {"spec": claim}},
        "image": {"reference": "r:1"},
    }
    for name, source in sources.items():
        yield {"name": name.lower(), name: source}


def _pod_spec(priority_class: str, runtime_class: str) -> Object:
    container = {"name": "app", "image": "app:1", "resources": RESOURCES}
    port = {"hostPort": 80, "containerPort": 80, "protocol": "UDP", "hostIP": "127.0.0.1"}
    sidecar = {**container, "name": "sidecar", "restartPolicy": "Always"}
    spread = {
        "maxSkew": 2,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["one"],
    }
    return {
        "volumes": list(_volumes()),
        "containers": [{**container, "ports": [port]}, {"name": "bare", "image": "app:1"}],
        "initContainers": [sidecar],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {"disk": "", "zone": "a"},
        "hostNetwork": True,
        "affinity": _affinity(),
        "schedulerName": "nobody",
        "tolerations": [TOLERATION, {"operator": "Exists"}],
        "priorityClassName": priority_class,
        "runtimeClassName": runtime_class,
        "topologySpreadConstraints": [spread],
        "resourceClaims": [
            {"name": "one", "resourceClaimName": "c"},
            {"name": "two", "resourceClaimTemplateName": "t"},
        ],
        "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "8"}},
    }


def _pod_status() -> Object:
    container = {
        "name": "app",
        "ready": False,
        "restartCount": 0,
        "image": "app:1",
        "imageID": "",
        "started": False,
        "allocatedResources": ALLOCATED,
        "resources": {"requests": ALLOCATED, "limits": {"cpu": "2"}},
    }
    return {
        "phase": "Running",
        "conditions": [condition(lastProbeTime=THEN)],
        "startTime": "1970-01-01T00:00:00Z",
        "containerStatuses": [container],
        "initContainerStatuses": [{**container, "name": "sidecar"}],
        "resize": "Proposed",
        "allocatedResources": ALLOCATED,
        "resources": {"requests": ALLOCATED, "limits": {"cpu": "8"}},
    }


def pods(priority_class: str, runtime_class: str) -> Iterator[Full]:
    metadata = {
        "annotations": {"note": "some", "empty": ""},
        "ownerReferences": [{**OWNER, "controller": False}],
    }
    spec = _pod_spec(priority_class, runtime_class)
    yield Full(
        resource=wire.PODS,
        name="full",
        content={"spec": {**spec, "nodeName": "n1"}},
        status=_pod_status(),
        metadata=metadata,
    )
    gated = {
        **spec,
        "schedulingGates": [{"name": "example.com/wait"}],
        "readinessGates": [{"conditionType": "example.com/served"}],
    }
    nominated = {"nominatedNodeName": "n2"}
    yield Full(resource=wire.PODS, name="gated", content={"spec": gated}, status=nominated)
