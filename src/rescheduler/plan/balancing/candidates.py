"""Pods of the most loaded nodes, and where they could go: the offers among which is chosen.

On a large cluster only few pods can be looked at closely: those whose leaving helps most, of the
nodes at the ends. On a small one all are: what helps nothing now may when others have moved.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np

from rescheduler.model.columns import NONE
from rescheduler.plan.balancing.offers import Offers, Worth
from rescheduler.plan.balancing.patience import why_it_waits
from rescheduler.plan.balancing.spread import Places
from rescheduler.plan.balancing.taking_part import may_take
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import Figures, Mask
from rescheduler.plan.nowhere import why_nowhere

_ASKED: Final = 300_000
"""Nodes that are asked about in all, each for one pod: what bounds the time on a large cluster."""
_LEAST: Final = 48
_MOST: Final = 160
"""Pods that are looked at closely, however large or small the cluster is."""
_SOURCES: Final = 16
_MORE: Final = 4
"""Nodes from which pods are looked at: at least so many, and so many more than there may be moves,
as some have no pods that could go.
"""
_COLDEST: Final = 50
"""Nodes among which the best for a pod is sought: those that take it with the least load, by cpu,
by memory, and by both.
"""
_OFFERS: Final = 1_200
"""In all: each pod brings those that gain most."""
_TWINS: Final = 2
"""Pods of one node that are alike: more of them offer nothing new but more of the same, and are
looked at after all others.
"""
_EXPLAINED: Final = 20
"""Pods for which every node is asked why it does not take them."""

_Kind = tuple[int, int, float, float]
"""Class, owner, cpu and memory: pods of which these are the same are alike."""


@dataclass(slots=True)
class Looked:
    """What was found."""

    rows: list[int] = field(default_factory=list)
    """Of pods that could move alone."""
    groups: list[int] = field(default_factory=list)
    """Of pods that would take others with them."""
    offers: Offers | None = None


class Looking:
    def __init__(self, desk: Desk, part: Mask, worth: Worth, most: int) -> None:
        self.nodes: Places = np.flatnonzero(part)
        self.points: Figures = np.ascontiguousarray(desk.loads.series[self.nodes].T)
        """By resource, now and later, and node that takes part."""
        self._desk = desk
        self._part = part
        self._worth = worth
        self._most = most
        """Moves that there may be."""
        self._low = self.points.min(axis=1, keepdims=True)
        capacity = desk.loads.of_all_moments(desk.loads.capacity[self.nodes])
        self._capacity: Figures = np.ascontiguousarray(capacity.T)
        self._largest = self._capacity.max(axis=1, keepdims=True)
        self._pods = int(np.clip(_ASKED // max(len(self.nodes), 1), _LEAST, _MOST))
        places = desk.placement.place[desk.snapshot.rows]
        self._is_small = int(part[places[places != NONE]].sum()) <= _MOST
        self._coldest_first = [
            np.argsort(order, kind="stable") for order in (*self.points, self.points.max(axis=0))
        ]
        """By cpu, by memory, by both."""
        self._explained = 0

    def look(self) -> Looked:
        found = Looked()
        targets: list[Places] = []
        sources = self._sources()
        for place in sources.tolist():
            room = _MOST if self._is_small else max(self._pods // len(sources), 2)
            for row in islice(self._may_go(self._promising(place)), room):
                if len(self._desk.unit(row)) > 1:
                    found.groups.append(row)
                    continue
                best = self._targets(row, place)
                if len(best):
                    found.rows.append(row)
                    targets.append(best)
        found.offers = self._columns(found.rows, targets)
        return found

    def _sources(self) -> Places:
        """Those from which something could be moved, the most loaded of either resource in turn."""
        above = (self.points - self._low > self._worth.floor).any(axis=0)
        turns = np.stack([np.argsort(-each, kind="stable") for each in self.points], axis=1).ravel()
        _, first = np.unique(turns, return_index=True)
        ordered: Places = turns[np.sort(first)]
        if self._is_small:
            return ordered
        ordered = ordered[above[ordered]]
        return ordered[: max(self._most + _MORE, _SOURCES)]

    def _may_go(self, rows: Sequence[int]) -> Iterator[int]:
        """Those of them that may move, and of those that are alike few before all others. Who has
        to stay takes the place of nobody: the others like it may be all that can go.
        """
        seen = Counter[_Kind]()
        later = []
        for row in rows:
            kind = self._kind(row)
            if seen[kind] >= _TWINS:
                later.append((row, kind))
            elif self._may_move(row):
                seen[kind] += 1
                yield row
        for row, kind in later:
            if seen[kind] < self._most and self._may_move(row):
                seen[kind] += 1
                yield row

    def _may_move(self, row: int) -> bool:
        reasons = self._desk.why_it_stays(row)
        if reasons:
            self._desk.refuse(row, reasons)
        return not reasons

    def _kind(self, row: int) -> _Kind:
        pods = self._desk.snapshot.pods
        cpu, memory = self._desk.loads.of_pod[row].tolist()
        return int(pods.pod_class[row]), int(pods.owner[row]), cpu, memory

    def _promising(self, place: int) -> Sequence[int]:
        """Rows on this node whose leaving for the least loaded would help, the best first: low
        priority among those that help at least half as much as the best.
        """
        desk = self._desk
        rows = np.array(desk.placement.rows_on(int(self.nodes[place])), np.intp)
        if not len(rows):
            return []
        amounts = 100 * desk.loads.series_of(rows).T
        out, least_into = amounts / self._capacity[:, [place]], amounts / self._largest
        gaps = self.points[:, [place]] - self._low
        gained = np.maximum(
            self._worth.of(self.points[:, [place]], self._low, out, out),
            self._worth.of(self.points[:, [place]], self._low, out, least_into),
        )
        # Of nodes that nobody would relieve, nobody asks why their pods stay.
        if (gaps > self._worth.floor).any():
            for number in np.flatnonzero(gained <= 0).tolist():
                less = out[:, number] + least_into[:, number]
                self._refuse_useless(int(rows[number]), gaps[:, 0], less)
        useful = np.flatnonzero(out.any(axis=0) if self._is_small else gained > 0)
        half = gained.max() / 2

        def rank(number: int) -> tuple[bool, int, float, str]:
            row, gain = int(rows[number]), float(gained[number])
            return gain < half, desk.priority(row), -gain, desk.name(row)

        return [int(rows[number]) for number in sorted(useful.tolist(), key=rank)]

    def _targets(self, row: int, place: int) -> Places:
        """Places of the nodes to which it is worth moving it."""
        takes = may_take(self._desk, row, self._part)[self.nodes]
        coldest = [order[takes[order]][:_COLDEST] for order in self._coldest_first]
        able = np.unique(np.concatenate(coldest))
        given, taken = self.points[:, [place]], self.points[:, able]
        out, into = self._into(row, np.array([place])), self._into(row, able)
        gained = self._worth.of(given, taken, out, into)
        known = row in self._desk.refused
        if not known and not gained.any() and (given - self._low > self._worth.floor).any():
            self._refuse(row, place, takes)
        rank = -self._worth.eased(given - taken, out + into)
        if not self._is_small:
            able, rank = able[gained > 0], rank[gained > 0]
        few = max(_OFFERS // self._pods, self._most)
        return able[np.lexsort((able, rank))[:few]]

    def _into(self, row: int, places: Places) -> Figures:
        """The points that it adds to these nodes."""
        points: Figures = 100 * self._desk.loads.series_of([row]).T / self._capacity[:, places]
        return points

    def _columns(self, rows: list[int], targets: list[Places]) -> Offers | None:
        if not rows:
            return None
        desk = self._desk
        pod = np.repeat(np.arange(len(rows)), [len(each) for each in targets])
        at = np.full(len(desk.nodes), NONE, np.intp)
        at[self.nodes] = np.arange(len(self.nodes))
        homes = at[desk.placement.place[rows]]
        nodes, numbered = np.unique(np.concatenate([homes, *targets]), return_inverse=True)
        source, target = numbered[: len(rows)][pod], numbered[len(rows) :]
        amounts = 100 * desk.loads.series_of(rows)[pod].T
        return Offers(
            nodes=nodes,
            pod=pod,
            source=source,
            target=target,
            out=amounts / self._capacity[:, nodes[source]],
            into=amounts / self._capacity[:, nodes[target]],
            priority=np.array([desk.priority(row) for row in rows], np.intp)[pod],
            asks=np.stack([desk.placement.asks(row) for row in rows]),
            free=desk.placement.free[self.nodes[nodes]],
        )

    # ------------------------------------------------------------------ why not

    def _refuse_useless(self, row: int, gaps: Figures, less: Figures) -> None:
        if not less.any():
            self._desk.refuse(row, ["it uses nothing that counts: no load would change"])
            return
        before, after = float(np.abs(gaps).max()), float(np.abs(gaps - less).max())
        waits = why_it_waits(self._desk, gaps, less, "")
        self._desk.refuse(row, [waits or no_gain(before, after)])

    def _refuse(self, row: int, place: int, takes: Mask) -> None:
        able = np.flatnonzero(takes)
        if len(able):
            gaps = self.points[:, [place]] - self.points[:, able]
            before = np.abs(gaps).max(axis=0)
            best = int(before.argmax())
            less = self._into(row, np.array([place, able[best]])).sum(axis=1)
            after = float(np.abs(gaps[:, best] - less).max())
            where = f"to {self._desk.nodes[self.nodes[able[best]]].name} "
            waits = why_it_waits(self._desk, gaps[:, best], less, where)
            self._desk.refuse(row, [waits or no_gain(float(before[best]), after, where)])
        elif self._explained < _EXPLAINED and len(self.nodes) * self._explained < _ASKED // 100:
            self._explained += 1
            self._desk.refuse(row, [why_nowhere(self._desk, row, balancing=True, evening=True)])
        else:
            self._desk.refuse(row, ["no node takes it"])


def no_gain(before: float, after: float, where: str = "") -> str:
    if after >= before:
        return (
            f"moving it {where}would leave a gap of {after:.1f} points where there are {before:.1f}"
        )
    return (
        f"moving it {where}would narrow a gap of {before:.1f} points to {after:.1f}: not enough to "
        "outlast noise, or at the cost of a node above its threshold"
    )
