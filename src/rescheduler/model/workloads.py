"""What the objects of a workload say about its state. Planning asks it of a snapshot, migrating of
live objects just before each step, and both must get the same answer.
"""

from rescheduler.model import names
from rescheduler.model.cluster import Workload
from rescheduler.model.objects import Object, annotations, is_terminating


def of_replica_set(replica_set: Object, deployment: Object | None) -> Workload:
    return Workload(
        uid=replica_set["metadata"]["uid"],
        recreates=deployment is not None and recreates(deployment),
        unsettled=why_unsettled(replica_set, deployment),
    )


def recreates(deployment: Object) -> bool:
    strategy = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type") == "Recreate")


def why_unsettled(replica_set: Object, deployment: Object | None) -> str:
    """Why pods of this ReplicaSet should be left alone now; empty when all is at rest."""
    if changed := why_changed(replica_set, deployment):
        return changed
    replicas = replica_set["spec"].get("replicas", 1)
    status = replica_set.get("status") or {}
    if status.get("observedGeneration", 0) < replica_set["metadata"].get("generation", 0):
        return "its ReplicaSet has just been changed"
    if status.get("replicas", 0) != replicas:
        return f"its ReplicaSet has {status.get('replicas', 0)} of {replicas} pods"
    if status.get("readyReplicas", 0) != replicas:
        return f"{status.get('readyReplicas', 0)} of {replicas} of its ReplicaSet's pods are Ready"
    return ""


def why_changed(replica_set: Object, deployment: Object | None) -> str:
    """Why its user has other plans with it by now. A pod that is missing for a while is no plan."""
    if is_terminating(replica_set):
        return "its ReplicaSet is being deleted"
    if replica_set["spec"].get("replicas", 1) == 0:
        return "its ReplicaSet is scaled to 0"
    return _why_deployment_changed(replica_set, deployment) if deployment else ""


def _why_deployment_changed(replica_set: Object, deployment: Object) -> str:
    spec, status = deployment["spec"], deployment.get("status") or {}
    if is_terminating(deployment):
        return "its Deployment is being deleted"
    if spec.get("paused"):
        return "its Deployment is paused"
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "its Deployment has just been changed"
    if annotations(deployment).get(names.REVISION) != annotations(replica_set).get(names.REVISION):
        return "its Deployment is being rolled out"
    if spec.get("replicas", 1) != replica_set["spec"].get("replicas", 1):
        return "its Deployment is being rolled out or scaled"
    return ""
