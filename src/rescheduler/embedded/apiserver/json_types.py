"""Of which JSON types the fields of objects are, as far as anybody here reads them.

An API server reads an object into types before it looks at what it says: a text where a number
belongs is told at once, and nobody behind it ever has to ask what it has got. Fields that are not
in the table are kept as they are.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.kinds import CONFIG_MAPS, Kind
from rescheduler.kube import Object
from rescheduler.model import quantities
from rescheduler.wire import Resource

_QUANTITY_RULE: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


class _Map(NamedTuple):
    """An object whose keys are anything."""

    values: Any


# What the real server calls them.
_TEXT: Final = "string"
_FLAG: Final = "bool"
_INT32: Final = "int32"
_INT64: Final = "int64"
_PORTION: Final = "intstr.IntOrString"
_QUANTITY: Final = "resource.Quantity"
_TEXTS: Final = [_TEXT]
_LABELS: Final = _Map(_TEXT)
_AMOUNTS: Final = _Map(_QUANTITY)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _texts(*fields: str) -> dict[str, str]:
    return dict.fromkeys(fields, _TEXT)


# ---------------------------------------------------------------------- parts

_EXPRESSIONS: Final = [{**_texts("key", "operator"), "values": _TEXTS}]
_SELECTOR: Final = {"matchLabels": _LABELS, "matchExpressions": _EXPRESSIONS}
_METADATA: Final = {
    **_texts("name", "generateName", "namespace", "uid", "resourceVersion"),
    "labels": _LABELS,
    "annotations": _LABELS,
    "finalizers": _TEXTS,
    "ownerReferences": [
        {
            **_texts("apiVersion", "kind", "name", "uid"),
            "controller": _FLAG,
            "blockOwnerDeletion": _FLAG,
        }
    ],
}
_CONDITIONS: Final = [_texts("type", "status", "reason", "message", "lastTransitionTime")]
_STATUS: Final = {"phase": _TEXT, "conditions": _CONDITIONS}
_RESOURCES: Final = {"requests": _AMOUNTS, "limits": _AMOUNTS}
_TOLERATIONS: Final = [
    {**_texts("key", "operator", "value", "effect"), "tolerationSeconds": _INT64}
]
_PROBE: Final = dict.fromkeys(
    (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ),
    _INT32,
)
_CONTAINER: Final = {
    **_texts("name", "image", "imagePullPolicy", "restartPolicy"),
    "resources": _RESOURCES,
    "ports": [
        {**_texts("name", "protocol", "hostIP"), "containerPort": _INT32, "hostPort": _INT32}
    ],
    "env": [_texts("name", "value")],
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
}
_CLAIM: Final = {
    **_texts("storageClassName", "volumeName", "volumeMode"),
    "accessModes": _TEXTS,
    "selector": _SELECTOR,
    "resources": _RESOURCES,
}
_VOLUME: Final = {
    "name": _TEXT,
    "persistentVolumeClaim": {"claimName": _TEXT, "readOnly": _FLAG},
    "ephemeral": {"volumeClaimTemplate": {"metadata": _METADATA, "spec": _CLAIM}},
    "emptyDir": {"medium": _TEXT, "sizeLimit": _QUANTITY},
    "hostPath": _texts("path", "type"),
    "secret": {"defaultMode": _INT32},
    "configMap": {"defaultMode": _INT32},
    "downwardAPI": {"defaultMode": _INT32},
    "projected": {"defaultMode": _INT32},
    "awsElasticBlockStore": {"volumeID": _TEXT, "readOnly": _FLAG},
    "gcePersistentDisk": {"pdName": _TEXT, "readOnly": _FLAG},
    "iscsi": {"iqn": _TEXT, "readOnly": _FLAG},
    "rbd": {**_texts("pool", "image"), "monitors": _TEXTS, "readOnly": _FLAG},
}
_NODE_TERM: Final = {"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}
_NODE_SELECTOR: Final = {"nodeSelectorTerms": [_NODE_TERM]}
_NEIGHBOUR: Final = {
    "topologyKey": _TEXT,
    "labelSelector": _SELECTOR,
    "namespaceSelector": _SELECTOR,
    "namespaces": _TEXTS,
    "matchLabelKeys": _TEXTS,
    "mismatchLabelKeys": _TEXTS,
}
_NEIGHBOURS: Final = {
    _REQUIRED: [_NEIGHBOUR],
    _PREFERRED: [{"weight": _INT32, "podAffinityTerm": _NEIGHBOUR}],
}
_AFFINITY: Final = {
    "nodeAffinity": {
        _REQUIRED: _NODE_SELECTOR,
        _PREFERRED: [{"weight": _INT32, "preference": _NODE_TERM}],
    },
    "podAffinity": _NEIGHBOURS,
    "podAntiAffinity": _NEIGHBOURS,
}
_SPREAD: Final = {
    **_texts("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"),
    "maxSkew": _INT32,
    "minDomains": _INT32,
    "labelSelector": _SELECTOR,
    "matchLabelKeys": _TEXTS,
}
_POD: Final = {
    **_texts(
        *("nodeName", "schedulerName", "restartPolicy", "dnsPolicy", "hostname", "subdomain"),
        *("serviceAccountName", "serviceAccount", "priorityClassName", "preemptionPolicy"),
        "runtimeClassName",
    ),
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "ephemeralContainers": [_CONTAINER],
    "nodeSelector": _LABELS,
    "tolerations": _TOLERATIONS,
    "affinity": _AFFINITY,
    "topologySpreadConstraints": [_SPREAD],
    "volumes": [_VOLUME],
    "readinessGates": [_texts("conditionType")],
    "schedulingGates": [_texts("name")],
    "priority": _INT32,
    "terminationGracePeriodSeconds": _INT64,
    "activeDeadlineSeconds": _INT64,
    "hostNetwork": _FLAG,
    "enableServiceLinks": _FLAG,
    "securityContext": {},
    "overhead": _AMOUNTS,
    "resources": _RESOURCES,
}
_TEMPLATE: Final = {"metadata": _METADATA, "spec": _POD}
_STRATEGY: Final = {
    "type": _TEXT,
    "rollingUpdate": {"maxSurge": _PORTION, "maxUnavailable": _PORTION, "partition": _INT32},
}
_WORKLOAD: Final = {
    "selector": _SELECTOR,
    "template": _TEMPLATE,
    **dict.fromkeys(("replicas", "minReadySeconds", "revisionHistoryLimit"), _INT32),
}

# ---------------------------------------------------------------------- kinds

_SPECS: Final[Mapping[Resource, Any]] = {
    wire.PODS: _POD,
    wire.DEPLOYMENTS: {
        **_WORKLOAD,
        "paused": _FLAG,
        "progressDeadlineSeconds": _INT32,
        "strategy": _STRATEGY,
    },
    wire.REPLICA_SETS: _WORKLOAD,
    wire.STATEFUL_SETS: {
        **_WORKLOAD,
        **_texts("serviceName", "podManagementPolicy"),
        "ordinals": {"start": _INT32},
        "updateStrategy": _STRATEGY,
        "persistentVolumeClaimRetentionPolicy": _texts("whenDeleted", "whenScaled"),
        "volumeClaimTemplates": [{"metadata": _METADATA, "spec": _CLAIM}],
    },
    wire.DAEMON_SETS: {**_WORKLOAD, "updateStrategy": _STRATEGY},
    wire.JOBS: {
        **_WORKLOAD,
        **_texts("completionMode", "podReplacementPolicy", "managedBy"),
        **dict.fromkeys(
            ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"), _INT32
        ),
        "activeDeadlineSeconds": _INT64,
        "suspend": _FLAG,
        "manualSelector": _FLAG,
    },
    wire.POD_DISRUPTION_BUDGETS: {
        "minAvailable": _PORTION,
        "maxUnavailable": _PORTION,
        "selector": _SELECTOR,
        "unhealthyPodEvictionPolicy": _TEXT,
    },
    wire.NODES: {"taints": [_texts("key", "value", "effect")], "unschedulable": _FLAG},
    wire.NAMESPACES: {"finalizers": _TEXTS},
    wire.SERVICES: {
        **_texts("type", "clusterIP", "sessionAffinity", "internalTrafficPolicy"),
        "selector": _LABELS,
        "publishNotReadyAddresses": _FLAG,
        "ports": [
            {
                **_texts("name", "protocol", "appProtocol"),
                "port": _INT32,
                "targetPort": _PORTION,
                "nodePort": _INT32,
            }
        ],
    },
    wire.PERSISTENT_VOLUME_CLAIMS: _CLAIM,
    wire.PERSISTENT_VOLUMES: {
        **_texts("storageClassName", "volumeMode", "persistentVolumeReclaimPolicy"),
        "capacity": _AMOUNTS,
        "accessModes": _TEXTS,
        "claimRef": _texts("namespace", "name", "uid"),
        "csi": {**_texts("driver", "volumeHandle"), "readOnly": _FLAG},
        "nodeAffinity": {"required": _NODE_SELECTOR},
    },
    wire.RESOURCE_QUOTAS: {
        "hard": _AMOUNTS,
        "scopes": _TEXTS,
        "scopeSelector": {
            "matchExpressions": [{**_texts("scopeName", "operator"), "values": _TEXTS}]
        },
    },
    wire.CSI_NODES: {
        "drivers": [
            {
                **_texts("name", "nodeID"),
                "allocatable": {"count": _INT32},
                "topologyKeys": _TEXTS,
            }
        ]
    },
    wire.VOLUME_ATTACHMENTS: {
        **_texts("attacher", "nodeName"),
        "source": {"persistentVolumeName": _TEXT},
    },
    wire.HORIZONTAL_POD_AUTOSCALERS: {
        "scaleTargetRef": _texts("apiVersion", "kind", "name"),
        "minReplicas": _INT32,
        "maxReplicas": _INT32,
    },
    wire.NETWORK_POLICIES: {"podSelector": _SELECTOR, "policyTypes": _TEXTS},
    wire.LEASES: {**_texts("holderIdentity", "renewTime"), "leaseDurationSeconds": _INT32},
}
_OTHERS: Final[Mapping[Resource, Mapping[str, Any]]] = {
    wire.NODES: {
        "status": {
            **_STATUS,
            "allocatable": _AMOUNTS,
            "capacity": _AMOUNTS,
            "addresses": [_texts("type", "address")],
        }
    },
    wire.STORAGE_CLASSES: {
        **_texts("provisioner", "volumeBindingMode", "reclaimPolicy"),
        "allowedTopologies": [{"matchLabelExpressions": [{"key": _TEXT, "values": _TEXTS}]}],
    },
    wire.PRIORITY_CLASSES: {
        "value": _INT32,
        "globalDefault": _FLAG,
        "preemptionPolicy": _TEXT,
    },
    wire.RUNTIME_CLASSES: {
        "handler": _TEXT,
        "overhead": {"podFixed": _AMOUNTS},
        "scheduling": {"nodeSelector": _LABELS, "tolerations": _TOLERATIONS},
    },
    wire.ENDPOINT_SLICES: {
        "addressType": _TEXT,
        "endpoints": [
            {"addresses": _TEXTS, "nodeName": _TEXT, "targetRef": _texts("kind", "name", "uid")}
        ],
        "ports": [{**_texts("name", "protocol"), "port": _INT32}],
    },
    CONFIG_MAPS: {"data": _LABELS},
    wire.SECRETS: {"data": _LABELS, "type": _TEXT},
}
"""Beside spec, and a status that is like all others."""


def problem_of(kind: Kind, item: Object) -> str:
    """The first field that is of another type, in the words of the real server; empty: there is
    none.
    """
    shape = {
        **_texts("apiVersion", "kind"),
        "metadata": _METADATA,
        "spec": _SPECS.get(kind.resource, {}),
        "status": _STATUS,
        **_OTHERS.get(kind.resource, {}),
    }
    return next(_problems(shape, item, kind.name), "")


def _problems(shape: Any, value: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(shape, dict) and isinstance(value, dict):
        for name, each in value.items():
            if name in shape:
                yield from _problems(shape[name], each, f"{path}.{name}")
    elif isinstance(shape, _Map) and isinstance(value, dict):
        for name, each in value.items():
            yield from _problems(shape.values, each, f"{path}.{name}")
    elif isinstance(shape, list) and isinstance(value, list):
        for place, each in enumerate(value):
            yield from _problems(shape[0], each, f"{path}[{place}]")
    elif not isinstance(shape, str):
        yield _is_not(path, value, "list" if isinstance(shape, list) else "object")
    elif not _FITS[shape](value):
        yield _is_not(path, value, shape)


def _is_not(path: str, value: Any, wanted: str) -> str:  # noqa: ANN401
    if wanted == _QUANTITY:
        # The server does not say which.
        return f"quantities must match the regular expression '{_QUANTITY_RULE}'"
    found = _CALLED.get(type(value)) or f"number {value}"
    return f"json: cannot unmarshal {found} into Go struct field {path} of type {wanted}"


_CALLED: Final = {str: "string", bool: "bool", list: "array", dict: "object", type(None): "null"}


def _is_whole(value: Any, bits: int) -> bool:  # noqa: ANN401
    # True and False are numbers for Python.
    return type(value) is int and value in range(-(1 << bits - 1), 1 << bits - 1)


def _is_quantity(value: Any) -> bool:  # noqa: ANN401
    """The server writes text; people write numbers, too."""
    try:
        quantities.nanos(value)
    except ValueError:
        return False
    return True


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    _TEXT: lambda value: isinstance(value, str),
    _FLAG: lambda value: isinstance(value, bool),
    _INT32: lambda value: _is_whole(value, 32),
    _INT64: lambda value: _is_whole(value, 64),
    _PORTION: lambda value: isinstance(value, str) or _is_whole(value, 32),
    _QUANTITY: _is_quantity,
}
