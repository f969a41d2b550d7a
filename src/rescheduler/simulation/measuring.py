"""How a cluster fares: balance, overload, what waits, what was moved, and who noticed.

An onlooker of its own: it asks neither the product nor the metrics server, but looks at what is in
the store, and at what its pods really use.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from rescheduler.embedded.store import Change, Key, Store, key_of
from rescheduler.embedded.usage import InUse, Loads, Moment
from rescheduler.kube import Object
from rescheduler.model import names, podmigration, quantities
from rescheduler.model.objects import annotations, controller, is_active
from rescheduler.model.podmigration import Phase, Reason
from rescheduler.simulation.dips import Cause, Dip, Dips
from rescheduler.wire import POD_MIGRATIONS, PODS

LOOK_SECONDS: Final = 120.0
RESOURCES: Final = ("cpu", "memory")

Numbers = npt.NDArray[np.float64]


class Cluster(Protocol):
    """As far as it takes one: `EmbeddedCluster` is one."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> "Now": ...


class Now(Protocol):
    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the nodes stood at a moment: those that are Ready and may be given pods."""

    deviation: tuple[float, float]
    """Of their use of CPU and of memory, in points of what they have for pods."""
    gap: tuple[float, float]
    """Between the most and the least used of them, in the same points."""
    mean: tuple[float, float]
    hot: int
    """How many nodes, of all that are Ready, are above the threshold."""
    nodes: int
    """On which there is anything but pods of DaemonSets."""
    cost: float
    """Of these, by the hour, as far as they say so."""
    pending: int
    """Pods on no node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    looks: tuple[Look, ...]
    """One every `LOOK_SECONDS`, the first at the beginning."""
    moved: int
    put_off: int
    """Nothing was begun, for something was not as planned: most were planned anew."""
    failed: int
    reasons: dict[str, int]
    """Of those that failed."""
    unfinished: int
    by_strategy: dict[str, int]
    """Of those that were moved."""
    dips: tuple[Dip, ...]
    pending_seconds: float
    """Of all pods together."""

    def dips_by(self, *causes: Cause) -> tuple[Dip, ...]:
        return tuple(each for each in self.dips if each.cause in causes)

    def missing_seconds(self, *causes: Cause) -> float:
        """Pods that were missing, times how long each was."""
        return sum(each.pod_seconds for each in self.dips_by(*causes))

    @property
    def hot_minutes(self) -> float:
        """Nodes above the threshold, times how long each was."""
        return sum(each.hot for each in self.looks[1:]) * LOOK_SECONDS / 60


class Measuring:
    """From its making on."""

    def __init__(self, cluster: Cluster, loads: Loads, *, threshold_percent: float) -> None:
        self._now = cluster.clock.now
        self._threshold = threshold_percent
        self._in_use = InUse(cluster.store, loads)
        self._rooms: dict[str, tuple[str, Numbers, float]] = {}
        """Of nodes, by name: their version, what pods may have of them, and their cost."""
        self._of_daemons: dict[str, bool] = {}
        """By UID of pods."""
        self._looked_at: Sequence[Object] | None = None
        self._found: set[str] = set()
        self._looks: list[Look] = []
        self._looked_when: datetime | None = None
        self.dips = Dips(cluster.store, self._now)
        self._pending = _Pending(cluster.store, self._now)
        self._moves = _Moves(cluster.store)

    async def run(self) -> None:
        """For ever."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> Look:
        self._looked_when = self._now()
        moment = self._in_use.at(self._looked_when)
        rooms = [self._room(node) for node in moment.nodes]
        has = np.array([room for _, room, _ in rooms]).reshape(-1, 2)
        used = np.stack([moment.node_cpu, moment.node_memory], axis=1)
        percent = 100 * used / np.maximum(has, 1e-9)
        open_ = np.array([not _is_closed(node) for node in moment.nodes], np.bool_)
        balanced = percent[open_] if open_.any() else np.zeros((1, 2))
        working = self._working(moment)
        look = Look(
            deviation=_pair(balanced.std(axis=0)),
            gap=_pair(balanced.max(axis=0) - balanced.min(axis=0)),
            mean=_pair(balanced.mean(axis=0)),
            hot=int((percent > self._threshold).any(axis=1).sum()),
            nodes=len(working),
            cost=sum(
                cost
                for (_, _, cost), node in zip(rooms, moment.nodes, strict=True)
                if node["metadata"]["name"] in working
            ),
            pending=self._pending.count,
        )
        self._looks.append(look)
        return look

    def figures(self) -> Figures:
        """What came of it. It ends with that, and with a last look."""
        if self._looked_when != self._now():
            self.look()
        self.dips.end()
        self._pending.end()
        moves = self._moves
        return Figures(
            looks=tuple(self._looks),
            moved=sum(moves.moved.values()),
            put_off=moves.put_off,
            failed=sum(moves.failed.values()),
            reasons=dict(sorted(moves.failed.items())),
            unfinished=len(moves.under_way),
            by_strategy=dict(sorted(moves.moved.items())),
            dips=tuple(self.dips.all),
            pending_seconds=self._pending.seconds,
        )

    def _room(self, node: Object) -> tuple[str, Numbers, float]:
        name, version = node["metadata"]["name"], node["metadata"]["resourceVersion"]
        known = self._rooms.get(name)
        if known is None or known[0] != version:
            has = node["status"].get("allocatable") or node["status"].get("capacity") or {}
            room = np.array([float(quantities.parse(has.get(each, "0"))) for each in RESOURCES])
            known = self._rooms[name] = (version, room, _cost(node))
        return known

    def _working(self, moment: Moment) -> set[str]:
        """Nodes on which there is anything but pods of DaemonSets."""
        if moment.pods is self._looked_at:
            return self._found
        found, known = set[str](), self._of_daemons
        for pod in moment.pods:
            uid = pod["metadata"]["uid"]
            if uid not in known:
                owner = controller(pod)
                known[uid] = owner is not None and owner["kind"] in ("DaemonSet", "Node")
            if not known[uid]:
                found.add(pod["spec"]["nodeName"])
        self._looked_at, self._found = moment.pods, found
        return found


class _Pending:
    """Pods on no node, times how long each waits."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._now = now
        self._waiting: dict[Key, None] = {}
        self._since = now()
        self.seconds = 0.0
        for pod in store.all(PODS):
            self._hear(Change(store.version, "ADDED", PODS, pod, None))
        self._stop = store.listen(PODS, self._hear)

    @property
    def count(self) -> int:
        return len(self._waiting)

    def end(self) -> None:
        self._stop()
        self._add_up()

    def _hear(self, change: Change) -> None:
        pod, key = change.object, key_of(change.object)
        waits = change.kind != "DELETED" and not pod["spec"].get("nodeName") and is_active(pod)
        if waits == (key in self._waiting):
            return
        self._add_up()
        if waits:
            self._waiting[key] = None
        else:
            del self._waiting[key]

    def _add_up(self) -> None:
        now = self._now()
        self.seconds += len(self._waiting) * (now - self._since).total_seconds()
        self._since = now


class _Moves:
    """What became of migrations, as their records say."""

    def __init__(self, store: Store) -> None:
        self.moved: dict[str, int] = {}
        """By strategy."""
        self.put_off = 0
        self.failed: dict[str, int] = {}
        """By reason."""
        self.under_way: dict[Key, None] = {}
        store.listen(POD_MIGRATIONS, self._hear)

    def _hear(self, change: Change) -> None:
        key, phase = key_of(change.object), podmigration.phase_of(change.object)
        if change.kind == "DELETED":
            self.under_way.pop(key, None)
            return
        if not phase.is_over:
            self.under_way[key] = None
            return
        self.under_way.pop(key, None)
        if change.before is not None and podmigration.phase_of(change.before) is phase:
            return
        if phase is Phase.COMPLETED:
            strategy = podmigration.strategy_of(change.object)
            self.moved[strategy] = self.moved.get(strategy, 0) + 1
            return
        reason = podmigration.reason_of(change.object)
        if reason == Reason.NOT_NOW:
            self.put_off += 1
        else:
            self.failed[reason] = self.failed.get(reason, 0) + 1


def _is_closed(node: Object) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def _cost(node: Object) -> float:
    """What is no cost counts for nothing, as when planning."""
    try:
        cost = float(annotations(node).get(names.NODE_COST) or 0.0)
    except ValueError:
        return 0.0
    return cost if math.isfinite(cost) and cost >= 0 else 0.0


def _pair(figures: Numbers) -> tuple[float, float]:
    return float(figures[0]), float(figures[1])
