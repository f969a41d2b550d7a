"""What workloads use in the course of a day, learnt from the days before. Pure: `now` is handed in.

A figure for every half hour of some days, of each workload and not of each pod: so pods may come
and go, and what is remembered is bounded. A workload of which the days before do not explain what
it used in the last 24 hours, and in the latest of them, has no rhythm, and of its pods nothing is
foretold. Days are those of
UTC: where clocks on walls are put forward or back, it takes a day until that is learnt.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model.usage import HOURS, Ahead
from rescheduler.observe.usage.samples import Numbers

SLOT_SECONDS: Final = 1800.0
SLOTS: Final = 48
"""Of a day."""
MOST_WORKLOADS: Final = 20_000
"""Of others nothing is learnt: this bounds the memory."""

_LEAST_COMPARED: Final = 3 * SLOTS // 4
"""Slots of the last 24 hours that have to be known of an earlier day, too."""
_LEAST_EXPLAINED: Final = 0.8
"""Share of the variance of the last 24 hours that the days before have to explain."""
_LATEST: Final = SLOTS // 4
_MOST_WRONG: Final = 0.15
"""Of what lies between its highest and its lowest figure: by so much the latest slots may differ
from the days before, in the mean. So a day that is another one is noticed before it is over.
"""
_FLOOR: Final = 0.1
"""Of its highest figure: below that, what a pod uses now says little of what it is like."""
_MOST_TIMES: Final = 3.0
"""What the mean pod of its workload uses, that one may be taken to use."""

_RESOURCES: Final = 2
_Mask = npt.NDArray[np.bool_]
_Past = npt.NDArray[np.float32]


class Rhythms:
    def __init__(self, days: int) -> None:
        self._days = days
        self._rows: dict[str, int] = {}
        self._past: _Past = np.empty((0, days * SLOTS, _RESOURCES), np.float32)
        """By workload, slot and resource, of a mean pod: a ring, in which a slot has its place by
        its number. NaN: nobody knows.
        """
        self._slot = -1
        """That is not over: its figures are added up."""
        self._sums = np.zeros((0, _RESOURCES))
        self._counts = np.zeros(0)

    @property
    def workloads(self) -> Sequence[str]:
        """Of which something is known."""
        return list(self._rows)

    def add(self, workloads: Sequence[str], figures: Numbers, now: float) -> None:
        """What a mean pod of each of these uses now: by workload, cpu and memory."""
        self._turn_to(int(now // SLOT_SECONDS))
        rows = self._rows_of(workloads)
        known = (rows >= 0) & np.isfinite(figures).all(axis=1)
        self._sums[rows[known]] += figures[known]
        self._counts[rows[known]] += 1

    def fill(
        self, workload: str, column: int, slots: Sequence[int], figures: Numbers, now: float
    ) -> None:
        """What somebody else remembers of slots that are over; what we saw ourselves stays."""
        self._turn_to(int(now // SLOT_SECONDS))
        (row,) = self._rows_of([workload])
        if row < 0:
            return
        size, numbers = self._past.shape[1], np.array(slots, np.int64)
        is_kept = (numbers < self._slot) & (numbers > self._slot - size)
        places, told = numbers[is_kept] % size, np.asarray(figures)[is_kept]
        own = self._past[row, places, column]
        self._past[row, places, column] = np.where(np.isnan(own), told, own)

    def with_rhythm(self) -> Sequence[str]:
        """Those whose load repeats, of cpu or of memory."""
        found = np.any(_has_rhythm(self._by_day()), axis=1)
        return [name for name, row in self._rows.items() if found[row]]

    def ahead(
        self,
        workloads: Sequence[str],
        workload_of_pod: npt.NDArray[np.integer],
        cpu: Numbers,
        memory: Numbers,
        now: float,
    ) -> Ahead | None:
        """Of pods with such figures now, each of the workload by this number (-1: of none). None:
        no load repeats.
        """
        self._turn_to(int(now // SLOT_SECONDS))
        past = self._by_day()
        has_rhythm = _has_rhythm(past)
        if not has_rhythm.any():
            return None
        day = np.where(has_rhythm[:, None], _median(past), np.nan)
        # Those without a rhythm, and none at all, find the last row, of which nothing is known.
        nothing = np.full((1, SLOTS, _RESOURCES), np.nan)
        rows = np.array([self._rows.get(name, -1) for name in workloads] + [-1], np.intp)
        at = rows[np.asarray(workload_of_pod)]
        changes = [
            _changes(np.concatenate([day, nothing])[:, :, column], at, own)
            for column, own in enumerate((cpu, memory))
        ]
        if not any(each.any() for each in changes):
            return None
        known = np.isfinite(past[np.any(has_rhythm, axis=1)])
        days = int(np.any(known, axis=(0, 2, 3)).sum())
        return Ahead(cpu=changes[0], memory=changes[1], now=now, days=days)

    # ------------------------------------------------------------------ what is kept

    def _turn_to(self, slot: int) -> None:
        """Closes the slot that is open when another begins. Time does not go back."""
        if slot <= self._slot:
            return
        size = self._past.shape[1]
        if self._slot >= 0:
            with np.errstate(invalid="ignore"):
                self._past[:, self._slot % size] = self._sums / self._counts[:, None]
            skipped = np.arange(max(self._slot + 1, slot - size), slot) % size
            self._past[:, skipped] = np.nan
            if slot // SLOTS != self._slot // SLOTS:
                self._forget_the_gone()
        self._slot = slot
        self._past[:, slot % size] = np.nan
        self._sums[:], self._counts[:] = 0.0, 0.0

    def _forget_the_gone(self) -> None:
        is_known: _Mask = np.any(np.isfinite(self._past), axis=(1, 2))
        if is_known.all():
            return
        names = [name for name, row in self._rows.items() if is_known[row]]
        kept = [self._rows[name] for name in names]
        self._rows = {name: row for row, name in enumerate(names)}
        self._past, self._sums = self._past[kept], self._sums[kept]
        self._counts = self._counts[kept]

    def _rows_of(self, workloads: Sequence[str]) -> npt.NDArray[np.intp]:
        for name in workloads:
            if name not in self._rows and len(self._rows) < MOST_WORKLOADS:
                self._rows[name] = len(self._rows)
        more = len(self._rows) - len(self._past)
        if more:
            empty = np.full((more, *self._past.shape[1:]), np.nan, np.float32)
            self._past = np.concatenate([self._past, empty])
            self._sums = np.concatenate([self._sums, np.zeros((more, _RESOURCES))])
            self._counts = np.concatenate([self._counts, np.zeros(more)])
        return np.array([self._rows.get(name, -1) for name in workloads], np.intp)

    def _by_day(self) -> _Past:
        """By workload, day (the last 24 hours first), slot (from now on as of that day) and
        resource.
        """
        size = self._past.shape[1]
        ordered: _Past = self._past[:, np.arange(self._slot, self._slot + size) % size]
        by_day: _Past = ordered.reshape(len(ordered), self._days, SLOTS, _RESOURCES)
        return by_day[:, ::-1]


# ---------------------------------------------------------------------- what it says


def _has_rhythm(past: _Past) -> _Mask:
    """By workload and resource."""
    found: _Mask = (_explained(past) >= _LEAST_EXPLAINED) & (_wrong(past) <= _MOST_WRONG)
    return found


def _explained(past: _Past) -> Numbers:
    """By workload and resource."""
    seen, told = past[:, 0].astype(np.float64), _median(past[:, 1:])
    both = np.isfinite(seen) & np.isfinite(told)
    counts = both.sum(axis=1)
    mean = np.where(both, seen, 0.0).sum(axis=1) / np.maximum(counts, 1)
    wrong = np.where(both, np.square(seen - told), 0.0).sum(axis=1)
    varied = np.where(both, np.square(seen - mean[:, None]), 0.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained: Numbers = np.where(
            (counts >= _LEAST_COMPARED) & (varied > 0), 1 - wrong / varied, np.nan
        )
    return explained


def _wrong(past: _Past) -> Numbers:
    """By workload and resource: how far off the days before are from the latest slots, in parts of
    the swing of the last 24 hours.
    """
    seen, told = past[:, 0].astype(np.float64), _median(past[:, 1:])
    swing = _highest(seen) + _highest(-seen)
    off = np.square(seen - told)[:, -_LATEST:]
    known = np.isfinite(off)
    squares = np.where(known, off, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong: Numbers = np.where(known.any(axis=1), np.sqrt(squares) / swing, np.inf)
    return wrong


def _highest(figures: Numbers) -> Numbers:
    found: Numbers = np.max(figures, axis=1, initial=-np.inf, where=np.isfinite(figures))
    return found


def _median(past: _Past) -> Numbers:
    """Of the days: so one that was like no other is passed over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of slots that no day knows
        found: Numbers = np.nanmedian(past.astype(np.float64), axis=1)
    return found


def _changes(day: Numbers, at: npt.NDArray[np.intp], own: Numbers) -> npt.NDArray[np.float32]:
    """By moment and pod: what it will use more than now. A pod that uses more than the mean one of
    its workload does so all day.
    """
    # The slot that is not over has been seen on the days before: the figure of this time of day.
    now = day[:, 0]
    with np.errstate(invalid="ignore"):
        least = _FLOOR * np.max(np.nan_to_num(day), axis=1)
        times = np.clip((own + least[at]) / (now + least)[at], 0.0, _MOST_TIMES)
    changes = np.zeros((len(HOURS), len(at)), np.float32)
    for number, hours in enumerate(HOURS):
        slot = math.floor(hours * 3600 / SLOT_SECONDS)
        more = np.nan_to_num((day[:, slot] - now)[at] * times)
        changes[number] = np.maximum(more, -own)
    return changes
