"""The scale subresource: how many replicas, whatever kind of workload it is."""

from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import refusals
from rescheduler.kube import Object
from rescheduler.model import selectors
from rescheduler.wire import Resource

SUBRESOURCE: Final = "scale"
_SCALABLE: Final = (wire.DEPLOYMENTS, wire.REPLICA_SETS, wire.STATEFUL_SETS)
_FROM_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(resource: Resource, item: Object) -> Object:
    if resource not in _SCALABLE:
        raise refusals.not_served(resource)
    metadata, replicas = item["metadata"], item["spec"].get("replicas", 0)
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {key: metadata[key] for key in _FROM_METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": (item.get("status") or {}).get("replicas", 0),
            "selector": str(selectors.from_object(item["spec"].get("selector"))),
        },
    }


def rescaled(resource: Resource, item: Object, scale: Object) -> Object:
    if resource not in _SCALABLE:
        raise refusals.not_served(resource)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    return {**item, "spec": {**item["spec"], "replicas": replicas}}
