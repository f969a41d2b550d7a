"""What the objects of a workload say about its state. Planning asks it of a snapshot, migrating of
live objects just before each step, and both must get the same answer.
"""

from rescheduler.model import names
from rescheduler.model.objects import Object, annotations, is_terminating, spec


def recreates(deployment: Object) -> bool:
    strategy = spec(deployment).get("strategy") or {}
    return bool(strategy.get("type") == "Recreate")


def why_unsettled(replica_set: Object, deployment: Object | None, left: int = 0) -> str:
    """Why pods of this ReplicaSet should be left alone now; empty when all is at rest. `left` are
    those that we have taken out of their Services, and whose copies serve.
    """
    return why_changing(replica_set, deployment) or why_unready(replica_set, left)


def why_changing(replica_set: Object, deployment: Object | None) -> str:
    """The same, whether or not its pods are Ready."""
    if changed := why_changed(replica_set, deployment):
        return changed
    replicas = spec(replica_set).get("replicas", 1)
    status = replica_set.get("status") or {}
    if status.get("observedGeneration", 0) < replica_set["metadata"].get("generation", 0):
        return "its ReplicaSet has just been changed"
    if status.get("replicas", 0) != replicas:
        return f"its ReplicaSet has {status.get('replicas', 0)} of {replicas} pods"
    return ""


def why_unready(replica_set: Object, left: int = 0) -> str:
    replicas = spec(replica_set).get("replicas", 1)
    ready = (replica_set.get("status") or {}).get("readyReplicas", 0)
    # It may not have heard of those yet.
    if not ready <= replicas <= ready + left:
        return f"{ready} of {replicas} of its ReplicaSet's pods are Ready"
    return ""


def why_stateful_set_unsettled(stateful_set: Object) -> str:
    """Why pods of this StatefulSet should be left alone now; empty when all is at rest."""
    replicas = spec(stateful_set).get("replicas", 1)
    status = stateful_set.get("status") or {}
    if is_terminating(stateful_set):
        return "its StatefulSet is being deleted"
    if replicas == 0:
        return "its StatefulSet is scaled to 0"
    if status.get("observedGeneration", 0) < stateful_set["metadata"].get("generation", 0):
        return "its StatefulSet has just been changed"
    # Not only while it rolls out: with a partition, or OnDelete, a pod that is made anew may be of
    # another revision than its user wants it to be.
    if status.get("currentRevision", "") != status.get("updateRevision", ""):
        return "its StatefulSet has an update that not all of its pods have"
    if status.get("replicas", 0) != replicas:
        return f"its StatefulSet has {status.get('replicas', 0)} of {replicas} pods"
    if status.get("readyReplicas", 0) != replicas:
        return f"{status.get('readyReplicas', 0)} of {replicas} of its StatefulSet's pods are Ready"
    return ""


def why_changed(replica_set: Object, deployment: Object | None) -> str:
    """Why its user has other plans with it by now. A pod that is missing for a while is no plan."""
    if is_terminating(replica_set):
        return "its ReplicaSet is being deleted"
    if spec(replica_set).get("replicas", 1) == 0:
        return "its ReplicaSet is scaled to 0"
    return _why_deployment_changed(replica_set, deployment) if deployment else ""


def _why_deployment_changed(replica_set: Object, deployment: Object) -> str:
    wanted, status = spec(deployment), deployment.get("status") or {}
    if is_terminating(deployment):
        return "its Deployment is being deleted"
    if wanted.get("paused"):
        return "its Deployment is paused"
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "its Deployment has just been changed"
    if annotations(deployment).get(names.REVISION) != annotations(replica_set).get(names.REVISION):
        return "its Deployment is being rolled out"
    if wanted.get("replicas", 1) != spec(replica_set).get("replicas", 1):
        return "its Deployment is being rolled out or scaled"
    return ""
