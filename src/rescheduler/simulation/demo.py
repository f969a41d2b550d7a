"""The demo: what happens in it, and in which order. Who shows it, and how, is not said here.

An uneven cluster comes up, a plan is made, the product itself carries it out, a node goes into
maintenance, and then somebody drains another, as people do without us. All of it is on virtual
time, at a pace that is set by chapter.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from rescheduler.config import Configuration, Guard, UsageSettings
from rescheduler.controller.preview import preview
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import VirtualClock, VirtualTimeLoop
from rescheduler.kube import Object
from rescheduler.model import names, strategies
from rescheduler.model.moves import Plan
from rescheduler.model.objects import controller, is_active
from rescheduler.simulation import rude_drains
from rescheduler.simulation.demo_cluster import Made, history
from rescheduler.simulation.described import Described
from rescheduler.simulation.dips import Cause, Dip, Dips
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.onlooking import Onlooker
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import HOUR, Pattern, Scenario, Surge
from rescheduler.simulation.scenes import Chapter, MoveScene, NodeLook, Scene
from rescheduler.simulation.web import Look, Web
from rescheduler.wire import NODES, POD_DISRUPTION_BUDGETS, PODS

START: Final = datetime(2026, 1, 5, 10, 0, tzinfo=UTC)
"""A Monday morning: load is what it mostly is."""

_STORY_PACE: Final = 10.0
"""Virtual seconds in a real one, where each move is to be seen."""
_STILL_PACE: Final = 0.05
_DAY_PACE: Final = 300.0
"""Where the load changes: a day takes about five minutes."""
_START_SECONDS: Final = (2.0, 7.0)
"""What pods take to become Ready."""
_COME_UP_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 2.5
"""For people to look at the cluster: real ones."""
_READ_SECONDS: Final = 6.0
"""The same to read the plan."""
_QUIET_SECONDS: Final = 40.0
"""Without any move: longer than from one pass to the next, so that nothing more is wanted."""
_PATIENCE_SECONDS: Final = 900.0
"""After which something has gone wrong; the ending tells what."""
_STEPS: Final = 20_000
"""Of a search: as many give the same plan."""
_STATEFUL: Final = "StatefulSet"

DAY: Final = Scenario(
    name="demo",
    patterns=(
        Pattern(share=60, peak_seconds=12 * HOUR, high_seconds=11 * HOUR, low=0.4),
        Pattern(share=20, peak_seconds=20 * HOUR, high_seconds=6 * HOUR, high=1.6),
        Pattern(share=20, peak_seconds=3 * HOUR, high_seconds=5 * HOUR, high=1.8),
    ),
    surges=tuple(
        Surge(at_seconds=hour * HOUR, factor=2.5, share=0.06) for hour in (2, 6, 12, 15, 18, 21)
    ),
)
"""Office hours for most, evenings and nights for others, and now and then a rush."""

CONFIGURATION: Final = Configuration(
    enabled_strategies=(*strategies.BY_DEFAULT, strategies.NODE_MAINTENANCE),
    max_reschedule_pods=0,
    usage=UsageSettings(debounce=1),
    guard=Guard(enabled=True),
)
"""The defaults, but for maintenance and the guard, and that nobody has to wait: one plan for all
that is to be moved, by one sample of usage. The summary says so.
"""


class Audience(Protocol):
    """Whoever shows it to people."""

    def begins(self, chapter: Chapter) -> None: ...

    def sees(self, scene: Scene) -> None:
        """The cluster, when it is worth a look."""
        ...

    def sees_plan(self, decided: Plan, about: str) -> None: ...

    def hears(self, move: MoveScene) -> None:
        """Of each step of each move."""
        ...


@dataclass(slots=True, kw_only=True)
class Ending:
    """What came of it, as far as it went."""

    before: Scene | None = None
    """The cluster as it was when it had come up; None: it never had."""
    after: Scene | None = None
    moved: Counter[str] = field(default_factory=Counter)
    """By strategy."""
    recreated: int = 0
    """Of those: pods that had to end before their successors began."""
    put_off: int = 0
    """Moves whose turn came when they would not have fitted."""
    failed: tuple[MoveScene, ...] = ()
    dips: tuple[Dip, ...] = ()
    """That should not have been."""
    guarded: int = 0
    """Budgets that allowed no disruption."""
    emptied: str = ""
    """The node that went into maintenance; empty: none had by then."""
    left_on_it: int = 0
    """Pods."""
    drained: str = ""
    """The node that somebody else drained; empty: none was by then."""
    drain_seconds: float | None = None
    """What that took; None: it did not come to its end."""
    is_whole: bool = False
    """It was not interrupted."""
    virtual_seconds: float = 0.0

    @property
    def is_well(self) -> bool:
        is_stuck = self.is_whole and self.drain_seconds is None
        return not (self.failed or self.dips or self.left_on_it or is_stuck)


class Demo:
    def __init__(
        self,
        audience: Audience,
        *,
        nodes: int,
        seed: int,
        speed: float,
        web: Look | None = None,
    ) -> None:
        """`speed`: 1 for people to watch, more is faster, 0 waits for nobody. `web`: in a browser,
        too.
        """
        self._audience = audience
        self._speed = speed
        self._history = history(nodes, seed)
        described = Described(objects=(), loads=self._history.loads)
        loads = ScenarioLoads(described, DAY, seed=seed, start=START)
        self.cluster = EmbeddedCluster(
            seed=seed, clock=VirtualClock(START), loads=loads, start_seconds=_START_SECONDS
        )
        self._onlooker = Onlooker(self.cluster.store, loads, self.cluster.clock.now, self._hear)
        self.web = None if web is None else Web(self.cluster, CONFIGURATION, web)
        self._dips: Dips | None = None
        self._stop = asyncio.Event()
        self._problem: Exception | None = None
        self._planned = 0
        self._chapter = Chapter(number=0, sentence="")
        self._ending = Ending()

    def scene(self) -> Scene:
        return self._onlooker.scene(len(self._bad_dips()))

    # ------------------------------------------------------------------ from the first to the last

    async def play(self, stop: asyncio.Event, *, keep: bool) -> Ending:
        """Until its end, or until it is told to stop. Raises what its audience does."""
        self._stop = stop
        async with self.cluster, self._shown():
            if await _unless(stop, self._come_up()) and await _unless(stop, self._show_plan()):
                await self._act(stop, keep=keep)
                await self._tell_the_end()
        if self._problem is not None:
            raise self._problem
        return self._end()

    @asynccontextmanager
    async def _shown(self) -> AsyncIterator[None]:
        if self.web is None:
            yield
            return
        async with self.web.open():
            yield

    def _hear(self, move: MoveScene) -> None:
        """Within a write of the product, which must not fail because nobody listens to us."""
        try:
            self._audience.hears(move)
        except Exception as problem:  # noqa: BLE001 - raised at the end
            self._problem = self._problem or problem
            self._stop.set()

    async def _act(self, stop: asyncio.Event, *, keep: bool) -> None:
        async with running(self.cluster, CONFIGURATION, steps=_STEPS, web=self.web) as product:
            self.cluster.review_evictions(product.guard)
            self._ending.is_whole = await _unless(stop, self._move_and_maintain())
            if keep and self._ending.is_whole:
                await _unless(stop, self._change_over_the_day())
            self._pace(0)
            await product.stop()

    async def _tell_the_end(self) -> None:
        """To those who look at a page, which is gone soon."""
        if self.web is None:
            return
        bad = len(self._bad_dips())
        dipped = f"{bad} workloads were short of pods" if bad else "nothing dipped"
        sentence = f"{len(self._onlooker.moved)} pods moved, and {dipped}."
        self.web.tell(self._chapter.number, self._chapter.sentence, sentence)
        if self._speed:
            await self._stand_still(_READ_SECONDS)
        self._pace(0)

    def _end(self) -> Ending:
        ending, onlooker = self._ending, self._onlooker
        ending.after = self.scene()
        self._audience.sees(ending.after)
        ending.moved = Counter(each.strategy for each in onlooker.moved)
        ending.recreated = sum(each.is_recreated for each in onlooker.moved)
        ending.put_off = len(onlooker.put_off)
        ending.failed = tuple(onlooker.failed)
        ending.dips = tuple(self._bad_dips())
        ending.virtual_seconds = self.cluster.clock.monotonic()
        return ending

    def _pace(self, pace: float) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualTimeLoop):
            loop.pace = pace * self._speed

    async def _stand_still(self, seconds: float) -> None:
        """For people to look: so many real seconds, in which next to nothing happens."""
        self._pace(_STILL_PACE)
        await asyncio.sleep(seconds * _STILL_PACE)
        self._pace(_STORY_PACE)

    def _begin(self, number: int, sentence: str) -> None:
        self._chapter = Chapter(number=number, sentence=sentence)
        self._audience.begins(self._chapter)
        if self.web is not None:
            self.web.tell(number, sentence)

    # ------------------------------------------------------------------ chapters

    async def _come_up(self) -> None:
        stages = self._history.stages
        old, later, new = (len(stage.nodes) for stage in stages)
        self._begin(
            1,
            f"A cluster comes up as clusters grow: {old} nodes that fill up, {later} more, and at "
            f"last {new} new ones. Kubernetes places a pod once, and never moves it.",
        )
        self._pace(0)
        pods = 0
        for stage in stages:
            for made in (*stage.nodes, *stage.objects):
                self._make(made)
            pods += stage.pods
            await self._has_come_up(pods)
        self._ending.guarded = sum(
            not (budget.get("status") or {}).get("disruptionsAllowed")
            for budget in self.cluster.store.all(POD_DISRUPTION_BUDGETS)
        )
        self._dips = Dips(self.cluster.store, self.cluster.clock.now)
        if self.web is not None:
            await self.web.sees_another()
        self._ending.before = self.scene()
        self._audience.sees(self._ending.before)
        await self._stand_still(_LOOK_SECONDS)

    async def _has_come_up(self, pods: int) -> None:
        """Or what has not waits for nodes that come later."""
        await _first_of(
            self._onlooker.until(lambda: self._onlooker.has_come_up(pods)),
            asyncio.sleep(_COME_UP_SECONDS),
        )

    def _make(self, made: Made) -> None:
        # Some namespaces every cluster has.
        if self.cluster.store.find(made.resource, made.namespace, made.name) is None:
            self.cluster.api.create(made.resource, made.namespace, made.body)

    async def _show_plan(self) -> None:
        self._begin(
            2,
            "rescheduler plan: what it would move, and why. Every hard rule of the scheduler "
            f"holds, and every budget, of which {self._ending.guarded} allow no disruption.",
        )
        async with self.cluster.connect() as kube:
            seen = await preview(kube, self.cluster.clock, CONFIGURATION, steps=_STEPS)
        self._planned = len(seen.plan.moves)
        about = f"{len(seen.snapshot.nodes)} nodes, {len(seen.snapshot.rows)} pods"
        self._audience.sees_plan(seen.plan, about)
        if self.web is not None:
            self.web.sees_plan(seen.snapshot, seen.plan)
        await self._stand_still(_READ_SECONDS)

    async def _move_and_maintain(self) -> None:
        self._begin(
            3,
            "rescheduler run: it carries out what it plans. Each new pod is Ready on its target, "
            "and serves, before the old one goes.",
        )
        await _first_of(
            self._onlooker.until(lambda: self._onlooker.has_ended(self._planned)),
            self._onlooker.quiet(_QUIET_SECONDS),
        )
        node = self._ending.emptied = self._node_to_empty()
        self._begin(
            4,
            f"kubectl label node {node} {names.MAINTENANCE}=true: it empties, StatefulSet pods "
            "one at a time, steered to where there is room.",
        )
        self._label(node, "true")
        await _first_of(
            self._onlooker.until(lambda: self._is_empty(node)),
            asyncio.sleep(_PATIENCE_SECONDS),
        )
        self._ending.left_on_it = self._onlooker.pods_on(node)
        await self._drain_rudely()
        # Where its pods went to may be uneven now.
        await self._onlooker.quiet(_QUIET_SECONDS)

    async def _drain_rudely(self) -> None:
        node, back = self._node_to_empty(), self._ending.emptied
        self._ending.drained = node
        self._begin(
            5,
            f"{back} is back, and somebody who waits for nobody runs kubectl drain {node}: our "
            "guard holds each eviction until the pod serves elsewhere.",
        )
        self._label(back, None)
        # A small cluster has no room without it.
        await self._onlooker.until(lambda: self._onlooker.takes_pods(back))
        now = asyncio.get_running_loop().time
        begun = now()
        if await rude_drains.drain(self.cluster.api, node, until=begun + _PATIENCE_SECONDS):
            self._ending.drain_seconds = now() - begun

    async def _change_over_the_day(self) -> None:
        node = self._ending.drained
        self._begin(
            6,
            f"{node} is back, and load changes over the day: what becomes uneven is evened out, "
            "and every workload keeps all of its pods. Ctrl-C ends it.",
        )
        rude_drains.cordon(self.cluster.api, node, wanted=False)
        self._pace(_DAY_PACE)
        await asyncio.Event().wait()

    # ------------------------------------------------------------------ maintenance, dips

    def _node_to_empty(self) -> str:
        """The one with most pods that have to be steered."""
        found: Counter[str] = Counter()
        for pod in self.cluster.store.all(PODS):
            if is_active(pod):
                found[pod["spec"].get("nodeName") or ""] += _weight(pod)
        able = (each.name for each in self.scene().nodes if each.look is NodeLook.PLAIN)
        return max(able, key=lambda name: (found[name], name))

    def _label(self, node: str, value: str | None) -> None:
        change = {"metadata": {"labels": {names.MAINTENANCE: value}}}
        self.cluster.api.patch(NODES, None, node, change)

    def _is_empty(self, node: str) -> bool:
        return not self._onlooker.pods_on(node) and self._onlooker.is_calm

    def _bad_dips(self) -> list[Dip]:
        """A pod that must end first is away while it starts again, and no other of its workload."""
        found = self._dips.all if self._dips is not None else []
        return [each for each in found if each.cause is not Cause.RECREATE or each.short > 1]


def _weight(pod: Object) -> int:
    owner = controller(pod)
    return 100 if owner is not None and owner["kind"] == _STATEFUL else 1


# ---------------------------------------------------------------------- waiting


async def _unless(stop: asyncio.Event, doing: Coroutine[Any, Any, None]) -> bool:
    """False: it was told to stop before that was done."""
    task = asyncio.ensure_future(doing)
    await _first_of(asyncio.wait([task]), stop.wait())
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return False
    task.result()
    return True


async def _first_of(*conditions: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.ensure_future(each) for each in conditions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
