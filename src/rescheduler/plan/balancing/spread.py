"""How unevenly nodes are loaded, and what single moves would make of it.

Figures stand here by resource first, then by node or move: so each resource is one run of numbers.
"""

from typing import Final, Self

import numpy as np
import numpy.typing as npt

from rescheduler.plan.loads import Figures

Places = npt.NDArray[np.intp]
"""Numbers of rows: of nodes that take part, of pods that were looked at."""

_WHOLE: Final = 0.05
"""What the spread of all nodes weighs beside the gap between the two at the ends. Little: it
decides between moves that leave the same gap, which on a large cluster most do. Of both resources
together, so that the one which is spread wider counts for more.
"""
_ENDS: Final = 3
"""A move changes two nodes: the third from an end is the end of all others at worst."""


class Spread:
    """Of the nodes that take part; changes as moves are tried out."""

    def __init__(self, points: Figures) -> None:
        self.points = points.copy()
        """By resource and node: the load in per cent of allocatable."""
        self._others = 0
        """Nodes that no move touches, and what their loads add up to."""
        self._total: Figures = np.zeros(len(points))
        self._squares: Figures = np.zeros(len(points))

    @classmethod
    def of_some(cls, points: Figures, some: Places) -> Self:
        """Moves are between these nodes only, which are numbered anew, in this order."""
        others = np.ones(points.shape[1], np.bool_)
        others[some] = False
        ends = _ends(points, np.flatnonzero(others))
        others[ends] = False
        spread = cls(points[:, np.concatenate([some, ends])])
        rest = points[:, others]
        spread._others = rest.shape[1]
        spread._total = rest.sum(axis=1)
        spread._squares = (rest**2).sum(axis=1)
        return spread

    @property
    def nodes(self) -> int:
        return len(self.points[0]) + self._others

    @property
    def imbalance(self) -> float:
        """The most minus the least used node, of the resource of which that is more."""
        return float((self.points.max(axis=1) - self.points.min(axis=1)).max())

    @property
    def score(self) -> float:
        """What is to be lowered: the imbalance, and a little of the spread of all nodes."""
        count = self.nodes
        mean = (self.points.sum(axis=1) + self._total) / count
        squares = ((self.points**2).sum(axis=1) + self._squares) / count
        whole = np.sqrt(np.maximum(squares - mean**2, 0.0).sum())
        return self.imbalance + _WHOLE * float(whole)

    def move(self, source: int, target: int, out: Figures, into: Figures) -> None:
        self.points[:, source] -= out
        self.points[:, target] += into

    def scores_after(self, source: Places, target: Places, out: Figures, into: Figures) -> Figures:
        """The score that each of these moves alone would leave."""
        count = self.nodes
        gap = np.zeros(len(source))
        whole = np.zeros(len(source))
        for resource, points in enumerate(self.points):
            given, taken = points[source], points[target]
            less, more = given - out[resource], taken + into[resource]
            most = -_least_of_others(-points, source, target)
            least = _least_of_others(points, source, target)
            np.maximum(most, np.maximum(less, more), out=most)
            np.minimum(least, np.minimum(less, more), out=least)
            np.maximum(gap, most - least, out=gap)
            squares = (points**2).sum() + self._squares[resource]
            squares = squares + less**2 + more**2 - given**2 - taken**2
            total = points.sum() + self._total[resource]
            mean = (total + less + more - given - taken) / count
            whole += np.maximum(squares / count - mean**2, 0.0)
        scores: Figures = gap + _WHOLE * np.sqrt(whole)
        return scores


def _ends(points: Figures, nodes: Places) -> Places:
    """Of these nodes, the most and the least loaded of either resource."""
    if not len(nodes):
        return nodes
    found = [nodes[end] for each in points[:, nodes] for end in (each.argmax(), each.argmin())]
    return np.unique(np.array(found, np.intp))


def _least_of_others(points: Figures, source: Places, target: Places) -> Figures:
    """By move: the least of all nodes but its own two."""
    few = min(_ENDS, len(points))
    ends = np.argpartition(points, few - 1)[:few]
    found = np.full(len(source), np.inf)
    # The least comes last, and stays where it is not one of the two.
    for end in ends[np.argsort(-points[ends], kind="stable")]:
        found = np.where((source == end) | (target == end), found, points[end])
    return found
