"""From samples and the present placement to figures of usage. Pure: `now` is handed in.

A sample tells what a node used with the pods that it had then. It is corrected to those that it has
now, so that a node which has just been relieved does not look hot, and one that has just been given
pods does not look idle.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from rescheduler.config import UsageSettings
from rescheduler.documents import durations
from rescheduler.model.usage import Usage
from rescheduler.model.usage_sources import REQUESTS
from rescheduler.observe.usage.node_samples import (
    CLOCKS_MAY_DIFFER_SECONDS,
    NEVER,
    NodeSamples,
    Window,
)
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.pod_figures import PodFigures
from rescheduler.observe.usage.samples import Identities, Numbers, Sample, identities

# Where CPU was measured at a moment, a pod is in the sample or not: a very short span says so.
_MOMENT_SECONDS = 1e-3
# Usage is of the whole machine, of which `allocatable` may be a small part: 940m of two cores in a
# cloud, and less where an operator reserves more. Under full load such a node is the hottest of
# all, and must not be taken for unknown. What is to be caught are wrong units: wrong by a thousand.
_MOST_TIMES_ALLOCATABLE = 10.0
_RESERVED_MILLICORES = 8000.0
_RESERVED_BYTES = 32.0 * 2**30
# How long before it is told a sample may have begun.
_LATEST_TOLD_SECONDS = 300.0


class History:
    def __init__(self, settings: UsageSettings, source: str) -> None:
        self._settings = settings
        self._source = source
        # As many as the window holds, and one at each border.
        capacity = math.ceil(settings.window_seconds / settings.interval_seconds) + 2
        self._nodes = NodeSamples(capacity)
        self._pods = PodFigures(settings.window_seconds)
        self._waiting: tuple[Sample, float] | None = None
        self._has_placement = False
        self._answered = False
        self._failing_since = 0.0
        self._failure = ""

    def add(self, sample: Sample, now: float) -> Mapping[str, str]:
        """Take in what the source said; gives what was wrong with it, as `Sample.findings`."""
        self._answered, self._failure = True, ""
        self._nodes.add(sample.nodes, now)
        if self._has_placement:
            self._pods.add(sample.pods, now)
        else:
            # Figures of pods are kept by row, and there are no rows yet.
            self._waiting = sample, now
        return {**sample.findings, **_clocks(sample, now)}

    def fail(self, why: str, now: float) -> None:
        """The source did not answer."""
        if not self._failure:
            self._failing_since = now
        self._failure = why

    @property
    def follows(self) -> bool:
        """Whether it matters who comes and leaves: what pods ask for is always of this moment."""
        return self._source != REQUESTS

    def follow(self, placement: Placement, now: float) -> None:
        """Note who came and who left. Who left counts as there until this is told, so it has to be
        told at every sample.
        """
        if placement.unseen or not self.follows:
            return
        nodes = identities(placement.nodes, len(placement.nodes))
        self._nodes.follow(nodes)
        self._pods.follow(placement, nodes, now)
        if self._waiting:
            sample, at = self._waiting
            self._pods.add(sample.pods, at)
            self._waiting = None
        self._has_placement = True
        self._pods.complete(placement)
        window = self._nodes.window(nodes)
        self._pods.forget_departed_before(_oldest_moment(window, self._is_recent(window, now), now))

    def of_pods(self, now: float) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
        """By row of the placement that was told last: cpu, memory, and whether they are measured,
        and fresh.
        """
        measured = self._pods.measured_since(now - self._settings.max_age_seconds)
        return self._pods.cpu, self._pods.memory, measured

    def usage(self, placement: Placement, now: float) -> Usage:
        if placement.unseen:
            return unknown(placement, self._source, f"{placement.unseen} are not seen")
        if self._source == REQUESTS:
            return _requested(placement, now)
        self.follow(placement, now)
        nodes = identities(placement.nodes, len(placement.nodes))
        window = self._nodes.window(nodes)
        is_recent = self._is_recent(window, now)
        counts = is_recent & ~_too_much(window, placement)
        self._correct(window, counts, placement, nodes)
        claims_too_much = np.asarray((is_recent & ~counts).any(axis=1))
        reasons = dict(self._unknown(window, counts, claims_too_much, placement, now))
        return self._usage(window, counts, reasons, now)

    def _is_recent(self, window: Window, now: float) -> npt.NDArray[np.bool_]:
        return window.at > now - self._settings.window_seconds

    # ------------------------------------------------------------------ to the present placement

    def _correct(
        self,
        window: Window,
        counts: npt.NDArray[np.bool_],
        placement: Placement,
        nodes: Identities,
    ) -> None:
        self._add_who_came(window, counts, placement)
        self._take_out_who_leaves(window, counts, placement)
        self._take_out_who_left(window, counts, nodes)
        # What left may have used less at the time of the sample than we know of.
        np.maximum(window.cpu, 0, out=window.cpu)
        np.maximum(window.memory, 0, out=window.memory)

    def _add_who_came(
        self,
        window: Window,
        counts: npt.NDArray[np.bool_],
        placement: Placement,
    ) -> None:
        earliest = np.min(window.at - window.span, initial=np.inf, where=counts)
        started = _started(placement)
        rows = np.flatnonzero(_stays(placement) & (started > earliest))
        on, started = placement.pod_nodes[rows], started[rows]
        cpu, memory = self._pods.cpu[rows], self._pods.memory[rows]
        for column in _used_columns(counts) if len(rows) else ():
            at, span = _of_sample(window, column, on)
            missing = np.clip((started - at) / span + 1, 0, 1)
            _add(window.cpu, column, on, cpu * missing)
            _add(window.memory, column, on, memory * (started > at))

    def _take_out_who_leaves(
        self, window: Window, counts: npt.NDArray[np.bool_], placement: Placement
    ) -> None:
        if placement.pod_leaving is None:
            return
        rows = np.flatnonzero((placement.pod_nodes >= 0) & placement.pod_leaving)
        on, started = placement.pod_nodes[rows], _started(placement)[rows]
        cpu, memory = self._pods.cpu[rows], self._pods.memory[rows]
        for column in _used_columns(counts) if len(rows) else ():
            at, span = _of_sample(window, column, on)
            is_in = np.clip((at - started) / span, 0, 1)
            _add(window.cpu, column, on, -cpu * is_in)
            _add(window.memory, column, on, -memory * (started <= at))

    def _take_out_who_left(
        self, window: Window, counts: npt.NDArray[np.bool_], nodes: Identities
    ) -> None:
        gone = self._pods.departed
        if not len(gone.uid) or not len(nodes):
            return
        order = np.argsort(nodes)
        places = np.minimum(np.searchsorted(nodes, gone.node, sorter=order), len(nodes) - 1)
        is_there = nodes[order[places]] == gone.node
        gone, on = gone.only(is_there), order[places][is_there]
        for column in _used_columns(counts):
            at, span = _of_sample(window, column, on)
            # Differences to its time first: those of whole times lose the fractions of a second.
            until, since = np.minimum(gone.left - at, 0), np.maximum(gone.started - at, -span)
            _add(window.cpu, column, on, -gone.cpu * np.clip((until - since) / span, 0, 1))
            is_in = (gone.started <= at) & (at < gone.left)
            _add(window.memory, column, on, -gone.memory * is_in)

    # ------------------------------------------------------------------ what to believe

    def _unknown(
        self,
        window: Window,
        counts: npt.NDArray[np.bool_],
        claims_too_much: npt.NDArray[np.bool_],
        placement: Placement,
        now: float,
    ) -> Iterator[tuple[int, str]]:
        newest = np.max(window.at, axis=1, initial=NEVER)
        samples = counts.sum(axis=1)
        is_stale = newest < now - self._settings.max_age_seconds
        for row in np.flatnonzero(is_stale | (samples < self._settings.debounce)).tolist():
            nonsense = self._nodes.nonsense(hash(placement.nodes[row]))
            if nonsense:
                cpu, memory = nonsense
                yield (
                    row,
                    (
                        f"{self._source} gives figures that cannot be true "
                        f"(cpu {cpu:g}m, memory {memory:g} bytes)"
                    ),
                )
            elif newest[row] == NEVER:
                yield row, f"{self._source} has given no figure of it"
            elif is_stale[row]:
                yield row, f"its newest figure is {_text(now - newest[row])} old"
            elif claims_too_much[row]:
                yield row, f"{self._source} gives figures that are far more than the node has"
            else:
                yield row, f"only {samples[row]} of {self._settings.debounce} samples are there"

    def _usage(
        self,
        window: Window,
        counts: npt.NDArray[np.bool_],
        unknown: Mapping[int, str],
        now: float,
    ) -> Usage:
        cpu, memory = (
            _percentile(figures, counts, self._settings.percentile)
            for figures in (window.cpu, window.memory)
        )
        rows = list(unknown)
        cpu[rows] = memory[rows] = np.nan
        outage = self._outage(unknown, now) if len(unknown) == len(cpu) > 0 else ""
        pod_cpu, pod_memory = self._pods.cpu, self._pods.memory
        measured = self._pods.measured_since(now - self._settings.max_age_seconds)
        if outage:
            pod_cpu = pod_memory = np.full(len(pod_cpu), np.nan)
            measured = np.zeros(len(pod_cpu), np.bool_)
        newest = float(np.max(window.at, initial=NEVER))
        return Usage(
            source=self._source,
            as_of=newest if newest > NEVER else math.nan,
            node_cpu=cpu,
            node_memory=memory,
            pod_cpu=pod_cpu,
            pod_memory=pod_memory,
            pod_measured=measured,
            unknown_nodes=unknown,
            node_since=_since(window, counts, self._settings.debounce),
            outage=outage,
        )

    def _outage(self, unknown: Mapping[int, str], now: float) -> str:
        if self._failure:
            since = _text(now - self._failing_since)
            return f"{self._source} has not answered for {since}: {self._failure}"
        if not self._answered:
            return f"{self._source} has not been asked yet"
        ((reason, _),) = Counter(unknown.values()).most_common(1)
        return f"no node is known: {reason}"


def _stays(placement: Placement) -> npt.NDArray[np.bool_]:
    """Which pods are on a node, and not on their way out."""
    is_there = placement.pod_nodes >= 0
    return is_there if placement.pod_leaving is None else is_there & ~placement.pod_leaving


def _started(placement: Placement) -> Numbers:
    started = np.asarray(placement.pod_started, np.float64)
    return np.where(started > 0, started, np.inf)


def _too_much(window: Window, placement: Placement) -> npt.NDArray[np.bool_]:
    """Which samples tell of far more than the node has."""
    too_much = np.zeros(window.at.shape, np.bool_)
    for figures, has, reserved in (
        (window.cpu, placement.node_cpu, _RESERVED_MILLICORES),
        (window.memory, placement.node_memory, _RESERVED_BYTES),
    ):
        if has is not None:
            most = _MOST_TIMES_ALLOCATABLE * has + reserved
            # A node that has not said yet what it has is not judged.
            too_much |= (figures > most[:, None]) & (has > 0)[:, None]
    return too_much


def _oldest_moment(window: Window, counts: npt.NDArray[np.bool_], now: float) -> float:
    """Before which nothing matters any more: neither to a sample that counts, nor to one that was
    measured by now and has yet to be told.
    """
    return float(np.min(window.at - window.span, initial=now - _LATEST_TOLD_SECONDS, where=counts))


def _used_columns(counts: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(counts.any(axis=0)).tolist()


def _of_sample(
    window: Window, column: int, nodes: npt.NDArray[np.integer]
) -> tuple[Numbers, Numbers]:
    """Time and span of the one sample of each of the nodes; empty ones are from long ago."""
    at = np.maximum(window.at[:, column], 0.0)[nodes]
    return at, np.maximum(window.span[:, column], _MOMENT_SECONDS)[nodes]


def _add(figures: Numbers, column: int, nodes: npt.NDArray[np.integer], amounts: Numbers) -> None:
    figures[:, column] += np.bincount(nodes, weights=amounts, minlength=len(figures))


def _percentile(figures: Numbers, counts: npt.NDArray[np.bool_], percentile: float) -> Numbers:
    """By row, of those that count: the largest of them that is not above the percentile."""
    ordered = np.sort(np.where(counts, figures, np.inf), axis=1)
    last = np.maximum(counts.sum(axis=1) - 1, 0)
    place = np.floor(last * (percentile / 100) + 1e-9).astype(np.intp)
    return np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]


def _since(window: Window, counts: npt.NDArray[np.bool_], debounce: int) -> Numbers:
    """By row: when the first of the newest samples began, as many of them as are needed."""
    if debounce > window.at.shape[1]:
        return np.full(len(window.at), np.nan)
    begun = np.where(counts, window.at - window.span - CLOCKS_MAY_DIFFER_SECONDS, np.nan)
    # Those that do not count are sorted to the end, where NaN has its place.
    return -np.sort(-begun, axis=1)[:, debounce - 1]


def unknown(placement: Placement, source: str, why: str) -> Usage:
    """Nothing is known of any node or pod."""
    of_nodes = np.full(len(placement.nodes), np.nan)
    of_pods = np.full(len(placement.pod_uids), np.nan)
    return Usage(
        source=source,
        as_of=math.nan,
        node_cpu=of_nodes,
        node_memory=of_nodes,
        pod_cpu=of_pods,
        pod_memory=of_pods,
        pod_measured=np.zeros(len(of_pods), np.bool_),
        unknown_nodes=dict.fromkeys(range(len(of_nodes)), why),
        node_since=of_nodes,
        outage=why,
    )


def _requested(placement: Placement, now: float) -> Usage:
    """Nobody measures: what pods ask for is what they use, and that is always known."""
    staying = np.flatnonzero(_stays(placement))
    figures = []
    for requests in (placement.cpu_requests, placement.memory_requests):
        by_pod = np.array(requests, np.float64)
        on, weights = placement.pod_nodes[staying], by_pod[staying]
        figures.append((np.bincount(on, weights, len(placement.nodes)), by_pod))
    (node_cpu, pod_cpu), (node_memory, pod_memory) = figures
    return Usage(
        source=REQUESTS,
        as_of=now,
        node_cpu=node_cpu.astype(np.float64),
        node_memory=node_memory.astype(np.float64),
        pod_cpu=pod_cpu,
        pod_memory=pod_memory,
        pod_measured=np.ones(len(pod_cpu), np.bool_),
        unknown_nodes={},
        node_since=np.full(len(placement.nodes), now),
    )


def _clocks(sample: Sample, now: float) -> Mapping[str, str]:
    ahead = sample.nodes.at[np.isfinite(sample.nodes.at)] - now
    ahead = ahead[ahead > CLOCKS_MAY_DIFFER_SECONDS]
    if not len(ahead):
        return {}
    return {
        "clocks differ": f"figures of {len(ahead)} nodes are from the future, by up to "
        f"{_text(float(ahead.max()))}, and count as of now: set the clocks of both machines"
    }


def _text(seconds: float) -> str:
    return durations.format_nanoseconds(round(seconds) * durations.SECOND)
