"""What pods use: by their workload, the time of day, and a little luck. Pure, and fast for many."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.kube import Object
from rescheduler.model.objects import annotations
from rescheduler.simulation import chances
from rescheduler.simulation.chances import Numbers
from rescheduler.simulation.described import WORKLOAD, BaseLoad, Described
from rescheduler.simulation.scenarios import HOUR, Pattern, Scenario, Surge

Mask = npt.NDArray[np.bool_]

_DAY: Final = 24 * HOUR
_FAR: Final = 6.0
_NOISE: Final = 0.08
_NOISE_SECONDS: Final = 60
_MEMORY_SWING: Final = 0.05
_MEMORY_FOLLOWS: Final = 0.08
"""By so much memory goes with CPU: caches and connections."""
_MEMORY_PERIODS: Final = (4 * HOUR, 12 * HOUR)
_RISE_SECONDS: Final = 300.0
"""Until a surge is at its height."""
_UNKNOWN: Final = BaseLoad(cores=0.01, memory=32.0 * 2**20)
"""Of pods that are of no workload that was there at the beginning."""


class ScenarioLoads:
    """Of the pods of a cluster. The same pod uses the same at the same time, whatever was asked
    before, and whoever moved what.
    """

    def __init__(
        self, described: Described, scenario: Scenario, *, seed: int, start: datetime
    ) -> None:
        names = sorted(described.loads)
        self._numbers = {name: number for number, name in enumerate(names)}
        self._bases = [*(described.loads[name] for name in names), _UNKNOWN]
        self._beside = described.beside
        self._seed = seed
        self._start = start
        self._curves = _Curves(names, scenario, seed)
        self._pods: dict[str, int] = {}
        """By UID: rows of what follows."""
        self._size = 0
        self._number = np.zeros(1024, np.intp)
        self._cpu, self._memory = np.zeros(1024), np.zeros(1024)
        self._seeds = np.zeros(1024, np.uint64)
        self._asked_of: Sequence[Object] | None = None
        """The last ones, which are often asked for again, and never changed; and their rows."""
        self._rows = np.zeros(0, np.intp)

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        cpu, memory = self.of_many([pod], at)
        return float(cpu[0]), float(memory[0])

    def of_many(self, pods: Sequence[Object], at: datetime) -> tuple[Numbers, Numbers]:
        if pods is not self._asked_of:
            self._rows = np.fromiter(map(self._row, pods), np.intp, len(pods))
            self._asked_of = pods
        rows = self._rows
        elapsed = (at - self._start).total_seconds()
        of_day = at.hour * HOUR + at.minute * 60 + at.second + at.microsecond / 1e6
        cpu, memory = self._curves.at(of_day, elapsed)
        numbers = self._number[rows]
        noise = chances.noise(self._seeds[rows], int(at.timestamp()) // _NOISE_SECONDS)
        used = self._cpu[rows] * cpu[numbers] * (1 + _NOISE * noise)
        return used, self._memory[rows] * memory[numbers]

    # ------------------------------------------------------------------ pods

    def _row(self, pod: Object) -> int:
        row = self._pods.get(pod["metadata"]["uid"])
        return row if row is not None else self._add(pod)

    def _add(self, pod: Object) -> int:
        metadata, row = pod["metadata"], self._size
        if row == len(self._number):
            self._grow()
        number = self._numbers.get(annotations(pod).get(WORKLOAD, ""), len(self._numbers))
        base, name = self._bases[number], f"{metadata['namespace']}/{metadata['name']}"
        cpu, memory = self._beside.get(name) or (
            math.exp(base.uneven * chances.normal(self._seed, "cpu of", name)),
            math.exp(base.uneven / 2 * chances.normal(self._seed, "memory of", name)),
        )
        self._number[row] = number
        self._cpu[row], self._memory[row] = base.cores * cpu, base.memory * memory
        self._seeds[row] = chances.number(self._seed, "noise of", name)
        self._pods[metadata["uid"]] = row
        self._size += 1
        return row

    def _grow(self) -> None:
        for name in ("_number", "_cpu", "_memory", "_seeds"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))


class _Curves:
    """Of each workload, and one more for pods of none: how many times its mean it uses."""

    def __init__(self, names: Sequence[str], scenario: Scenario, seed: int) -> None:
        patterns = [*_dealt(names, scenario.patterns, seed), Pattern()]
        self._low = np.array([each.low for each in patterns])
        self._high = np.array([each.high for each in patterns])
        self._half = np.array([max(each.high_seconds, 1.0) / 2 for each in patterns])
        self._peak = np.array(
            [
                each.peak_seconds
                + each.scatter_seconds * (2 * chances.fraction(seed, "peak of", name) - 1)
                for each, name in zip(patterns, [*names, ""], strict=True)
            ]
        )
        self._names, self._seed = [*names, ""], seed
        self._wander = scenario.wander_seconds
        self._peaks_of = 0, self._wandered(0)
        # Some are up and down more than others of their kind.
        depth = np.array([0.7 + 0.6 * chances.fraction(seed, "depth of", n) for n in [*names, ""]])
        self._low, self._high = (
            np.maximum(1 + (each - 1) * depth, 0.0) for each in (self._low, self._high)
        )
        shortest, longest = _MEMORY_PERIODS
        luck = np.array([chances.fraction(seed, "period of", name) for name in [*names, ""]])
        self._period = shortest + (longest - shortest) * luck
        self._phase = np.array([chances.fraction(seed, "phase of", name) for name in [*names, ""]])
        self._growth = scenario.growth
        self._surges = [(each, _surging(names, each, seed)) for each in scenario.surges]

    def at(self, of_day: float, elapsed: float) -> tuple[Numbers, Numbers]:
        away = np.abs((of_day - self._peaks(int(elapsed // _DAY)) + _DAY / 2) % _DAY - _DAY / 2)
        # To the fourth: it rises sharply to its high hours, and falls again.
        # Far away from them it is nothing, and numbers that are nearly nothing are slow.
        square = np.minimum(np.square(away / self._half), _FAR)
        cpu = self._low + (self._high - self._low) * np.exp(-np.square(square))
        growth = 1 + self._growth * elapsed / _DAY
        wave = np.sin(2 * np.pi * (elapsed / self._period + self._phase))
        memory = (1 + _MEMORY_SWING * wave + _MEMORY_FOLLOWS * (cpu - 1)) * growth
        cpu = cpu * growth
        for surge, members in self._surges:
            cpu = np.where(members, cpu * _surge_at(surge, of_day), cpu)
        return cpu, np.maximum(memory, 0.1)

    def _peaks(self, day: int) -> Numbers:
        if self._peaks_of[0] != day:
            self._peaks_of = day, self._wandered(day)
        return self._peaks_of[1]

    def _wandered(self, day: int) -> Numbers:
        if not self._wander:
            return self._peak
        luck = [chances.fraction(self._seed, f"day {day} of", name) for name in self._names]
        return self._peak + self._wander * (2 * np.array(luck) - 1)


def _dealt(names: Sequence[str], patterns: Sequence[Pattern], seed: int) -> Iterable[Pattern]:
    named = [each for each in patterns if each.names]
    shared = [each for each in patterns if not each.names]
    total = sum(each.share for each in shared)
    for name in names:
        found = next((each for each in named if each.is_named(name)), None)
        if found is None and total:
            left = total * chances.fraction(seed, "pattern of", name)
            for found in shared:
                left -= found.share
                if left < 0:
                    break
        yield found or Pattern()


def _surging(names: Sequence[str], surge: Surge, seed: int) -> Mask:
    pattern = Pattern(names=surge.names)
    when = f"surge at {surge.at_seconds:.0f}"
    return np.array(
        [
            pattern.is_named(name)
            if surge.names
            else chances.fraction(seed, when, name) < surge.share
            for name in names
        ]
        + [False]
    )


def _surge_at(surge: Surge, of_day: float) -> float:
    since = (of_day - surge.at_seconds) % _DAY
    rising = since / _RISE_SECONDS
    falling = (surge.for_seconds + _RISE_SECONDS - since) / _RISE_SECONDS
    return 1 + (surge.factor - 1) * min(max(min(rising, falling), 0.0), 1.0)
