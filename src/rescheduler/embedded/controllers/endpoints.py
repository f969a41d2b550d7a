"""What a pod is to a Service: an address, ports, and whether it takes requests."""

from typing import Any, Final

from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating, labels, spec

Ports = tuple[tuple[tuple[str, Any], ...], ...]
"""Of each port the pairs of its fields: pods whose ports differ are in different slices."""
Identity = tuple[str, str, tuple[str, ...], str]
"""Namespace, name, addresses and host name, by which an endpoint is known again."""

_ZONE: Final = "topology.kubernetes.io/zone"


def has_one(pod: Object) -> bool:
    """One that terminates still has: whoever talks to it may end what it began."""
    status = pod.get("status") or {}
    return bool(_addresses(pod)) and status.get("phase") not in ("Succeeded", "Failed")


def are_affected(before: Object, after: Object) -> bool:
    """By this change of a pod, whose labels are as they were."""
    return (
        is_terminating(before) != is_terminating(after)
        or conditions.holds(before, "Ready") != conditions.holds(after, "Ready")
        or _addresses(before) != _addresses(after)
    )


def of_pod(service: Object, pod: Object, node: Object | None) -> Object:
    metadata, wanted = pod["metadata"], pod["spec"]
    serving, terminating = conditions.holds(pod, "Ready"), is_terminating(pod)
    made: Object = {
        "addresses": list(_addresses(pod)),
        "conditions": {
            "ready": bool(spec(service).get("publishNotReadyAddresses"))
            or (serving and not terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": {
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
    }
    if wanted.get("nodeName"):
        made["nodeName"] = wanted["nodeName"]
    if node is not None and labels(node).get(_ZONE):
        made["zone"] = labels(node)[_ZONE]
    if wanted.get("hostname") and wanted.get("subdomain") == service["metadata"]["name"]:
        made["hostname"] = wanted["hostname"]
    return made


def identity(endpoint: Object) -> Identity:
    target = endpoint.get("targetRef") or {}
    return (
        target.get("namespace") or "",
        target.get("name") or "",
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
    )


def ports_of(service: Object, pod: Object) -> Ports:
    found = []
    for port in spec(service).get("ports") or ():
        protocol = port.get("protocol") or "TCP"
        number = _number(pod, port.get("targetPort") or port["port"], protocol)
        if number is None:
            continue
        fields = {
            "name": port.get("name") or "",
            "port": number,
            "protocol": protocol,
            "appProtocol": port.get("appProtocol"),
        }
        found.append(_pairs(fields))
    return tuple(sorted(found))


def ports_of_slice(item: Object) -> Ports:
    return tuple(sorted(_pairs(port) for port in item.get("ports") or ()))


def _number(pod: Object, target: int | str, protocol: str) -> int | None:
    """A port may be named, and then the pod says which one it is."""
    if isinstance(target, int):
        return target
    sidecars = [
        each
        for each in pod["spec"].get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    ]
    for container in (*(pod["spec"].get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == target and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return None


def _pairs(port: Object) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((key, value) for key, value in port.items() if value is not None))


def _addresses(pod: Object) -> tuple[str, ...]:
    status = pod.get("status") or {}
    several = tuple(each["ip"] for each in status.get("podIPs") or () if ":" not in each["ip"])
    return several or ((status["podIP"],) if status.get("podIP") else ())
