"""What triggers an early pass: a node to be emptied, one that is hot, who asks for a target."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.model import podmigration, windows
from rescheduler.model.cluster import Node
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.strategies import RESOURCE_OPTIMIZATION
from rescheduler.observe import Observer
from rescheduler.plan.fitting.nodes import is_cordoned, who_removes
from rescheduler.plan.loads import Loads

_GLANCE_SECONDS: Final = 5.0
"""How often loads are looked at between two passes: nobody measures them more often."""


_ASK_AGAIN_SECONDS: Final = 10.0
"""After which a target is looked for once more: something could not be seen, or not be written, or
there were more who asked than one plan decides on.
"""


class AsksForTargets(Protocol):
    """As far as it is of interest when the next pass is due."""

    def targetless(self) -> Iterable[tuple[str, str]]: ...

    async def somebody_asks(self) -> None: ...


class Trigger:
    """Why the next pass should not wait for its turn."""

    def __init__(self) -> None:
        self._reasons: dict[str, None] = {}
        self._fired = asyncio.Event()

    def fire(self, reason: str) -> None:
        self._reasons[reason] = None
        self._fired.set()

    async def fired(self) -> None:
        await self._fired.wait()

    def take(self) -> str:
        """The reasons since the last time, in words."""
        reasons, self._reasons = self._reasons, {}
        self._fired.clear()
        return "; ".join(reasons)


class Watch:
    """What was so when a pass began, and triggers an early one when it changes."""

    def __init__(self, observer: Observer, clock: Clock, configuration: Configuration) -> None:
        self._observer = observer
        self._clock = clock
        self._configuration = configuration
        self._minds_loads = RESOURCE_OPTIMIZATION in configuration.enabled_strategies
        self._to_empty = self._nodes_to_empty()
        self._hot = self._hot_nodes() if self._minds_loads else frozenset()
        self._asked = _who_asks(observer.snapshot())
        self._samples = observer.samples if self._minds_loads else 0

    async def watch_nodes(self, trigger: Trigger) -> None:
        """For ever."""
        while True:
            if news := self._news_of_maintenance():
                trigger.fire(news)
            await self._observer.nodes_changed()

    async def watch_loads(self, trigger: Trigger) -> None:
        """For ever."""
        while True:
            await self._clock.sleep(_GLANCE_SECONDS)
            if self._minds_loads and self._is_measured_anew() and (news := self._news_of_loads()):
                trigger.fire(news)

    async def watch_windows(self, trigger: Trigger) -> None:
        """For ever. What waited for one is planned as soon as it opens."""
        while True:
            now = self._clock.now()
            opens = windows.opens_at(self._configuration.windows, now)
            if opens is None:
                await asyncio.Event().wait()  # it is open, and the next pass comes at its time
                continue
            await self._clock.sleep((opens - now).total_seconds())
            trigger.fire("a window has opened")

    async def watch_records(self, trigger: Trigger, queue: AsksForTargets) -> None:
        """For ever. Who is not in what the pass saw has not been heard."""
        while True:
            if new := set(queue.targetless()) - self._asked:
                self._asked |= new
                asks = "PodMigration asks" if len(new) == 1 else "PodMigrations ask"
                trigger.fire(f"{len(new)} {asks} for a target")
            await queue.somebody_asks()

    async def watch_waiting(self, trigger: Trigger, queue: AsksForTargets) -> None:
        """For ever."""
        while True:
            await self._clock.sleep(_ASK_AGAIN_SECONDS)
            if any(True for _ in queue.targetless()):
                trigger.fire("PodMigrations still ask for a target")

    def _is_measured_anew(self) -> bool:
        before, self._samples = self._samples, self._observer.samples
        return self._samples != before

    def _news_of_maintenance(self) -> str:
        before, self._to_empty = self._to_empty, self._nodes_to_empty()
        words = [
            word for why, now in self._to_empty.items() for word in _news(before[why], now, why)
        ]
        return "; ".join(words)

    def _nodes_to_empty(self) -> dict[str, frozenset[str]]:
        """By why: those that are labelled, that others have cordoned, and that an autoscaler
        removes, as far as that counts.
        """
        settings = self._configuration.node_maintenance
        selector = self._configuration.scope.node_selector
        nodes = [node for node in self._observer.nodes() if selector.matches(node.labels)]
        counts: dict[str, Callable[[Node], bool]] = {
            "labelled for maintenance": lambda node: is_in_maintenance(node.labels),
            "cordoned": lambda node: settings.cordoned_nodes and is_cordoned(node),
            "about to be removed": lambda node: settings.removed_nodes and bool(who_removes(node)),
        }
        return {
            why: frozenset(node.name for node in nodes if counts_for(node))
            for why, counts_for in counts.items()
        }

    def _news_of_loads(self) -> str:
        now = self._hot_nodes()
        new = sorted(now - self._hot)
        self._hot |= now
        return f"{', '.join(new)} above its threshold" if new else ""

    def _hot_nodes(self) -> frozenset[str]:
        snapshot = self._observer.with_usage(self._observer.snapshot())
        return hot_nodes(snapshot, self._configuration)


def _who_asks(snapshot: Snapshot) -> set[tuple[str, str]]:
    records = snapshot.objects.get(podmigration.PLURAL, {})
    return {key for key, each in records.items() if podmigration.waits_for_target(each)}


def _news(before: frozenset[str], now: frozenset[str], what: str) -> Iterator[str]:
    if began := sorted(now - before):
        yield f"{', '.join(began)} {what}"
    if ended := sorted(before - now):
        yield f"{', '.join(ended)} no longer {what}"


def hot_nodes(snapshot: Snapshot, configuration: Configuration) -> frozenset[str]:
    """Those above a threshold, as far as their load is known: what an autoscaler has packed by
    requests is only so by usage.
    """
    limits = (configuration.cpu_threshold_percent, configuration.memory_threshold_percent)
    selector = configuration.scope.node_selector
    loads = Loads(snapshot)
    is_full = loads.word == "requests"
    packed = configuration.node_autoscaler.packed_nodes
    return frozenset(
        node.name
        for node, points in zip(snapshot.nodes, loads.percent.tolist(), strict=True)
        if any(load > limit for load, limit in zip(points, limits, strict=True))
        and selector.matches(node.labels)
        and not (is_full and packed.matches(node.labels))
    )
