"""The pods of a snapshot as columns: one row a pod, one array a question.

As objects of their own, the pods of a large cluster would not fit into the memory of a small
process; as columns they do, and a question about all of them is one operation on an array.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster import Owner
from rescheduler.model.objects import Object

Numbers = npt.NDArray[np.int32]
Seconds = npt.NDArray[np.int64]
Small = npt.NDArray[np.uint8]
Amounts = npt.NDArray[np.int64]

NONE: Final = -1
"""In a column of numbers: there is none."""

UNAVAILABLE: Final = "resources that no node has"
"""The column, among those of resources, that counts them: no node has any of it."""

PHASES: Final = ("", "Pending", "Running", "Unknown")
"""By their number in the column. Pods that succeeded or failed are not in a snapshot: they hold
nothing and go nowhere.
"""


class Flag(IntFlag):
    READY = 1
    TERMINATING = 2
    """It still holds its room, and is no reason to move others."""
    LEAVING = 4
    """A copy of it is there, or is assumed, that takes its place: counted as if terminating."""
    GATED = 8
    """It waits for its scheduling gates, so it will not be bound soon."""
    UNSCHEDULABLE = 16
    """The scheduler has found no place for it."""
    ASSUMED = 32
    """Not seen yet: the copy that a move in flight is going to make, or has just made."""
    LEFT = 64
    """Ready, but taken out of its Services by our own hand: its copy serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What the specifications of alike pods have in common: all that scheduling goes by."""

    spec_json: bytes
    """Without what differs from pod to pod (node, claims, our own pin), keys in order."""
    request_set: int
    """Row of `Snapshot.requests`: what its pods ask for, when they have not been resized."""
    priority: int

    def spec(self) -> Object:
        return msgspec.json.decode(self.spec_json)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClass:
    """Pods that every rule treats alike, but for the node they are on."""

    namespace: str
    labels: Mapping[str, str]
    """Without those that differ from pod to pod, which stand in `PodColumns.own_labels`."""
    template: int
    """Row of `Snapshot.templates`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodColumns:
    names: Sequence[str]
    """namespace/name; empty where a row is free."""
    uids: Sequence[str]
    node: Numbers
    """Slot of the node (`Snapshot.node_slots`)."""
    pod_class: Numbers
    """NONE where a row is free."""
    request_set: Numbers
    """Row of `Snapshot.requests`."""
    owner: Numbers
    """Row of `Snapshot.owners`: its controller."""
    own_labels: Numbers
    """Row of `Snapshot.label_sets`: labels that no alike pod has, such as a StatefulSet's index."""
    phase: Small
    flags: Small
    created: Seconds
    started: Seconds
    """When its node took it; 0 while none has."""
    annotations: Mapping[int, Mapping[str, str]]
    """By row, where a pod has any that we read."""
    claims: Mapping[int, tuple[str, ...]]
    """By row: the PersistentVolumeClaims that it mounts."""
    nominated: Mapping[int, str]
    """By row: the node on which the scheduler is making room for it."""
    pinned: Mapping[int, str]
    """By row, where a copy of ours is not bound yet: the node that it is meant for."""
    deleting: Mapping[int, int]
    """By row, where it is terminating: until when it may, in seconds since 1970."""
    resized: Mapping[int, bytes]
    """By row, where a pod holds something else than it asks for: its status, as JSON."""

    def __len__(self) -> int:
        """Rows, free ones included."""
        return len(self.names)


Owners = Sequence[Owner | None]
LabelSets = Sequence[tuple[tuple[str, str], ...] | None]
