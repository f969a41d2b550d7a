"""The table of fields, read: which messages there are, and which of them each resource is."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rescheduler.wire import fields, resources
from rescheduler.wire.resources import Resource

SCALARS = frozenset({"text", "number", "flag", "time", "quantity", "intOrString", "anything"})


class Form(enum.Enum):
    ONE = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    OPAQUE_MAP = enum.auto()
    INLINE = enum.auto()


class Field(NamedTuple):
    number: int
    name: str
    type: str
    """One of `SCALARS`, or the name of a message."""
    form: Form
    pointer: bool
    """Whether absent and empty differ."""

    @property
    def is_message(self) -> bool:
        return self.type not in SCALARS


Messages = Mapping[str, tuple[Field, ...]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What the objects of a resource are."""

    message: str
    protobuf: bool = True
    """Whether the server may be asked for it: custom resources it has in JSON only."""


_FORMS = {
    "": Form.ONE,
    "?": Form.ONE,
    "[]": Form.LIST,
    "{}": Form.MAP,
    "<>": Form.OPAQUE_MAP,
    "=": Form.INLINE,
}
_LINE = re.compile(r" +(\d+) +(\w+) +([{<=]?)(\w+)([}>?]|\[\])?")


def _read(table: str) -> Messages:
    messages: dict[str, list[Field]] = {}
    block: list[Field] = []
    for line in filter(None, table.splitlines()):
        if not line.startswith(" "):
            block = messages[line] = []
            continue
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise ValueError(f"not a field: {line!r}")
        number, name, before, type_, after = parts.groups(default="")
        block.append(Field(int(number), name, type_, _FORMS[before + after], after == "?"))
    return {name: tuple(block) for name, block in messages.items()}


MESSAGES = _read(fields.TABLE)

_KINDS = {
    resources.NODES: Kind("Node"),
    resources.PODS: Kind("Pod"),
    resources.NAMESPACES: Kind("Namespace"),
    resources.POD_DISRUPTION_BUDGETS: Kind("PodDisruptionBudget"),
    resources.REPLICA_SETS: Kind("ReplicaSet"),
    resources.DEPLOYMENTS: Kind("Deployment"),
    resources.STATEFUL_SETS: Kind("StatefulSet"),
    resources.DAEMON_SETS: Kind("DaemonSet"),
    resources.JOBS: Kind("Job"),
    resources.SERVICES: Kind("Service"),
    resources.NETWORK_POLICIES: Kind("NetworkPolicy"),
    resources.ENDPOINT_SLICES: Kind("EndpointSlice"),
    resources.PERSISTENT_VOLUME_CLAIMS: Kind("PersistentVolumeClaim"),
    resources.PERSISTENT_VOLUMES: Kind("PersistentVolume"),
    resources.STORAGE_CLASSES: Kind("StorageClass"),
    resources.CSI_NODES: Kind("CSINode"),
    resources.VOLUME_ATTACHMENTS: Kind("VolumeAttachment"),
    resources.RESOURCE_QUOTAS: Kind("ResourceQuota"),
    resources.PRIORITY_CLASSES: Kind("PriorityClass"),
    resources.RUNTIME_CLASSES: Kind("RuntimeClass"),
    resources.HORIZONTAL_POD_AUTOSCALERS: Kind("HorizontalPodAutoscaler"),
    # Whether a metrics server speaks protobuf is its own affair; there is little to gain.
    resources.NODE_METRICS: Kind("NodeMetrics", protobuf=False),
    resources.POD_METRICS: Kind("PodMetrics", protobuf=False),
}
_CUSTOM = Kind("Custom", protobuf=False)


def kind_of(resource: Resource) -> Kind:
    """Of any resource: one that is not in the table is taken for a custom one."""
    return _KINDS.get(resource, _CUSTOM)


def kinds() -> Mapping[Resource, Kind]:
    return _KINDS
