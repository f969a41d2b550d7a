"""Who may move: every rule that keeps a pod where it is, whatever the target."""

from collections.abc import Callable
from typing import Any

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.cluster import Pod
from rescheduler.model.snapshot import Snapshot

Rule = Callable[[Pod, Snapshot, Configuration], str]
"""Gives the reason why the pod stays, or nothing."""


def why_it_stays(pod: Pod, snapshot: Snapshot, configuration: Configuration) -> str:
    for rule in RULES:
        if reason := rule(pod, snapshot, configuration):
            return reason
    return ""


def _namespace(pod: Pod, _: Snapshot, configuration: Configuration) -> str:
    if not configuration.scope.covers(pod.namespace):
        return "its namespace is not in scope.namespaces"
    if pod.namespace in configuration.excluded_namespaces:
        return "its namespace is in excludedNamespaces"
    return ""


def _opted_out(pod: Pod, _: Snapshot, configuration: Configuration) -> str:
    # Any value but a plain "enabled" keeps it out: who writes the label wants to be left alone.
    if pod.labels.get(names.RESCHEDULING, "enabled") != "enabled":
        return f"its label {names.RESCHEDULING} keeps it out"
    if configuration.excluded_pod_selector.matches(pod.labels):
        return "excludedPodSelector matches it"
    return ""


def _system(pod: Pod, _: Snapshot, __: Configuration) -> str:
    if names.MIRROR_POD in pod.annotations:
        return "it is a static pod"
    if pod.owner and pod.owner.kind == "DaemonSet":
        return "it belongs to a DaemonSet"
    if pod.priority >= names.SYSTEM_CRITICAL_PRIORITY:
        return "it is critical to the system"
    return ""


def _running(pod: Pod, _: Snapshot, __: Configuration) -> str:
    if pod.terminating:
        return "it is terminating"
    if pod.leaving:
        return "a copy is taking its place"
    if pod.phase != "Running" or not pod.ready:
        return "it is not Running and Ready"
    if pod.labels.get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS:
        return "it is being moved already"
    return ""


def _workload(pod: Pod, snapshot: Snapshot, _: Configuration) -> str:
    if pod.owner is None:
        return "standalone pods are not moved yet"
    if pod.owner.kind != "ReplicaSet":
        return f"pods of a {pod.owner.kind} are not moved yet"
    workload = snapshot.workload_of(pod)
    if workload is None:
        return "its ReplicaSet was not found"
    if workload.recreates:
        return "its Deployment has strategy Recreate: two of its pods must not run at once"
    return workload.unsettled


def _storage(pod: Pod, _: Snapshot, __: Configuration) -> str:
    for volume in pod.spec.get("volumes") or ():
        if volume.keys() & {"emptyDir", "hostPath"}:
            return f"its volume {volume['name']} is local: its data would stay behind"
        # Named are the harmless ones: a kind that we do not know may be a disk.
        if not volume.keys() & _VOLUMES_ANY_NUMBER_OF_PODS_MAY_HAVE:
            return f"its volume {volume['name']} may be had by one pod at a time"
    return ""


def _unjudged(pod: Pod, _: Snapshot, __: Configuration) -> str:
    """Rules of the scheduler that are not judged here yet: who has them stays."""
    spec = pod.spec
    if spec.get("schedulerName", "default-scheduler") != "default-scheduler":
        return f"another scheduler places it: {spec['schedulerName']}"
    if spec.get("resourceClaims"):
        return "it has resource claims"
    if spec.get("hostNetwork") or any(_host_ports(spec)):
        return "it uses ports of its node"
    for spread in spec.get("topologySpreadConstraints") or ():
        # The pin of a copy makes the scheduler's own check of this one vacuous.
        if spread.get("whenUnsatisfiable") == "DoNotSchedule":
            return "it has a topology spread constraint"
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            return f"it has a required {kind}"
    return ""


def _host_ports(spec: Any) -> list[int]:  # noqa: ANN401 - the raw specification
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return [
        port["hostPort"]
        for container in containers
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


_VOLUMES_ANY_NUMBER_OF_PODS_MAY_HAVE = frozenset(
    {"configMap", "downwardAPI", "image", "projected", "secret"}
)

RULES: tuple[Rule, ...] = (
    _namespace,
    _system,
    _opted_out,
    _running,
    _workload,
    _storage,
    _unjudged,
)
