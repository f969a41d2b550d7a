"""Objects as the API server sends them -> the model. Pure."""

from collections.abc import Mapping
from typing import Any

from rescheduler.model import conditions, names, pins, resources, workloads
from rescheduler.model.cluster import Node, Owner, Pod, Workload

Object = Mapping[str, Any]


def node(raw: Object) -> Node:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    return Node(
        name=metadata["name"],
        uid=metadata["uid"],
        labels=metadata.get("labels") or {},
        taints=tuple(spec.get("taints") or ()),
        allocatable=resources.read(status.get("allocatable")),
        ready=conditions.holds(raw, "Ready"),
        unschedulable=bool(spec.get("unschedulable")),
    )


def pod(raw: Object) -> Pod:
    metadata, spec = raw["metadata"], raw["spec"]
    labels = metadata.get("labels") or {}
    if names.MIGRATION_ID in labels:
        spec = pins.remove(spec)
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        node=spec.get("nodeName", ""),
        phase=(raw.get("status") or {}).get("phase", ""),
        ready=conditions.holds(raw, "Ready"),
        terminating="deletionTimestamp" in metadata,
        labels=labels,
        annotations=metadata.get("annotations") or {},
        owner=_controller(metadata),
        requests=resources.of_pod(spec),
        priority=spec.get("priority") or 0,
        spec=spec,
    )


def workload(replica_set: Object, deployments: Mapping[str, Object]) -> Workload:
    metadata, status = replica_set["metadata"], replica_set.get("status") or {}
    owner = _controller(metadata)
    deployment = deployments.get(owner.uid) if owner and owner.kind == "Deployment" else None
    return Workload(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        replicas=replica_set["spec"].get("replicas", 1),
        ready_replicas=status.get("readyReplicas", 0),
        recreates=deployment is not None and workloads.recreates(deployment),
        unsettled=workloads.why_unsettled(replica_set, deployment),
    )


def _controller(metadata: Object) -> Owner | None:
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller"):
            return Owner(kind=reference["kind"], name=reference["name"], uid=reference["uid"])
    return None
