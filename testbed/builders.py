"""Kubernetes objects as tests write them: short, with defaults for what a test ignores."""

from collections.abc import Mapping
from typing import Any

from testbed import build
from testbed.api import Object

BEHAVIOUR = "testbed.rescheduler.io/"
"""Prefix of the annotations that `stages.yaml` obeys."""
MIGRATION = "scheduler.alpha.kubernetes.io/migration-id"
"""The label that every pod of a migration has: the copy, and the original while it is moved."""
MOVED = "scheduler.alpha.kubernetes.io/migrated-from"
"""The label that only the copy has."""
METRICS_PATH = "metrics.k8s.io/resource-metrics-path"


def behaviour(**what: str) -> dict[str, str]:
    """The annotations that make a simulated kubelet do so, for example ready_after="3s"."""
    return {BEHAVIOUR + name.replace("_", "-"): value for name, value in what.items()}


def node(name: str, *, cpu: str = "4", memory: str = "16Gi", pods: str = "110") -> Object:
    room = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    # Where metrics-server and Prometheus find its usage, for all simulated kubelets are one server.
    annotations = {METRICS_PATH: f"/metrics/nodes/{name}/metrics/resource"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels | {BEHAVIOUR + "kubelet": "alive"},
            "annotations": annotations,
        },
        "spec": {},
        "status": {"allocatable": room, "capacity": room},
    }


def pod_spec(*, cpu: str = "500m", memory: str = "256Mi", image: str = "app:1") -> Object:
    container = {
        "name": "app",
        "image": image,
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": 30}


def pod(name: str, *, spec: Object | None = None, **what: str) -> Object:
    """One that belongs to nobody; `what` is its behaviour."""
    metadata = {"name": name, "labels": {"app": name}, "annotations": behaviour(**what)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec or pod_spec()}


def deployment(
    name: str,
    *,
    replicas: int,
    spec: Object | None = None,
    annotations: Mapping[str, str] | None = None,
    **settings: Any,  # noqa: ANN401 - further fields of the Deployment's spec
) -> Object:
    made = workload("Deployment", name, spec=spec, replicas=replicas, **settings)
    made["spec"]["template"]["metadata"]["annotations"] = dict(annotations or {})
    return made


def workload(
    kind: str,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    spec: Object | None = None,
    **settings: Any,  # noqa: ANN401 - further fields of the workload's spec
) -> Object:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet that selects by `app` and these labels."""
    own = {"app": name, **(labels or {})}
    template = {"metadata": {"labels": dict(own)}, "spec": spec or pod_spec()}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": dict(own)},
        "spec": {"selector": {"matchLabels": own}, "template": template, **settings},
    }


def job(name: str, *, spec: Object | None = None) -> Object:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": (spec or pod_spec()) | {"restartPolicy": "Never"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


def service(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]},
    }


def budget(name: str, **limit: int | str) -> Object:
    """With minAvailable=4, or maxUnavailable=0, or a percentage of either."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, **limit},
    }


def affliction(
    name: str, namespace: str, annotations: Mapping[str, str], image: str
) -> tuple[Object, Object]:
    """An admission policy that changes the copies of migrations in one namespace."""
    object_ = "Object{{metadata: Object.metadata{{annotations: {{{}}}}}}}"
    pairs = ", ".join(f'"{key}": "{value}"' for key, value in annotations.items())
    mutations: list[Object] = []
    if annotations:
        expression = object_.format(pairs)
        mutations.append(
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": expression},
            }
        )
    if image:
        patch = f'[JSONPatch{{op: "replace", path: "/spec/containers/0/image", value: "{image}"}}]'
        mutations.append({"patchType": "JSONPatch", "jsonPatch": {"expression": patch}})
    is_copy = f"has(object.metadata.labels) && '{MIGRATION}' in object.metadata.labels"
    return _mutation(name, namespace, is_copy, mutations)


def sizing(name: str, namespace: str, cpu: str) -> tuple[Object, Object]:
    """An admission policy that sizes the pods of controllers, as a VerticalPodAutoscaler does."""
    path = "/spec/containers/0/resources/requests/cpu"
    patch = f'[JSONPatch{{op: "replace", path: "{path}", value: "{cpu}"}}]'
    is_owned = (
        "has(object.metadata.ownerReferences) && "
        "object.metadata.ownerReferences.exists(each, has(each.controller) && each.controller)"
    )
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    return _mutation(name, namespace, is_owned, [mutation])


def _mutation(
    name: str, namespace: str, condition: str, mutations: list[Object]
) -> tuple[Object, Object]:
    group = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    policy = {
        "apiVersion": build.POLICIES,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [{**group, "resources": ["pods"]}],
            },
            "matchConditions": [{"name": "who", "expression": condition}],
            "mutations": mutations,
        },
    }
    binding = {
        "apiVersion": build.POLICIES,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    return policy, binding
