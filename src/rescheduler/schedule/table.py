"""The cluster as new pods find it: one row a node. Frozen, so that any thread may read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import resources

Figures = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

RESOURCES: Final = (resources.CPU, resources.MEMORY)
"""The columns of all figures."""
UNKNOWN: Final = -1
"""The number of a node that is in no table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """A migration whose successor is to come to its target."""

    pod: str
    """The name of the original. A StatefulSet gives it to the successor, too."""
    keeps_name: bool
    """So that only a pod of that name is the successor."""
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """As configured."""

    cpu_threshold_percent: float
    memory_threshold_percent: float
    is_strict: bool
    cpu_weight: float
    memory_weight: float
    balance_bonus: float

    @property
    def thresholds(self) -> tuple[float, float]:
        return self.cpu_threshold_percent, self.memory_threshold_percent


def by_column(figures: Figures) -> Figures:
    """Laid out so that numpy goes through thousands of nodes at once, and not through two columns
    thousands of times.
    """
    return np.asfortranarray(figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    names: tuple[str, ...]
    numbers: Mapping[str, int]
    """By name: place in `names`, and row of all figures."""
    capacity: Figures
    used: Figures
    """What is used of it: measured, or what pods ask for. NaN: unknown."""
    requested: Figures
    """What its pods ask for: the scheduler goes by that."""
    promised: Figures
    """What is kept free for migrations in flight, whose copies are not there yet."""
    word: str
    """What `used` is: `usage` or `requests`."""
    in_maintenance: Mapping[int, str]
    """Why nobody may come: people want it empty."""
    being_emptied: Mapping[int, str]
    """Why nobody should come: we are emptying it."""
    steering: Mapping[str, Sequence[Steering]] = field(default_factory=dict)
    """By the UID of the owner whose pods are steered."""
    arrived: frozenset[str] = frozenset()
    """UIDs of pods that came to their nodes since the table before."""
    taken_at: float
    """By the clock of whoever answers."""
    taken: Figures = field(init=False)
    """What is used or, where that is unknown, asked for; and what is promised."""

    def __post_init__(self) -> None:
        used = np.where(np.isnan(self.used), self.requested, self.used)
        object.__setattr__(self, "taken", used + self.promised)

    def rows(self, names: Sequence[str]) -> Numbers:
        """UNKNOWN for nodes that we have not heard of."""
        found = map(self.numbers.get, names, repeat(UNKNOWN))
        return np.fromiter(found, np.int64, len(names))
