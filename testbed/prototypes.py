"""One object of each kind that a big cluster is made of, as users and controllers would make it.

What is to differ from clone to clone is a placeholder here, of the same length as every value that
takes its place: so a stored object is cloned by replacing bytes, whatever its encoding.
"""

from dataclasses import dataclass
from typing import Any

from testbed.api import Object

NAMESPACE = "team-qq"
NODE = "node-qqqq"
ZONE = "zone-q"
APP = "app-qqqq"
HASH = "qqqqqqqqqq"
SUFFIX = "zzzzz"
ORDINAL = "99"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
TOKEN_VOLUME = "kube-api-access-qqqqq"  # noqa: S105 - a name
OWNER = "0123abcd-0123-4bcd-8bcd-0123456789ab"
"""The uid of what a pod belongs to; the clones' own uids replace the one that the server gave."""
GRANDOWNER = "dcba3210-0123-4bcd-8bcd-0123456789ab"
CPU, MEMORY = "987m", "987Mi"
NODE_TYPE, NODE_CPU, NODE_MEMORY = "general-q", "98765m", "987654321Ki"
ADDRESS = "10.199.199.199"
CONTAINER = "containerd://" + "cafe" * 16
CONFIG = "settings-qqqq"

# Enough variety that a planner meets the usual rules; each template has one of them.
_SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": APP}},
        }
    ]
}
_APART = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": APP}},
                    },
                }
            ]
        }
    }
}
_LINUX = {"nodeSelector": {"kubernetes.io/os": "linux"}}
_MESHED, _WITHOUT_SCRATCH = {"meshed": True}, {"scratch": False}
VARIANTS: tuple[Object, ...] = (
    _MESHED,
    _SPREAD | _MESHED,
    _APART,
    _LINUX | _WITHOUT_SCRATCH,
    _WITHOUT_SCRATCH,
)
PROXY_CPU = 100
"""Millicores, of the proxy that a service mesh puts into each pod of these variants."""
MESHED = frozenset(number for number, each in enumerate(VARIANTS) if "meshed" in each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prototype:
    manifest: Object
    status: Object | None = None
    other_status: Object | None = None
    """What a clone can change to and back."""


def _metadata(name: str, namespace: str = NAMESPACE, **more: Any) -> Object:  # noqa: ANN401
    return {"name": name, "namespace": namespace, "labels": _labels(), **more}


def _labels(**more: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": APP,
        "app.kubernetes.io/instance": APP,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/version": "1.27.3",
        "helm.sh/chart": "backend-4.12.0",
        **more,
    }


def _owner(kind: str, name: str, uid: str = OWNER) -> list[Object]:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    own = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
    return [own | {"controller": True, "blockOwnerDeletion": True}]


def _proxy() -> Object:
    """As service meshes put it into pods, with a scratch volume of its own."""
    return {
        "name": "proxy",
        "image": "registry.example.com/mesh/proxy:1.24.1",
        "args": ["proxy", "sidecar", "--log-level=warning"],
        "ports": [{"name": "proxy-stats", "containerPort": 15090}],
        "env": [
            {"name": f"MESH_{number}", "value": f"mesh-setting-{number}"} for number in range(5)
        ],
        "resources": {"requests": {"cpu": f"{PROXY_CPU}m", "memory": "128Mi"}},
        "volumeMounts": [{"name": "proxy-data", "mountPath": "/var/lib/proxy"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 15090}, "periodSeconds": 15},
    }


def _template(*, scratch: bool = True, meshed: bool = False, **more: Any) -> Object:  # noqa: ANN401
    """The spec of a pod as its workload has it."""
    room = {"requests": {"cpu": CPU, "memory": MEMORY}, "limits": {"memory": MEMORY}}
    image = "registry.example.com/platform/backend-service:1.27.3-20260901"
    fields = ("metadata.name", "metadata.namespace", "spec.nodeName", "status.podIP")
    env: list[Object] = [
        {"name": f"DOWNWARD_{number}", "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for number, path in enumerate(fields)
    ]
    env += [
        {"name": f"SETTING_{number:02}", "value": f"https://service-{number}.example.com/api/v2"}
        for number in range(10)
    ]
    probe = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10}
    mounts: list[Object] = [{"name": "settings", "mountPath": "/etc/settings", "readOnly": True}]
    volumes: list[Object] = [{"name": "settings", "configMap": {"name": CONFIG}}]
    if scratch:
        mounts.append({"name": "scratch", "mountPath": "/var/scratch"})
        volumes.append({"name": "scratch", "emptyDir": {}})
    if meshed:
        volumes.append({"name": "proxy-data", "emptyDir": {"medium": "Memory"}})
    container = {
        "name": "app",
        "image": image,
        "args": ["--listen=:8080", "--config=/etc/settings/config.yaml", "--log-format=json"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "stats", "containerPort": 90}],
        "env": env,
        "resources": room,
        "volumeMounts": mounts,
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "containers": [container, _proxy()] if meshed else [container],
        "volumes": volumes,
        "serviceAccountName": "default",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001},
        **more,
    }


def _with_token(spec: Object) -> Object:
    """As admission gives each pod a token, with a name of the volume that can be replaced."""
    where = "/var/run/secrets/kubernetes.io/serviceaccount"
    mount = {"name": TOKEN_VOLUME, "mountPath": where, "readOnly": True}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": authority},
    ]
    volume = {"name": TOKEN_VOLUME, "projected": {"defaultMode": 420, "sources": sources}}
    containers = [
        each | {"volumeMounts": [*each["volumeMounts"], mount]} for each in spec["containers"]
    ]
    return spec | {"containers": containers, "volumes": [*spec["volumes"], volume]}


def _pod(name: str, owner: list[Object], spec: Object, **labels: str) -> Prototype:
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "generateName": name[: -len(SUFFIX)],
        "labels": _labels(**labels) | {"topology.kubernetes.io/zone": ZONE},
        "annotations": {
            "checksum/config": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "90",
        },
        "ownerReferences": owner,
    }
    return Prototype(
        manifest={
            "kind": "Pod",
            "metadata": metadata,
            "spec": _with_token(spec) | {"nodeName": NODE},
        },
        status=_pod_status(spec, is_ready=True),
        other_status=_pod_status(spec, is_ready=False),
    )


def _pod_status(spec: Object, *, is_ready: bool) -> Object:
    then = "2026-11-01T08:00:00Z"
    ready = "True" if is_ready else "False"
    states = {"PodReadyToStartContainers": "True", "Initialized": "True", "PodScheduled": "True"}
    conditions = [
        {"type": kind, "status": state, "lastTransitionTime": then, "observedGeneration": 1}
        for kind, state in (states | {"Ready": ready, "ContainersReady": ready}).items()
    ]
    containers = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": each["image"].split(":")[0] + "@sha256:" + "beef" * 16,
            "containerID": CONTAINER,
            "ready": is_ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": then}},
            "allocatedResources": each["resources"]["requests"],
            "resources": each["resources"],
        }
        for each in spec["containers"]
    ]
    return {
        "phase": "Running",
        "startTime": then,
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "qosClass": "Burstable",
        "conditions": conditions,
        "containerStatuses": containers,
    }


def pod_of_deployment(variant: int) -> Prototype:
    replica_set = f"{APP}-{HASH}"
    labels = {"pod-template-hash": HASH}
    owner = _owner("ReplicaSet", replica_set)
    return _pod(f"{replica_set}-{SUFFIX}", owner, _template(**VARIANTS[variant]), **labels)


def pod_of_stateful_set() -> Prototype:
    name = f"{APP}-{ORDINAL}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        INDEX_LABEL: ORDINAL,
        "controller-revision-hash": f"{APP}-{HASH}",
    }
    spec = _template(hostname=name, subdomain=APP)
    return _pod(name, _owner("StatefulSet", APP), spec, **labels)


def pod_of_job() -> Prototype:
    labels = {"batch.kubernetes.io/job-name": APP, "batch.kubernetes.io/controller-uid": OWNER}
    spec = _template(restartPolicy="Never")
    return _pod(f"{APP}-{SUFFIX}", _owner("Job", APP), spec, **labels)


def pod_of_daemon_set() -> Prototype:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}
    required = {"nodeSelectorTerms": [term]}
    spec = _template(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        tolerations=[{"operator": "Exists"}],
    )
    labels = {"controller-revision-hash": HASH, "pod-template-generation": "1"}
    return _pod(f"{APP}-{SUFFIX}", _owner("DaemonSet", APP), spec, **labels)


def workload(kind: str, replicas: int) -> Prototype:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet that has what it wants."""
    is_replica_set, is_daemon_set = kind == "ReplicaSet", kind == "DaemonSet"
    revision = {"pod-template-hash": HASH} if is_replica_set else {}
    spec: Object = {
        "selector": {"matchLabels": {"app.kubernetes.io/name": APP} | revision},
        "template": {"metadata": {"labels": _labels(**revision)}, "spec": _template()},
    }
    if not is_daemon_set:
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec |= {"serviceName": APP, "ordinals": {"start": 10}}
    owner = _owner("Deployment", APP, GRANDOWNER) if is_replica_set else []
    name = f"{APP}-{HASH}" if is_replica_set else APP
    counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    if is_daemon_set:
        names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
        more = ("numberAvailable", "updatedNumberScheduled")
        counts = dict.fromkeys((*names, *more), replicas) | {"numberMisscheduled": 0}
    return Prototype(
        manifest={
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": _metadata(name, ownerReferences=owner),
            "spec": spec,
        },
        status=counts | {"observedGeneration": 1},
    )


def job(pods: int) -> Prototype:
    template = {"metadata": {"labels": _labels()}, "spec": _template(restartPolicy="Never")}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return Prototype(
        manifest={"kind": "Job", "metadata": _metadata(APP), "spec": spec},
        status={"active": pods, "ready": pods, "startTime": "2026-11-01T08:00:00Z"},
    )


def budget(pods: int) -> Prototype:
    selector = {"matchLabels": {"app.kubernetes.io/name": APP}}
    counts = {"currentHealthy": pods, "expectedPods": pods, "desiredHealthy": pods - 1}
    return Prototype(
        manifest={
            "kind": "PodDisruptionBudget",
            "metadata": _metadata(APP),
            "spec": {"maxUnavailable": 1, "selector": selector},
        },
        status=counts | {"disruptionsAllowed": 1, "observedGeneration": 1},
    )


def node() -> Prototype:
    labels = {
        "kubernetes.io/hostname": NODE,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": NODE_TYPE,
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": ZONE,
    }
    room = {"cpu": NODE_CPU, "memory": NODE_MEMORY, "pods": "250", "ephemeral-storage": "200Gi"}
    images = [
        {"names": [f"registry.example.com/platform/image-{number}:1.0"], "sizeBytes": 10**8}
        for number in range(30)
    ]
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    conditions = [
        {"type": kind, "status": "True" if kind == "Ready" else "False", "reason": f"Kubelet{kind}"}
        for kind in pressures
    ]
    info = ("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeletVersion")
    more = ("kubeProxyVersion", "machineID", "operatingSystem", "osImage", "systemUUID")
    status = {
        "allocatable": room,
        "capacity": room,
        "conditions": conditions,
        "images": images,
        "nodeInfo": dict.fromkeys((*info, *more), "v1.36.4"),
    }
    metadata = {"name": NODE, "labels": labels}
    spec = {"providerID": f"aws:///{ZONE}/{NODE}", "podCIDR": "10.1.0.0/24"}
    manifest = {"kind": "Node", "metadata": metadata, "spec": spec, "status": status}
    return Prototype(manifest=manifest)
