"""Who controls pods: the kinds whose rules we know, and all others, whose pods are all we know."""

from collections.abc import Mapping
from typing import Final

from rescheduler.model import podmigration
from rescheduler.model.objects import Object

_GROUPS: Final = {"ReplicaSet": "apps", "StatefulSet": "apps", "Job": "batch"}
"""Others have kinds of these names, too: Kruise a StatefulSet, Volcano a Job."""
_KNOWN: Final = frozenset({*_GROUPS, "DaemonSet", "Node"})
"""A DaemonSet of whatever group is part of its nodes."""


def known_as(kind: str, api_version: str) -> str:
    """Its kind; with its group, as kubectl writes it, where that is a namesake of one that we know.
    Without a group it is as it was read before.
    """
    group = api_version.rpartition("/")[0]
    is_namesake = kind in _GROUPS and group not in ("", _GROUPS[kind])
    return f"{kind}.{group}" if is_namesake else kind


def is_foreign(kind: str) -> bool:
    """Whether only it knows when it makes a pod anew, and how; `kind` as it is known."""
    return bool(kind) and kind not in _KNOWN


def is_unreplaced(record: Object, present: Mapping[str, str]) -> bool:
    """Whether the pod that this migration evicted has not been made anew by a foreign controller;
    `present` are the names of its pods that are there, by UID. Another that was made meanwhile
    takes the place of the one whose name it has, or else counts when there are as many as before.
    """
    evicted, its_uid = podmigration.pod_name(record), podmigration.pod_uid(record)
    if any(name == evicted and uid != its_uid for uid, name in present.items()):
        return False
    return len(present) < len(podmigration.siblings_of(record))
