"""What the objects of a workload say about its state. Planning asks it of a snapshot, migrating of
live objects just before each step, and both must get the same answer.
"""

from rescheduler.model.objects import Object, is_terminating


def recreates(deployment: Object) -> bool:
    strategy = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type") == "Recreate")


def why_unsettled(replica_set: Object, deployment: Object | None) -> str:
    """Why pods of this ReplicaSet should be left alone now; empty when all is at rest."""
    if is_terminating(replica_set):
        return "its ReplicaSet is being deleted"
    replicas = replica_set["spec"].get("replicas", 1)
    status = replica_set.get("status") or {}
    if replicas == 0:
        return "its ReplicaSet is scaled to 0"
    if status.get("observedGeneration", 0) < replica_set["metadata"].get("generation", 0):
        return "its ReplicaSet has just been changed"
    if status.get("replicas", 0) != replicas:
        return f"its ReplicaSet has {status.get('replicas', 0)} of {replicas} pods"
    if status.get("readyReplicas", 0) != replicas:
        return f"{status.get('readyReplicas', 0)} of {replicas} of its ReplicaSet's pods are Ready"
    return why_rolling(deployment) if deployment else ""


def why_rolling(deployment: Object) -> str:
    """Why a Deployment is not at rest; empty when it is."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    status = deployment.get("status") or {}
    if is_terminating(deployment):
        return "its Deployment is being deleted"
    if spec.get("paused"):
        return "its Deployment is paused"
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        return "its Deployment has just been changed"
    replicas = spec.get("replicas", 1)
    counts = {name: status.get(name, 0) for name in ("replicas", "updatedReplicas")}
    if any(count != replicas for count in counts.values()):
        return "its Deployment is being rolled out or scaled"
    return ""
