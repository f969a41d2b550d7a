"""The samples of nodes over the window: a ring of the last ones for each node. Pure."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rescheduler.observe.usage.samples import Identities, Measured, Numbers, usable

CLOCKS_MAY_DIFFER_SECONDS: Final = 10.0
NEVER: Final = -np.inf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """The samples of some nodes, by node and sample, in no order. A copy: free to be changed."""

    at: Numbers
    """NEVER where there is none."""
    span: Numbers
    cpu: Numbers
    memory: Numbers


class NodeSamples:
    """Rows are in the order of the identities of the nodes, so that they are found by bisection."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._follows_a_placement = False
        self._nodes: Identities = np.empty(0, np.int64)
        self._columns: dict[str, npt.NDArray[Any]] = {
            "at": np.empty((0, capacity)),
            "span": np.empty((0, capacity)),
            "cpu": np.empty((0, capacity)),
            "memory": np.empty((0, capacity)),
            "next": np.empty(0, np.int64),
            # What was told last, counted as a sample or not.
            "told_at": np.empty(0),
            "is_nonsense": np.empty(0, np.bool_),
            "told_cpu": np.empty(0),
            "told_memory": np.empty(0),
        }

    def follow(self, nodes: Identities) -> None:
        """Keep the samples of these nodes and of no other from now on: one that comes back under an
        old name is another node.
        """
        self._follows_a_placement = True
        self._take_rows(np.unique(nodes))

    def add(self, measured: Measured, now: float) -> None:
        """What was told before does not count again, however often it is told."""
        if not self._follows_a_placement:
            self._take_rows(np.union1d(self._nodes, measured.who))
        column = self._columns
        rows, known = self._find(measured.who)
        can_be = usable(measured, zero_is_fine=False)
        column["is_nonsense"][rows[known]] = ~can_be[known]
        column["told_cpu"][rows[known]] = measured.cpu[known]
        column["told_memory"][rows[known]] = measured.memory[known]
        told_at = column["told_at"][rows] if len(self._nodes) else np.empty(len(rows))
        # A clock that was ahead and has been set right tells older times than before.
        was_ahead = (told_at > now + CLOCKS_MAY_DIFFER_SECONDS) & (measured.at < told_at)
        is_new = known & can_be & ((measured.at > told_at) | was_ahead)
        rows = rows[is_new]
        places = column["next"][rows]
        column["told_at"][rows] = measured.at[is_new]
        # Nothing was measured after it was told.
        column["at"][rows, places] = np.minimum(measured.at[is_new], now)
        column["span"][rows, places] = measured.span[is_new]
        column["cpu"][rows, places] = measured.cpu[is_new]
        column["memory"][rows, places] = measured.memory[is_new]
        column["next"][rows] = (places + 1) % self._capacity

    def window(self, nodes: Identities) -> Window:
        """Of nodes that are followed."""
        rows, _ = self._find(nodes)
        return Window(
            **{name: self._columns[name][rows] for name in ("at", "span", "cpu", "memory")}
        )

    def nonsense(self, node: int) -> tuple[float, float] | None:
        """The last figures of a followed node, CPU and memory, if they cannot be true."""
        row = int(np.searchsorted(self._nodes, node))
        if not self._columns["is_nonsense"][row]:
            return None
        return float(self._columns["told_cpu"][row]), float(self._columns["told_memory"][row])

    def _find(self, nodes: Identities) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The rows of nodes, and which of these are really theirs."""
        if not len(self._nodes):
            return np.zeros(len(nodes), np.intp), np.zeros(len(nodes), np.bool_)
        rows = np.minimum(np.searchsorted(self._nodes, nodes), len(self._nodes) - 1)
        return rows, self._nodes[rows] == nodes

    def _take_rows(self, nodes: Identities) -> None:
        if np.array_equal(nodes, self._nodes):
            return
        rows, known = self._find(nodes)
        for name, old in self._columns.items():
            new = np.zeros((len(nodes), *old.shape[1:]), old.dtype)
            if name in ("at", "told_at"):
                new[:] = NEVER
            new[known] = old[rows[known]]
            self._columns[name] = new
        self._nodes = nodes
