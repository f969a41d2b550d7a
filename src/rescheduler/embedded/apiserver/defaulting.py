"""What the API server fills in where an object says nothing, kind by kind.

Each function completes an object that nobody else holds yet, in place. Only what somebody reads is
filled in: the product, a controller, or whoever compares this cluster with a real one.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import pod_migrations, reschedule_plans
from rescheduler.kube import Object
from rescheduler.wire import Resource

_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_TAGGED: Final = re.compile(r":(?P<tag>[^:/@]+)(@.*)?$")


def complete(resource: Resource, item: Object) -> None:
    found = _BY_RESOURCE.get(resource)
    if found is not None:
        found(item)


# ------------------------------------------------------------------ pods


def _pod(pod: Object) -> None:
    spec = pod.setdefault("spec", {})
    for container in _containers(spec):
        resources = container.get("resources") or {}
        if limits := resources.get("limits"):
            # A limit alone is the request, too. In a template it stays as it is.
            container["resources"] = {
                **resources,
                "requests": {**limits, **(resources.get("requests") or {})},
            }
    _pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)


def _pod_spec(spec: Object) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif "serviceAccount" in spec:
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in _containers(spec):
        _container(container, on_host=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _volume(volume)


def _containers(spec: Object) -> Iterable[Object]:
    for kind in ("initContainers", "containers"):
        yield from spec.get(kind) or ()


def _container(container: Object, *, on_host: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if on_host:
            port.setdefault("hostPort", port.get("containerPort"))
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe := container.get(kind):
            for name, value in _PROBE.items():
                probe.setdefault(name, value)


_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}


def _pull_policy(image: str) -> str:
    found = _TAGGED.search(image)
    is_pinned = "@" in image or (found is not None and found["tag"] != "latest")
    return "IfNotPresent" if is_pinned else "Always"


def _volume(volume: Object) -> None:
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(kind), dict):
            volume[kind].setdefault("defaultMode", 420)
    if isinstance(claim := volume.get("ephemeral"), dict):
        spec = (claim.get("volumeClaimTemplate") or {}).get("spec")
        if spec is not None:
            spec.setdefault("volumeMode", "Filesystem")


# ------------------------------------------------------------------ workloads


def _template(spec: Object) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    _pod_spec(template.setdefault("spec", {}))


def _deployment(item: Object) -> None:
    spec = item.setdefault("spec", {})
    _fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    if not spec.get("paused"):
        spec.pop("paused", None)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        _fill(rolling, {"maxUnavailable": "25%", "maxSurge": "25%"})
    _template(spec)


def _replica_set(item: Object) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _template(spec)


def _stateful_set(item: Object) -> None:
    spec = item.setdefault("spec", {})
    _fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"})
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        # Of a feature that is not on by default: the server drops it.
        rolling.pop("maxUnavailable", None)
    kept = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    _fill(kept, {"whenDeleted": "Retain", "whenScaled": "Retain"})
    for claim in spec.get("volumeClaimTemplates") or ():
        _fill(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        _claim(claim)
    _template(spec)


def _daemon_set(item: Object) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        _fill(rolling, {"maxUnavailable": 1, "maxSurge": 0})
    _template(spec)
    told = item["metadata"].get("annotations") or {}
    item["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "1", **told}


def with_templates_counted(before: Object, after: Object) -> Object:
    """A DaemonSet's templates are counted in an annotation that nobody else can change."""
    number = int(before["metadata"]["annotations"][_TEMPLATE_GENERATION])
    number += before["spec"]["template"] != after["spec"].get("template")
    told = {**(after["metadata"].get("annotations") or {}), _TEMPLATE_GENERATION: str(number)}
    return {**after, "metadata": {**after["metadata"], "annotations": told}}


def _job(item: Object) -> None:
    spec, metadata = item.setdefault("spec", {}), item["metadata"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    _fill(spec, {"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed"})
    _fill(spec, {"suspend": False, "podReplacementPolicy": "TerminatingOrFailed"})
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    if not spec.get("manualSelector"):
        # What tells its pods from all others; its owner is known by the UID that it has by now.
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}
        template["labels"] = {
            **(template.get("labels") or {}),
            "batch.kubernetes.io/controller-uid": metadata["uid"],
            "batch.kubernetes.io/job-name": metadata["name"],
            "controller-uid": metadata["uid"],
            "job-name": metadata["name"],
        }
    if not metadata.get("labels") and template.get("labels"):
        metadata["labels"] = dict(template["labels"])
    _template(spec)


# ------------------------------------------------------------------ others


def _fill(item: Object, values: dict[str, Any]) -> None:
    for name, value in values.items():
        item.setdefault(name, value)


def _service(item: Object) -> None:
    spec = item.setdefault("spec", {})
    _fill(spec, {"type": "ClusterIP", "sessionAffinity": "None"})
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _claim(item: Object) -> None:
    item.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _volume_object(item: Object) -> None:
    spec = item.setdefault("spec", {})
    _fill(spec, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"})


def _storage_class(item: Object) -> None:
    _fill(item, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def _namespace(item: Object) -> None:
    metadata = item["metadata"]
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        "kubernetes.io/metadata.name": metadata["name"],
    }


def _priority_class(item: Object) -> None:
    _fill(item, {"value": 0, "preemptionPolicy": "PreemptLowerPriority"})


def _autoscaler(item: Object) -> None:
    item.setdefault("spec", {}).setdefault("minReplicas", 1)


def _network_policy(item: Object) -> None:
    spec = item.setdefault("spec", {})
    if "policyTypes" not in spec:
        spec["policyTypes"] = ["Ingress"] + (["Egress"] if "egress" in spec else [])


def _node(item: Object) -> None:
    _with_spec(item)
    for condition in (item.get("status") or {}).get("conditions") or ():
        # Written even when nobody has given them.
        _fill(condition, {"type": "", "status": ""})


def _with_spec(item: Object) -> None:
    item.setdefault("spec", {})


_BY_RESOURCE: Final[dict[Resource, Callable[[Object], None]]] = {
    wire.PODS: _pod,
    wire.DEPLOYMENTS: _deployment,
    wire.REPLICA_SETS: _replica_set,
    wire.STATEFUL_SETS: _stateful_set,
    wire.DAEMON_SETS: _daemon_set,
    wire.JOBS: _job,
    wire.SERVICES: _service,
    wire.PERSISTENT_VOLUME_CLAIMS: _claim,
    wire.PERSISTENT_VOLUMES: _volume_object,
    wire.STORAGE_CLASSES: _storage_class,
    wire.NAMESPACES: _namespace,
    wire.PRIORITY_CLASSES: _priority_class,
    wire.HORIZONTAL_POD_AUTOSCALERS: _autoscaler,
    wire.NETWORK_POLICIES: _network_policy,
    wire.NODES: _node,
    wire.POD_DISRUPTION_BUDGETS: _with_spec,
    wire.POD_MIGRATIONS: pod_migrations.DEFINITION.complete,
    wire.RESCHEDULE_PLANS: reschedule_plans.DEFINITION.complete,
}
