"""Whether generated clusters come to rest below their thresholds, and in how many passes.

The product as it is, with the default configuration, on embedded clusters and virtual time: by what
pods ask for, and by what they use, measured with noise. All clusters are such that the threshold
can be reached: no pod is larger than an eighth of the smallest node.
"""

import asyncio
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import structlog

from rescheduler import wire
from rescheduler.config import Configuration
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.store import Change, Store
from rescheduler.embedded.usage import LoadsOfMany
from rescheduler.embedded.virtual_time import START, VirtualClock
from rescheduler.kube import Object
from rescheduler.model import names, quantities
from rescheduler.model.objects import annotations, is_active
from rescheduler.simulation import chances, shapes
from rescheduler.simulation.described import WORKLOAD, BaseLoad, Described, Json
from rescheduler.simulation.filling import fill
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import foreseen, happen
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.onlooking import Onlooker
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import BUILT_IN

HOUR: Final = 3600.0
NOISE_POINTS: Final = 5.0
COUNT: Final = 20
_DEFAULTS: Final = Configuration()
_MEASURED_SECONDS: Final = 30
_LOOK_SECONDS: Final = 60.0
_QUIET_SECONDS: Final = 900.0
"""Without a move: then it has come to rest."""
_STAYS_SECONDS: Final = HOUR
"""At rest, for which it has to stay so."""
_AT_MOST_SECONDS: Final = 24 * HOUR
_START_SECONDS: Final = (2.0, 20.0)
_RESERVED: Final = 0.94
"""Of a node is for pods."""
_GIBI_A_CORE: Final = 4
_LARGEST: Final = 8
"""Part of the smallest node that a pod may ask for."""
_LINES: Final = ((4, 8, 16), (8, 16, 32), (16, 32, 64), (32, 64, 96), (8, 32, 96), (96,))

Numbers = npt.NDArray[np.float64]


# ---------------------------------------------------------------------- clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    seed: int
    nodes: int
    cores: tuple[int, ...]
    """Of which nodes there are."""
    pods: int
    """For each node."""
    by_usage: bool

    def __str__(self) -> str:
        cores = "/".join(map(str, self.cores))
        return f"{self.seed:02}-{self.nodes}x{cores}-{'usage' if self.by_usage else 'requests'}"


def shapes_of(count: int = COUNT) -> list[Shape]:
    """From six nodes to two hundred, by requests and by usage in turn."""
    found = []
    for seed in range(count):
        luck = random.Random(seed)  # noqa: S311 - repeatable
        nodes = round(6 * (200 / 6) ** (seed / (count - 1)))
        found.append(
            Shape(
                seed=seed,
                nodes=nodes,
                cores=luck.choice(_LINES),
                # Nodes with many pods are few: what it takes is mostly what there is to move.
                pods=luck.choice((60, 120)) if nodes <= 12 else luck.choice((12, 20)),  # noqa: PLR2004
                by_usage=seed % 2 == 1,
            )
        )
    return found


def describe(shape: Shape) -> Described:
    """Deployments whose pods came to a few nodes that were there first."""
    luck = random.Random(shape.seed)  # noqa: S311 - repeatable
    cores = [luck.choice(shape.cores) for _ in range(shape.nodes)]
    free = np.array([[each * 1000.0, each * _GIBI_A_CORE * 1024.0] for each in cores]) * _RESERVED
    liked = np.array([math.exp(luck.gauss(0.0, 1.0)) for _ in cores])
    liked[luck.sample(range(shape.nodes), max(shape.nodes // 6, 1))] = 0.02
    objects: list[tuple[wire.Resource, Json]] = [
        (wire.NAMESPACES, {"metadata": {"name": "shop"}}),
        *((wire.NODES, _node(number, size)) for number, size in enumerate(cores)),
    ]
    loads: dict[str, BaseLoad] = {}
    pods: list[Json] = []
    mean = 0.5 * free[:, 0].sum() / (shape.nodes * shape.pods)
    while len(pods) < shape.nodes * shape.pods:
        cpu, memory = _asked(mean, min(shape.cores), luck)
        places = _places(free, liked, cpu, memory, luck)
        if not places:
            break
        workload = shapes.Workload(
            kind="Deployment",
            namespace="shop",
            name=f"app-{len(loads)}",
            replicas=len(places),
            labels={"app": f"app-{len(loads)}"},
            spec=shapes.pod_spec(cpu=cpu, memory=memory),
        )
        objects += workload.objects()
        names_ = [f"node-{number:03}" for number in places]
        pods += workload.pods(names_, lambda: "".join(luck.choices(shapes.SUFFIX_LETTERS, k=5)))
        used = luck.uniform(0.4, 1.0) if shape.by_usage else 1.0
        loads[f"shop/{workload.name}"] = BaseLoad(cpu / 1000 * used, memory * 2.0**20 * used, 0.0)
    objects += [(wire.PODS, each) for each in pods]
    return Described(objects=tuple(objects), loads=loads)


def _node(number: int, cores: int) -> Json:
    made = shapes.node(f"node-{number:03}", cores, cores * _GIBI_A_CORE, "a", "1")
    for amounts in made["status"].values():
        amounts["pods"] = "500"
    return made


def _asked(mean: float, smallest: int, luck: random.Random) -> tuple[int, int]:
    """Thousandths of a core, and MiB."""
    largest = min(8000, smallest * 1000 * _RESERVED / _LARGEST)
    cpu = min(max(mean * math.exp(luck.gauss(-0.25, 0.7)), 20.0), largest)
    memory = min(cpu * luck.uniform(0.5, 1.2) * _GIBI_A_CORE * 1.024, largest * 4)
    return round(cpu), max(round(memory), 8)


def _places(free: Numbers, liked: Numbers, cpu: int, memory: int, luck: random.Random) -> list[int]:
    """Where its pods came to; there is no room any more taken by others."""
    asked, found = np.array([cpu, memory]), []
    for _ in range(min(int(luck.expovariate(0.15)) + 2, 20)):
        weights = np.where((free >= asked).all(axis=1), liked * free[:, 0], 0.0).cumsum()
        if not weights[-1]:
            break
        found.append(int(np.searchsorted(weights, luck.random() * weights[-1], side="right")))
        free[found[-1]] -= asked
    return found


class Steady:
    """Each pod uses what its workload says, at all times."""

    def __init__(self, described: Described) -> None:
        self._loads = described.loads

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        cpu, memory = self.of_many([pod], at)
        return float(cpu[0]), float(memory[0])

    def of_many(self, pods: Sequence[Object], _: datetime) -> tuple[Numbers, Numbers]:
        bases = [self._loads[annotations(each)[WORKLOAD]] for each in pods]
        return np.array([each.cores for each in bases]), np.array([each.memory for each in bases])


class Noisy:
    """What pods use, and around it whatever makes their node as a whole look up to five points more
    or less loaded, another at each measurement.
    """

    def __init__(self, steady: LoadsOfMany, described: Described, seed: int) -> None:
        self._steady = steady
        self._has = {
            each["metadata"]["name"]: amounts_of(each["status"]["allocatable"])
            for each in described.all(wire.NODES)
        }
        self._seeds = np.array(
            [chances.number(seed, "noise of", name) for name in self._has], np.uint64
        )
        self._numbers = {name: number for number, name in enumerate(self._has)}

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        cpu, memory = self.of_many([pod], at)
        return float(cpu[0]), float(memory[0])

    def of_many(self, pods: Sequence[Object], at: datetime) -> tuple[Numbers, Numbers]:
        steady = self._steady.of_many(pods, at)
        where = np.array([self._numbers[each["spec"]["nodeName"]] for each in pods], np.intp)
        has = np.array(list(self._has.values()))
        moment = int(at.timestamp()) // _MEASURED_SECONDS
        noisy = []
        for column, amounts in enumerate(steady):
            # Each resource has noise of its own.
            noise = chances.noise(self._seeds, 2 * moment + column)
            total = np.maximum(np.bincount(where, amounts, len(has)), 1e-9)
            factor = 1 + NOISE_POINTS / 100 * noise * has[:, column] / total
            noisy.append(amounts * np.maximum(factor, 0.0)[where])
        return noisy[0], noisy[1]


def amounts_of(has: Mapping[str, str]) -> tuple[float, float]:
    """Cores, and bytes."""
    return float(quantities.parse(has["cpu"])), float(quantities.parse(has["memory"]))


# ---------------------------------------------------------------------- watching


class Watching:
    """How the nodes stand, and who was moved when: as anybody could see it, without the noise."""

    def __init__(self, store: Store, described: Described) -> None:
        self._loads = described.loads
        self._has = {
            each["metadata"]["name"]: amounts_of(each["status"]["allocatable"])
            for each in described.all(wire.NODES)
        }
        self._pods: dict[str, Object] = {}
        self.copies: dict[str, Object] = {}
        """Of moves, by UID."""
        for pod in store.all(wire.PODS):
            self._take(pod)
        store.listen(wire.PODS, self._hear)

    def _hear(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._pods.pop(change.object["metadata"]["uid"], None)
        else:
            self._take(change.object)

    def _take(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if is_active(pod) and pod["spec"].get("nodeName"):
            self._pods[uid] = pod
        else:
            self._pods.pop(uid, None)
        if names.ORIGINAL_POD in annotations(pod):
            # As it was first seen: it is marked anew when it is moved again.
            self.copies.setdefault(uid, pod)

    def points(self) -> Numbers:
        """By resource and node, in per cent of what it has."""
        used = {name: [0.0, 0.0] for name in self._has}
        for pod in self._pods.values():
            base = self._loads[annotations(pod)[WORKLOAD]]
            amounts = used[pod["spec"]["nodeName"]]
            amounts[0] += base.cores
            amounts[1] += base.memory
        points: Numbers = (
            100 * np.array(list(used.values())).T / np.array(list(self._has.values())).T
        )
        return points

    def returned_within(self, seconds: float) -> list[str]:
        """Pods that were moved once more within so long, though nobody emptied their node."""
        return [
            f"{pod['metadata']['name']} after {between:.0f} s"
            for pod in self.copies.values()
            if (before := self.copies.get(annotations(pod)[names.ORIGINAL_POD])) is not None
            and annotations(pod).get(names.MIGRATION_REASON) != "NodeMaintenance"
            and (between := _moved_at(pod) - _moved_at(before)) < seconds
        ]


def _moved_at(pod: Object) -> float:
    return datetime.fromisoformat(annotations(pod)[names.MIGRATION_TIME]).timestamp()


@dataclass(slots=True)
class Passes:
    """As the product tells of them in its log."""

    moves: list[int] = field(default_factory=list)
    """That each has planned."""

    def hear(self, _: object, __: str, told: Any) -> Any:  # noqa: ANN401 - a processor of structlog
        if told.get("event") == "plan made":
            self.moves.append(told["moves"])
        raise structlog.DropEvent

    @property
    def needed(self) -> int:
        """Up to the last one that planned anything."""
        return max((number + 1 for number, moves in enumerate(self.moves) if moves), default=0)


@contextmanager
def counted() -> Iterator[Passes]:
    passes = Passes()
    before = structlog.get_config()
    structlog.configure(
        processors=[passes.hear],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        cache_logger_on_first_use=False,
    )
    try:
        yield passes
    finally:
        structlog.configure(**before)


# ---------------------------------------------------------------------- one after the other


_LEFT_OF_NOISE_POINTS: Final = 1.0
"""Of five, once measurements are averaged: who sees 19.9 rests, and it may be 20.2 in truth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    shape: Shape
    pods: int
    before: float
    """Imbalance of CPU or memory, whichever was more, in points."""
    hot_before: int
    """Nodes above their threshold."""
    after: float
    hot_after: int
    worst: float
    """Imbalance from when it had come to rest until the end."""
    passes: int
    """Until nothing was left to move."""
    moves: int
    minutes: float
    """Virtual ones, until the last move began."""
    returned: list[str]
    """Pods that were moved twice within an hour."""

    @property
    def problems(self) -> list[str]:
        threshold = _DEFAULTS.imbalance_threshold_percent
        threshold += _LEFT_OF_NOISE_POINTS if self.shape.by_usage else 0.0
        return [
            *([f"imbalance {self.after:.1f}"] if self.after > threshold else []),
            *([f"later {self.worst:.1f}"] if self.worst > threshold else []),
            *([f"{self.hot_after} nodes above their threshold"] if self.hot_after else []),
            *self.returned,
        ]


def converge(shape: Shape) -> Outcome:
    with counted() as passes:
        return virtual_time.run(_converge(shape, passes))


async def _converge(shape: Shape, passes: Passes) -> Outcome:
    described = describe(shape)
    noisy = Noisy(Steady(described), described, shape.seed)
    cluster = EmbeddedCluster(
        seed=shape.seed,
        clock=VirtualClock(START),
        loads=noisy if shape.by_usage else None,
        start_seconds=_START_SECONDS,
    )
    filled = fill(cluster, described)
    if filled.refused:
        raise ValueError(filled.refused[0])
    watching = Watching(cluster.store, described)
    onlooker = Onlooker(cluster.store, noisy, cluster.clock.now)
    first = watching.points()
    async with cluster, running(cluster, _DEFAULTS, seed=shape.seed):
        async with asyncio.timeout(_AT_MOST_SECONDS):
            await onlooker.quiet(_QUIET_SECONDS)
        needed, last = passes.needed, max(map(_moved_at, watching.copies.values()), default=0.0)
        rest, worst = watching.points(), 0.0
        end = cluster.clock.monotonic() + _STAYS_SECONDS
        while cluster.clock.monotonic() < end:
            await asyncio.sleep(_LOOK_SECONDS)
            if onlooker.is_calm:
                worst = max(worst, _imbalance(watching.points()))
    return Outcome(
        shape=shape,
        pods=described.count(wire.PODS),
        before=_imbalance(first),
        hot_before=_hot(first),
        after=_imbalance(rest),
        hot_after=_hot(rest),
        worst=worst,
        passes=needed,
        moves=len(onlooker.moved),
        minutes=max(last - START.timestamp(), 0.0) / 60,
        returned=watching.returned_within(HOUR),
    )


def _imbalance(points: Numbers) -> float:
    return float(np.ptp(points, axis=1).max())


def _hot(points: Numbers) -> int:
    limits = np.array([[_DEFAULTS.cpu_threshold_percent], [_DEFAULTS.memory_threshold_percent]])
    return int((points > limits).any(axis=0).sum())


# ---------------------------------------------------------------------- a day


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOutcome:
    moves: int
    passes: int
    returned: list[str]
    """Pods that were moved twice within an hour, though nobody emptied their node."""


def day(*, nodes: int, pods: int, seed: int, hours: float = 24.0) -> DayOutcome:
    """One on which loads change, pods come and go, a node is maintained and another fails, and all
    is measured with noise.
    """
    with counted() as passes:
        return virtual_time.run(
            _day(generate(nodes=nodes, pods=pods, seed=seed), seed, hours, passes)
        )


async def _day(described: Described, seed: int, hours: float, passes: Passes) -> DayOutcome:
    scenario = BUILT_IN["day"]
    loads = ScenarioLoads(described, scenario, seed=seed, start=START)
    cluster = EmbeddedCluster(
        seed=seed,
        clock=VirtualClock(START),
        loads=Noisy(loads, described, seed),
        start_seconds=_START_SECONDS,
    )
    fill(cluster, described)
    watching = Watching(cluster.store, described)
    happenings = foreseen(scenario, described, seed=seed, start=START, hours=hours)
    strategies = (*_DEFAULTS.enabled_strategies, "NodeMaintenance")
    configuration = replace(_DEFAULTS, enabled_strategies=strategies)
    async with cluster, running(cluster, configuration, seed=seed):
        beside = asyncio.create_task(happen(cluster.api, happenings, []), name="happenings")
        await asyncio.sleep(hours * HOUR)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
    return DayOutcome(
        moves=len(watching.copies),
        passes=len(passes.moves),
        returned=watching.returned_within(HOUR),
    )


# ---------------------------------------------------------------------- telling


HEAD: Final = (
    f"{'CLUSTER':<26} {'PODS':>5} {'IMBALANCE':>14} {'HOT':>8} {'PASSES':>6} {'MOVES':>6} "
    f"{'MINUTES':>7} {'TWICE':>6}"
)


def line(outcome: Outcome) -> str:
    return (
        f"{outcome.shape!s:<26} {outcome.pods:>5} "
        f"{f'{outcome.before:.1f} -> {outcome.after:.1f}':>14} "
        f"{f'{outcome.hot_before} -> {outcome.hot_after}':>8} {outcome.passes:>6} "
        f"{outcome.moves:>6} {outcome.minutes:>7.1f} {len(outcome.returned):>6}"
    )


if __name__ == "__main__":
    print(HEAD)
    for each in shapes_of():
        print(line(converge(each)), flush=True)
