"""What a source said at one time, as columns: a sample of 150,000 pods takes a few megabytes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Identities = npt.NDArray[np.int64]


def identity(name: str) -> int:
    """Stands for a name (`node`, `namespace/pod`, a UID) in a column; 0 for the empty name.

    Python's own hash: 64 bits and salted, so that in a cluster of the largest size two names that
    share one are a matter of one in a billion, and nobody can choose names that do. It is of this
    process only: it must not be saved.
    """
    return hash(name)


def identities(names: Iterable[str], count: int = -1) -> Identities:
    return np.fromiter(map(hash, names), np.int64, count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """Figures of many nodes, or of many pods, as they came: NaN and nonsense included."""

    who: Identities
    """Of the names of nodes, or of `namespace/name` of pods; none twice."""
    at: Numbers
    """When it was measured, in Unix seconds by the clock of who measured it."""
    span: Numbers
    """Over how many seconds up to then CPU was averaged; 0: at that moment."""
    cpu: Numbers
    """Thousandths of a core."""
    memory: Numbers
    """Bytes."""

    def __len__(self) -> int:
        return len(self.who)


def _nothing() -> Measured:
    none = np.empty(0, np.float64)
    return Measured(who=np.empty(0, np.int64), at=none, span=none, cpu=none, memory=none)


NOTHING: Final = _nothing()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    nodes: Measured = NOTHING
    pods: Measured = NOTHING
    findings: Mapping[str, str] = field(default_factory=dict)
    """What was wrong with the answer and was left out: by kind of problem, in words, with a count
    and an example. The kinds are few, so that each can be told once.
    """


def usable(measured: Measured, *, zero_is_fine: bool) -> npt.NDArray[np.bool_]:
    """Which figures can be true. No node runs on nothing, so there a zero is a gap, as for
    metrics-server; idle pods may.
    """
    usable = np.isfinite(measured.at)
    for figures, most in ((measured.cpu, _MOST_MILLICORES), (measured.memory, _MOST_BYTES)):
        with np.errstate(invalid="ignore"):  # NaN compares as False, which is the answer
            usable &= (figures >= 0 if zero_is_fine else figures > 0) & (figures <= most)
    return usable


# A million cores, an exbibyte: more than any machine has.
_MOST_MILLICORES: Final = 1e9
_MOST_BYTES: Final = 2.0**60
