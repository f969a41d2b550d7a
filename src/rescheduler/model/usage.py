"""What nodes and pods use, as planning sees it: by row, in the order of the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Figures = npt.NDArray[np.float64]
"""CPU in thousandths of a core, memory in bytes; NaN: unknown, which is not zero."""

HOURS: Final = (1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0)
"""From now: the moments that are looked at. Together with now they are a whole day."""

Changes = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ahead:
    """What the hours to come will bring, as far as loads repeat from day to day: by moment of
    `HOURS`, and by row of the snapshot's pods.
    """

    cpu: Changes
    """Thousandths of a core that it will use more than now; 0 for pods of workloads whose load does
    not repeat.
    """
    memory: Changes
    """Bytes; the same."""
    now: float
    """In Unix seconds."""
    days: int
    """On how many days before this one it rests, at most."""

    def __post_init__(self) -> None:
        self.cpu.flags.writeable = self.memory.flags.writeable = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Usage:
    """Figures of the placement that they were asked for: pods that left since they were measured
    are taken out of their node, pods that came are added, so nothing moves twice on old numbers.
    """

    source: str
    """Who measured it; `requests`: nobody did, pods count as what they ask for."""
    as_of: float
    """When the newest sample was measured, in Unix seconds; NaN when there is none."""
    node_cpu: Figures
    node_memory: Figures
    """NaN for both or for none. A node that is unknown neither gives nor takes pods."""
    pod_cpu: Figures
    pod_memory: Figures
    """Measured, or the best guess: the pod that it is a copy of, the mean of its owner's pods, what
    it asks for. NaN only while there is an outage.
    """
    pod_measured: npt.NDArray[np.bool_]
    """Which figures of pods are measured, and fresh."""
    unknown_nodes: Mapping[int, str]
    """By row: why the node is unknown."""
    node_since: Figures
    """By row, in Unix seconds: as many samples as make a node known have begun after it, whatever
    clocks of ordinary machines differ by. So what changed before is in all of them, as it turned
    out to be. NaN: there are not so many.
    """
    outage: str = ""
    """Why every node is unknown, so that whoever goes by usage has to rest; empty: some are known,
    or it is known that there are no nodes.
    """

    ahead: Ahead | None = None
    """What is known of the hours to come; None: nothing, or nobody wants to know."""

    def __post_init__(self) -> None:
        for figures in (
            self.node_cpu,
            self.node_memory,
            self.pod_cpu,
            self.pod_memory,
            self.node_since,
        ):
            figures.flags.writeable = False
        self.pod_measured.flags.writeable = False
