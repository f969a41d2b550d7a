"""Where the pods of a snapshot are, as usage wants to know it."""

from typing import Final

import numpy as np

from rescheduler.model import names, resources
from rescheduler.model.columns import Flag
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.usage.placement import Placement

_NEEDED: Final = ("nodes", "pods")


def placement_of(snapshot: Snapshot) -> Placement:
    pods = snapshot.pods
    leaving = pods.flags & int(Flag.TERMINATING | Flag.LEAVING) != 0
    cpu, memory = (
        snapshot.resource_names.index(name) for name in (resources.CPU, resources.MEMORY)
    )
    asked = snapshot.requests[pods.asks] if len(snapshot.requests) else _nothing(snapshot)
    return Placement(
        nodes=[node.name for node in snapshot.nodes],
        pod_names=pods.names,
        pod_uids=pods.uids,
        pod_nodes=snapshot.place_of_pod,
        pod_leaving=leaving,
        pod_started=pods.started,
        pod_owners=pods.owner,
        cpu_requests=asked[:, cpu],
        memory_requests=asked[:, memory],
        node_cpu=snapshot.room[:, cpu],
        node_memory=snapshot.room[:, memory],
        replaces={
            row: annotations[names.ORIGINAL_POD]
            for row, annotations in pods.annotations.items()
            if names.ORIGINAL_POD in annotations
        },
        unseen=next((gap.source for gap in snapshot.gaps if gap.source in _NEEDED), ""),
    )


def _nothing(snapshot: Snapshot) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.zeros((len(snapshot.pods), len(snapshot.resource_names)), np.int64)
