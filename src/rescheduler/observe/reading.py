"""Objects as the API server sends them -> the model. Pure."""

from collections.abc import Mapping

from rescheduler.model import conditions, names, objects, pins, resources, workloads
from rescheduler.model.cluster import Node, Owner, Pod, Workload
from rescheduler.model.objects import Object


def node(raw: Object) -> Node:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    return Node(
        name=metadata["name"],
        labels=objects.labels(raw),
        taints=tuple(spec.get("taints") or ()),
        allocatable=resources.read(status.get("allocatable")),
        ready=conditions.holds(raw, "Ready"),
        unschedulable=bool(spec.get("unschedulable")),
    )


def pod(raw: Object) -> Pod:
    metadata, spec = raw["metadata"], raw["spec"]
    labels = objects.labels(raw)
    if names.MIGRATION_ID in labels:
        spec = pins.remove(spec)
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        node=spec.get("nodeName", ""),
        phase=(raw.get("status") or {}).get("phase", ""),
        ready=conditions.holds(raw, "Ready"),
        terminating=objects.is_terminating(raw),
        labels=labels,
        annotations=objects.annotations(raw),
        owner=_owner(raw),
        requests=resources.of_pod(spec),
        priority=spec.get("priority") or 0,
        spec=spec,
    )


def workload(replica_set: Object, deployments: Mapping[str, Object]) -> Workload:
    owner = _owner(replica_set)
    deployment = deployments.get(owner.uid) if owner and owner.kind == "Deployment" else None
    return Workload(
        uid=replica_set["metadata"]["uid"],
        recreates=deployment is not None and workloads.recreates(deployment),
        unsettled=workloads.why_unsettled(replica_set, deployment),
    )


def _owner(raw: Object) -> Owner | None:
    reference = objects.controller(raw)
    if reference is None:
        return None
    return Owner(kind=reference["kind"], name=reference["name"], uid=reference["uid"])
