"""The statuses that kubelets give their nodes."""

from datetime import datetime
from typing import Final

from rescheduler.embedded.statuses import stamp, with_conditions
from rescheduler.kube import Object

_HEALTHY: Final = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
_INFO: Final = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "embedded",
    "kernelVersion": "embedded",
    "kubeProxyVersion": "embedded",
    "kubeletVersion": "embedded",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "",
    "systemUUID": "",
}
_PORT: Final = 10250


def up(node: Object, now: datetime, address: str) -> Object:
    """Ready. `address` is for one that has none yet."""
    status = node.get("status") or {}
    own = [
        {"type": "InternalIP", "address": address},
        {"type": "Hostname", "address": node["metadata"]["name"]},
    ]
    made = with_conditions(status, [_condition(*each, now=now) for each in _HEALTHY])
    return {
        **made,
        "addresses": status.get("addresses") or own,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _PORT}},
        "nodeInfo": status.get("nodeInfo") or _INFO,
        "phase": "Running",
    }


def down(node: Object, now: datetime) -> Object:
    made = _condition("Ready", "False", "KubeletNotReady", "made NotReady by its annotation", now)
    return with_conditions(node.get("status") or {}, [made])


def address(node: Object) -> str:
    for each in (node.get("status") or {}).get("addresses") or ():
        if each.get("type") == "InternalIP":
            return str(each["address"])
    return "127.0.0.1"


def _condition(kind: str, value: str, reason: str, message: str, now: datetime) -> Object:
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": stamp(now),
    }
