"""How loaded nodes are, and what each pod adds to it: by usage where it is measured."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import resources
from rescheduler.model.columns import NONE
from rescheduler.model.snapshot import Snapshot

RESOURCES: Final = (resources.CPU, resources.MEMORY)
"""What imbalance and overload are judged by: the columns of all that follows."""

Figures = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Loads:
    """Changes as the plan goes on; every move can be taken back by the opposite one."""

    word: str
    """What the figures are of: `requests` or `usage`."""
    outage: str
    """Why nothing is known of any node; empty: something is."""
    unknown: Mapping[int, str]
    """By node: why its load is unknown. Unknown is neither full nor empty."""
    known: Mask
    """By node: its load is known, and it has some of everything."""
    capacity: Figures
    """By node: what it has for pods."""
    used: Figures
    """By node: what is used of it."""
    of_pod: Figures
    """By row of the snapshot's pods: what it uses, or what it asks for where nobody measures."""

    def __init__(self, snapshot: Snapshot) -> None:
        usage = snapshot.usage
        columns = [snapshot.resource_names.index(name) for name in RESOURCES]
        self.capacity = snapshot.room[:, columns].astype(np.float64)
        if usage is None or usage.outage:
            self.used = snapshot.staying[:, columns].astype(np.float64)
            requests = snapshot.requests[:, columns].astype(np.float64)
            self.of_pod = requests[snapshot.pods.request_set]
        else:
            self.used = np.stack([usage.node_cpu, usage.node_memory], axis=1)
            self.of_pod = np.stack([usage.pod_cpu, usage.pod_memory], axis=1)
        self.outage = "" if usage is None else usage.outage
        self.unknown = {} if usage is None else usage.unknown_nodes
        self.word = "requests" if usage is None or usage.source == "requests" else "usage"
        self.known = np.asarray((self.capacity > 0).all(axis=1) & ~np.isnan(self.used).any(axis=1))
        if self.outage:
            self.known[:] = False

    @property
    def percent(self) -> Figures:
        """By node and resource, of allocatable; NaN where it is unknown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.known[:, None], 100 * self.used / self.capacity, np.nan)

    def percent_of(self, row: int) -> Figures:
        """By node and resource: the points that this pod adds to it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.capacity > 0, 100 * self.of_pod[row] / self.capacity, np.inf)

    def move(self, row: int, source: int, target: int) -> None:
        for node, sign in ((source, -1), (target, 1)):
            if node != NONE:
                self.used[node] += sign * self.of_pod[row]
