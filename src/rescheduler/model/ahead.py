"""What the hours to come will bring, as far as loads repeat from day to day."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

HOURS: Final = (1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0)
"""From now: the moments that are looked at. Together with now they are a whole day."""

Changes = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ahead:
    """By moment of `HOURS`, and by row of the snapshot's pods."""

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
