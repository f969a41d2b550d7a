"""Which pods are on which nodes at one moment: what figures of usage are corrected to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.integer] | npt.NDArray[np.floating]


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
    unseen: str = ""
    """Which kind of object (`nodes`, `pods`) is not, or not freshly, seen: then nothing is to be
    learnt from who is missing here. Empty: all is seen.
    """
