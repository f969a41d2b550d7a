"""A figure for every pod: measured and smoothed, or guessed. Pure.

A few numbers a pod and no samples, for those of all pods over a window would take many times the
memory. Rows are those of the last placement; from one to the next most keep their place.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.samples import (
    Identities,
    Measured,
    Numbers,
    identities,
    identity,
    usable,
)

_NOBODY: Final = 0
"""The identity of the empty UID: a free row, or a pod that is not there yet."""
_MOST_COUNTED: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Departed:
    """Pods that left their node, one row each."""

    uid: Identities
    node: Identities
    started: Numbers
    left: Numbers
    """When it was found to be gone: the latest that it can have been. This is looked for at every
    sample, so no more than one sample can be taken for one that still held it.
    """
    cpu: Numbers
    memory: Numbers

    def only(self, which: npt.NDArray[np.bool_]) -> "Departed":
        return Departed(**{name: getattr(self, name)[which] for name in self.__slots__})

    def and_also(self, others: "Departed") -> "Departed":
        return Departed(
            **{
                name: np.concatenate([getattr(self, name), getattr(others, name)])
                for name in self.__slots__
            }
        )


def _nobody() -> Departed:
    whole, real = np.empty(0, np.int64), np.empty(0)
    return Departed(uid=whole, node=whole, started=real, left=real, cpu=real, memory=real)


class PodFigures:
    def __init__(self, window_seconds: float) -> None:
        self._window_seconds = window_seconds
        self._uids: Identities = np.empty(0, np.int64)
        self._uid_texts: Sequence[str] = ()
        self._nodes: Identities = np.empty(0, np.int64)
        """Of the pods' nodes, by row; 0: on none."""
        self._started = np.empty(0)
        self._names: Sequence[str] = ()
        self._own: dict[str, npt.NDArray[Any]] = {
            # float32 is exact to a ten-millionth. NaN: there is none.
            "cpu": np.empty(0, np.float32),
            "memory": np.empty(0, np.float32),
            "at": np.empty(0),
            # 0: what is there was inherited, and gives way to the first sample.
            "samples": np.empty(0, np.uint8),
        }
        self.cpu = np.empty(0)
        self.memory = np.empty(0)
        """The best figure of every pod, by row of the last placement."""
        self.departed = _nobody()

    # ------------------------------------------------------------------ where pods are

    def follow(self, placement: Placement, nodes: Identities, now: float) -> None:
        """Bring the rows in the order of the placement, and note which pods have left."""
        uids = self._identities_of_uids(placement.pod_uids)
        on = np.append(nodes, 0)[placement.pod_nodes]
        started = np.asarray(placement.pod_started, np.float64)
        before = _matched(self._uids, uids)
        kept = before >= 0
        has_left = (self._uids != _NOBODY) & (self._nodes != 0)
        has_left[before[kept][on[kept] != 0]] = False
        self._note_departures(np.flatnonzero(has_left), now)
        was_on_none = np.append(self._nodes, 0)[before] == 0  # -1, which is no row, finds the 0
        self._forget_departures_of(uids[(on != 0) & was_on_none])
        if len(before) != len(self._uids) or not np.array_equal(before, np.arange(len(before))):
            for name, old in self._own.items():
                new = np.full(len(uids), 0 if name == "samples" else np.nan, old.dtype)
                new[kept] = old[before[kept]]
                self._own[name] = new
        self._uids, self._nodes, self._started = uids, on, started
        self._names = placement.pod_names

    def complete(self, placement: Placement) -> None:
        """Give every pod of the placement that is followed its best figure."""
        self._inherit(placement.replaces)
        self._guess(placement)

    def forget_departed_before(self, time: float) -> None:
        self.departed = self.departed.only(self.departed.left >= time)

    def _identities_of_uids(self, uids: Sequence[str]) -> Identities:
        """Most rows hold the same text as before, and comparing where it lies is much faster than
        looking into it.
        """
        old, self._uid_texts = self._uid_texts, uids
        if old is uids:
            return self._uids
        common = min(len(old), len(uids))
        is_other = np.fromiter(map(operator.is_not, old, uids), np.bool_, common)
        found = np.empty(len(uids), np.int64)
        found[:common] = self._uids[:common]
        for row in np.flatnonzero(is_other).tolist():
            found[row] = identity(uids[row])
        found[common:] = identities(uids[common:])
        return found

    def _note_departures(self, rows: npt.NDArray[np.intp], now: float) -> None:
        if len(rows):
            gone = Departed(
                uid=self._uids[rows],
                node=self._nodes[rows],
                started=_or_never(self._started[rows]),
                left=np.full(len(rows), now),
                cpu=_or(self._own["cpu"][rows], self.cpu[rows]),
                memory=_or(self._own["memory"][rows], self.memory[rows]),
            )
            self.departed = self.departed.and_also(gone)

    def _forget_departures_of(self, uids: Identities) -> None:
        """They are back: with their node, or with what we may see."""
        if len(uids) and len(self.departed.uid):
            self.departed = self.departed.only(~np.isin(self.departed.uid, uids))

    # ------------------------------------------------------------------ what they use

    def add(self, measured: Measured, now: float) -> None:
        """Smooth a sample in: the mean of a pod's first samples, then older ones fade away."""
        found, rows = self._rows_of(measured)
        own, started = self._own, self._started[rows]
        at = np.minimum(measured.at[found], now)
        # Sources know pods by name: before its start, that was another pod with this name.
        is_own = (started > 0) & (at - measured.span[found] >= started)
        is_new = ~(at <= own["at"][rows])  # true for NaN, too
        found, rows, at = (each[is_own & is_new] for each in (found, rows, at))
        samples = own["samples"][rows].astype(np.float64)
        fading = -np.expm1(-(at - own["at"][rows]) / self._window_seconds)
        weight = np.where(samples == 0, 1.0, np.fmax(1 / (samples + 1), fading))
        for name, figures in (("cpu", measured.cpu[found]), ("memory", measured.memory[found])):
            old = np.where(samples == 0, 0.0, own[name][rows])
            own[name][rows] = old + weight * (figures - old)
        own["at"][rows] = at
        own["samples"][rows] = np.minimum(samples + 1, _MOST_COUNTED)

    def measured_since(self, time: float) -> npt.NDArray[np.bool_]:
        return np.asarray(self._own["at"] >= time)

    def _rows_of(self, measured: Measured) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Places in the sample, and the rows of their pods; what can be used only."""
        if not len(measured) or not len(self._uids):
            return np.empty(0, np.intp), np.empty(0, np.intp)
        names = identities(self._names, len(self._uids))
        order = np.argsort(measured.who)
        places = np.searchsorted(measured.who, names, sorter=order)
        places = order[np.minimum(places, len(order) - 1)]
        fits = measured.who[places] == names
        fits &= usable(measured, zero_is_fine=True)[places]
        return places[fits], np.flatnonzero(fits)

    # ------------------------------------------------------------------ best guesses

    def _inherit(self, replaces: Mapping[int, str]) -> None:
        """A copy that was never measured uses what its original uses, or used to the last."""
        own = self._own
        copies = {row: identity(uid) for row, uid in replaces.items() if np.isnan(own["cpu"][row])}
        if not copies:
            return
        originals = np.fromiter(copies.values(), np.int64, len(copies))
        left, there = np.isin(self.departed.uid, originals), np.isin(self._uids, originals)
        figures = {
            uid: (cpu, memory)
            for uids, cpus, memories in (
                (self.departed.uid[left], self.departed.cpu[left], self.departed.memory[left]),
                (self._uids[there], own["cpu"][there], own["memory"][there]),
            )
            for uid, cpu, memory in zip(
                uids.tolist(), cpus.tolist(), memories.tolist(), strict=True
            )
        }
        for row, original in copies.items():
            if original in figures:
                own["cpu"][row], own["memory"][row] = figures[original]

    def _guess(self, placement: Placement) -> None:
        """Complete the figures: the mean of the owner's pods, else what the pod asks for."""
        is_missing = np.isnan(self._own["cpu"])
        rows = np.flatnonzero(is_missing)
        owners = placement.pod_owners
        wanted = np.unique(owners[rows])
        siblings = np.flatnonzero(~is_missing & np.isin(owners, wanted) & (owners >= 0))
        place = np.searchsorted(wanted, owners[siblings])
        counts = np.bincount(place, minlength=len(wanted))
        figures = []
        for name, requests in (
            ("cpu", placement.cpu_requests),
            ("memory", placement.memory_requests),
        ):
            best = self._own[name].astype(np.float64)
            sums = np.bincount(place, weights=best[siblings], minlength=len(wanted))
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
            guessed = means[np.searchsorted(wanted, owners[rows])]
            best[rows] = np.where(np.isnan(guessed), requests[rows], guessed)
            figures.append(best)
        self.cpu, self.memory = figures


def _matched(old: Identities, new: Identities) -> npt.NDArray[np.intp]:
    """For every new row the old one of the same pod, or -1. Few pods change their place, so only
    those are searched for.
    """
    before = np.full(len(new), -1, np.intp)
    common = min(len(old), len(new))
    stayed = np.flatnonzero((old[:common] == new[:common]) & (new[:common] != _NOBODY))
    before[stayed] = stayed
    searched = np.flatnonzero((before < 0) & (new != _NOBODY))
    is_free = old != _NOBODY
    is_free[stayed] = False
    free = np.flatnonzero(is_free)
    if len(searched) and len(free):
        free = free[np.argsort(old[free])]
        places = np.minimum(np.searchsorted(old[free], new[searched]), len(free) - 1)
        fits = old[free[places]] == new[searched]
        before[searched[fits]] = free[places[fits]]
    return before


def _or_never(started: Numbers) -> Numbers:
    """0 means that it has not started: it is in no sample."""
    return np.where(started > 0, started, np.inf)


def _or(figures: npt.NDArray[np.float32], others: Numbers) -> Numbers:
    return np.where(np.isnan(figures), others, figures)
