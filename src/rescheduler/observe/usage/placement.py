"""Which pods are on which nodes at one moment: what figures of usage are corrected to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import names, objects, resources
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.snapshot import Snapshot

_NEEDED: Final = ("nodes", "pods")

Amounts = npt.NDArray[np.integer] | npt.NDArray[np.floating]


def nobody() -> Mapping[int, str]:
    """No workload is known by name."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """By row, in the order in which `Usage` answers. Rows may be free: UID "" and node -1."""

    nodes: Sequence[str]
    """Names."""
    pod_names: Sequence[str]
    """namespace/name."""
    pod_uids: Sequence[str]
    """Empty for a pod that is not there yet: the assumed copy of a move in flight."""
    pod_nodes: npt.NDArray[np.integer]
    """Row of `nodes`; -1: on none, or ended."""
    pod_started: Amounts
    """When its node took it, in Unix seconds; 0: not yet."""
    pod_owners: npt.NDArray[np.integer]
    """Equal numbers for pods of one controller; -1: it has none."""
    cpu_requests: Amounts
    """Thousandths of a core."""
    memory_requests: Amounts
    """Bytes."""
    replaces: Mapping[int, str] = field(default_factory=dict)
    """Row of a copy -> UID of its original, which may be gone."""
    pod_leaving: npt.NDArray[np.bool_] | None = None
    """Which pods are on their way out, and so no load to reckon with. They stay on their node here
    until they are gone, for until then what is measured has them in it. None: no pod is.
    """
    node_cpu: Amounts | None = None
    node_memory: Amounts | None = None
    """What pods may take of each node (`allocatable`), where known: figures of far more than that
    cannot be true.
    """
    workloads: Callable[[], Mapping[int, str]] = nobody
    """By number of `pod_owners`: its workload, as namespace/kind/name, which outlives roll-outs.
    Worked out when it is asked for.
    """
    unseen: str = ""
    """Which kind of object (`nodes`, `pods`) is not, or not freshly, seen: then nothing is to be
    learnt from who is missing here. Empty: all is seen.
    """


def placement_of(snapshot: Snapshot) -> Placement:
    pods = snapshot.pods
    leaving = pods.flags & int(Flag.TERMINATING | Flag.LEAVING) != 0
    cpu, memory = (
        snapshot.resource_names.index(name) for name in (resources.CPU, resources.MEMORY)
    )
    return Placement(
        nodes=[node.name for node in snapshot.nodes],
        pod_names=pods.names,
        pod_uids=pods.uids,
        pod_nodes=snapshot.place_of_pod,
        pod_leaving=leaving,
        pod_started=pods.started,
        pod_owners=pods.owner,
        cpu_requests=_requests(snapshot, cpu),
        memory_requests=_requests(snapshot, memory),
        node_cpu=snapshot.room[:, cpu],
        node_memory=snapshot.room[:, memory],
        replaces={
            row: annotations[names.ORIGINAL_POD]
            for row, annotations in pods.annotations.items()
            if names.ORIGINAL_POD in annotations
        },
        workloads=partial(_workloads, snapshot),
        unseen=next((gap.source for gap in snapshot.gaps if gap.source in _NEEDED), ""),
    )


def _workloads(snapshot: Snapshot) -> Mapping[int, str]:
    """Pods of Jobs are done before their day is over."""
    owners, first = np.unique(snapshot.pods.owner[snapshot.rows], return_index=True)
    found = {}
    for number, place in zip(owners.tolist(), first.tolist(), strict=True):
        owner = snapshot.owners[number] if number != NONE else None
        if owner is None or owner.kind == "Job":
            continue
        namespace = snapshot.pods.names[snapshot.rows[place]].split("/", 1)[0]
        kind, name = owner.kind, owner.name
        own = snapshot.find("replicasets", namespace, name) if kind == "ReplicaSet" else None
        if own is not None and (above := objects.controller(own)):
            kind, name = above["kind"], above["name"]
        found[number] = f"{namespace}/{kind}/{name}"
    return found


def _requests(snapshot: Snapshot, resource: int) -> npt.NDArray[np.integer]:
    """Of each pod. The other resources are not looked up: of a large cluster that is megabytes."""
    if not len(snapshot.requests):
        return np.zeros(len(snapshot.pods), np.int64)
    return snapshot.requests[:, resource][snapshot.pods.request_set]
