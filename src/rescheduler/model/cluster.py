"""What a cluster consists of: nodes and pods, one at a time.

All of them together are a `model.snapshot.Snapshot`, which keeps pods as columns and makes a `Pod`
for whoever asks about one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rescheduler.model import names
from rescheduler.model.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    uid: str = ""
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Those that we read."""
    taints: tuple[Mapping[str, Any], ...]
    allocatable: Resources
    ready: bool
    unschedulable: bool
    deleted_at: str = ""
    """When it was told to go, should it not be gone yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    kind: str
    """As it is known: see `controllers.known_as`."""
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    namespace: str
    name: str
    uid: str
    node: str
    """Empty while it is not bound."""
    phase: str
    ready: bool
    terminating: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    """Those that we read."""
    owner: Owner | None
    """Its controller, if it has one."""
    requests: Resources
    priority: int
    spec: Mapping[str, Any]
    """The specification as the server sent it, less our own pin and all that no rule looks at."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """Of cpu and memory, in the units of its requests; nothing when nobody has asked."""
    leaving: bool = False
    """Terminating, or about to be: a copy that takes its place is there or on its way."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


def is_part_of_its_node(owner: Owner | None, annotations: Mapping[str, str]) -> bool:
    """Of a DaemonSet, or static: it ends with the node, and keeps nobody from emptying it."""
    return names.MIRROR_POD in annotations or (owner is not None and owner.kind == "DaemonSet")
