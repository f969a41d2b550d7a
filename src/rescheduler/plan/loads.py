"""How loaded nodes are, and what each pod adds to it: by usage where it is measured."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import resources
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Ahead

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

    ahead: Ahead | None
    """What is known of the hours to come; None: that all stays as it is."""
    more: Figures
    """By node, and by the columns of `series` beyond those of now: what its pods will use more."""
    more_of_pod: Figures
    """The same by row of the snapshot's pods."""

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
        self.ahead = None if usage is None or usage.outage else usage.ahead
        self.more_of_pod, self.more = _more(snapshot, self.ahead)

    @property
    def moments(self) -> int:
        """Now, and those of the hours to come that are known."""
        return 1 + int(self.more.shape[1]) // len(RESOURCES)

    @property
    def series(self) -> Figures:
        """`percent` at each moment, side by side: the resources now, then those an hour later."""
        with np.errstate(divide="ignore", invalid="ignore"):
            later = 100 * self.more / self.of_all_moments(self.capacity)[:, len(RESOURCES) :]
        now = self.percent
        return np.hstack([now, np.tile(now, self.moments - 1) + later])

    def series_of(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Figures:
        """By row and the columns of `series`: what these pods use."""
        now = self.of_pod[rows]
        return np.hstack([now, np.tile(now, self.moments - 1) + self.more_of_pod[rows]])

    def forget_ahead(self) -> None:
        """Only the present counts from now on."""
        self.ahead = None
        self.more_of_pod, self.more = self.more_of_pod[:, :0], self.more[:, :0]

    def of_all_moments(self, figures: Figures) -> Figures:
        """What does not change with time, by the columns of `series`."""
        return np.tile(figures, self.moments)

    @property
    def percent(self) -> Figures:
        """By node and resource, of allocatable; NaN where it is unknown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.known[:, None], 100 * self.used / self.capacity, np.nan)

    def percent_of(self, row: int) -> Figures:
        """By node and resource: the points that this pod adds to it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.capacity > 0, 100 * self.of_pod[row] / self.capacity, np.inf)

    def series_percent_of(self, row: int) -> Figures:
        """The same at each moment, by the columns of `series`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            capacity = self.of_all_moments(self.capacity)
            return np.where(capacity > 0, 100 * self.series_of([row]) / capacity, np.inf)

    def move(self, row: int, source: int, target: int) -> None:
        for node, sign in ((source, -1), (target, 1)):
            if node != NONE:
                self.used[node] += sign * self.of_pod[row]
                self.more[node] += sign * self.more_of_pod[row]


def _more(snapshot: Snapshot, ahead: Ahead | None) -> tuple[Figures, Figures]:
    """By row of pods, and by node: its pods that are not on their way out."""
    pods, nodes = len(snapshot.pods), len(snapshot.nodes)
    if ahead is None:
        return np.zeros((pods, 0)), np.zeros((nodes, 0))
    of_pod = np.stack([ahead.cpu, ahead.memory], axis=1).reshape(-1, pods).T.astype(np.float64)
    rows = snapshot.rows
    leaving = snapshot.pods.flags[rows] & int(Flag.TERMINATING | Flag.LEAVING) != 0
    rows = rows[~leaving & (snapshot.place_of_pod[rows] != NONE)]
    on = snapshot.place_of_pod[rows]
    of_node = [np.bincount(on, weights=each, minlength=nodes) for each in of_pod[rows].T]
    return of_pod, np.stack(of_node, axis=1)
