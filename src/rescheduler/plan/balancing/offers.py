"""What could be done: pods and where each of them could go, as columns, one row an offer; and when
it is worth doing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.model.columns import Amounts
from rescheduler.plan.balancing.spread import Places, Spread
from rescheduler.plan.loads import Figures, Mask

_SWAPPED: Final = 0.6
"""Of the wider gap, what a move may open in the other direction. A pod nearly as large as the gap
only swaps the roles of its nodes: with a little noise it would look right to move it back.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    nodes: Places
    """Those that may give or take something, by their place among all that take part."""
    pod: Places
    """Which of the pods that were looked at."""
    source: Places
    target: Places
    """Places among these nodes."""
    out: Figures
    """By resource and offer: the points that the source would lose."""
    into: Figures
    """And those that the target would gain."""
    priority: Places
    """Of the pod."""
    asks: Amounts
    """By pod that was looked at, and resource: what it will hold where it comes to."""
    free: Amounts
    """By these nodes and resource."""

    def __len__(self) -> int:
        return len(self.pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """When a move is worth its trouble, and will still look so tomorrow."""

    margin: float
    """Points by which a gap may be measured wrongly: a move has to narrow it even then."""
    share: float
    """Of what a pod weighs on its nodes, by which its move has to narrow the gap between them."""
    floor: float
    """Nodes whose loads differ by no more than these points are as good as equal."""
    ceiling: Figures
    """By resource: the load above which no target may be lifted."""

    def of(self, given: Figures, taken: Figures, out: Figures, into: Figures) -> Figures:
        """By move, from the loads of its nodes and what it changes, all of them by resource first:
        how much is gained, in squares of points; nothing: it is not worth it.
        """
        gaps, less = given - taken, out + into
        left = gaps - less
        before, after = np.abs(gaps).max(axis=0), np.abs(left).max(axis=0)
        eased = self.eased(gaps, less)
        ceiling = self.ceiling.reshape(-1, *[1] * (into.ndim - 1))
        worth = (
            (eased > 0)
            & (before - after >= self.share * less.max(axis=0))
            & (before > self.floor)
            & ((less - np.maximum(gaps, 0.0)).max(axis=0) <= _SWAPPED * before)
            & (taken + into <= ceiling).all(axis=0)
        )
        gained: Figures = np.where(worth, eased, 0.0)
        return gained

    def eased(self, gaps: Figures, less: Figures) -> Figures:
        """By how much the sum of the squares of all loads falls, were every gap a margin
        narrower.
        """
        eased: Figures = (less * (gaps - less / 2 - self.margin)).sum(axis=0)
        return eased

    def of_all(self, before: Figures, after: Figures) -> bool:
        """The same of several moves that are made together or not at all, by the loads of all nodes
        by resource: on average they narrow gaps that are wider than a margin, and they bring nodes
        nearer to the mean.
        """
        changed = np.abs(before - after).sum(axis=1)
        eased = float((before**2 - after**2).sum() - self.margin * changed.sum())
        apart = np.ptp(before, axis=1)
        widest = int(apart.argmax())
        mean = before[widest].mean()
        nearer = np.abs(before[widest] - mean).sum() - np.abs(after[widest] - mean).sum()
        return bool(
            eased > 0
            and np.ptp(after, axis=1).max() <= apart[widest]
            and nearer >= self.share * changed.max()
        )

    def offered(self, spread: Spread, offers: Offers) -> Mask:
        given, taken = spread.points[:, offers.source], spread.points[:, offers.target]
        return self.of(given, taken, offers.out, offers.into) > 0
