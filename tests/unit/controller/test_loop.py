"""The loop: no bad pass is the last one, and nothing that matters waits for its turn."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from rescheduler.config import Configuration, NodeMaintenanceSettings
from rescheduler.controller import loop
from rescheduler.controller.passes import Pass
from rescheduler.controller.settings import Settings
from rescheduler.controller.shutdown import GRACE_SECONDS, to_an_end
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Term
from rescheduler.migrate import Figures
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model import names
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Plan, Report
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe.state import ClusterState

TIMES_FASTER = 1000


class FastClock:
    is_virtual = False

    def monotonic(self) -> float:
        return time.monotonic() * TIMES_FASTER

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.monotonic(), UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / TIMES_FASTER)


class Observer:
    """Of a cluster of one node."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.unschedulable = False
        self.taints: tuple[dict[str, str], ...] = ()
        self._changed = asyncio.Event()

    def lags(self) -> dict[str, float]:
        return {}

    def snapshot(self) -> Snapshot:
        return ClusterState().snapshot()

    def gaps(self) -> tuple[Gap, ...]:
        return ()

    def label(self, value: str) -> None:
        self.labels = {names.MAINTENANCE: value}
        self._changed.set()

    def cordon(self, wanted: object) -> None:
        self.unschedulable = bool(wanted)
        self._changed.set()

    def remove(self, wanted: object) -> None:
        """As cluster-autoscaler begins to, or gives it up."""
        taint = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
        self.taints = (taint,) if wanted else ()
        self.cordon(wanted)

    def nodes(self) -> tuple[Node, ...]:
        node = Node(
            name="a",
            labels=self.labels,
            taints=self.taints,
            allocatable={},
            ready=True,
            unschedulable=self.unschedulable,
        )
        return (node,)

    async def nodes_changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def settled(self) -> None:
        return

    async def measure(self) -> None:
        return


@dataclass
class Migrator:
    figures: Figures = field(default_factory=Figures)
    unfinished: int = 0
    stopped: list[float] = field(default_factory=list)

    is_synced: bool = True
    asking: set[tuple[str, str]] = field(default_factory=set)
    _asked: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, name: str) -> None:
        self.asking.add(("shop", name))
        self._asked.set()

    def of_pod(self, uid: str) -> list[Object]:
        del uid
        return []

    def targetless(self) -> set[tuple[str, str]]:
        return self.asking

    async def somebody_asks(self) -> None:
        await self._asked.wait()
        self._asked.clear()

    async def synced(self) -> None:
        if not self.is_synced:
            await asyncio.Event().wait()

    async def stop(self, grace_seconds: float) -> None:
        self.stopped.append(grace_seconds)


@dataclass
class Run:
    """A plan that is carried out until it meets this."""

    problem: Exception | None = None
    left: tuple[()] = ()
    moved: int = 0
    failed: int = 0
    skipped: tuple[()] = ()
    originals_end: bool = True

    async def run(self) -> None:
        if self.problem is not None:
            raise self.problem
        if not self.originals_end:
            await asyncio.Event().wait()

    async def all_taken_over(self) -> bool:
        return self.problem is None and not self.failed


@dataclass
class Scene:
    """What the loop is made of, in its simplest form."""

    results: Iterator[Exception | None]
    """Of each pass: what it fails by."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    observer: Observer = field(default_factory=Observer)
    migrator: Migrator = field(default_factory=Migrator)
    passes: int = 0
    in_pass: Callable[[int], None] = lambda _: None
    dies: Exception | None = None
    """Of the observer, when it is entered."""
    observed: int = 0
    told_to_hurry: bool = False
    run: "Run | None" = None
    plan: Plan = field(default_factory=Plan)

    async def one(self) -> Pass:
        self.passes += 1
        self.in_pass(self.passes)
        problem = next(self.results, None)
        if problem is not None:
            raise problem
        run = cast("PlanRun | None", self.run)
        return Pass(snapshot=ClusterState().snapshot(), plan=self.plan, run=run)

    def hurry(self) -> None:
        self.told_to_hurry = True


@contextmanager
def playing(monkeypatch: pytest.MonkeyPatch, scene: Scene) -> Iterator[Callable[..., loop.Loop]]:
    @asynccontextmanager
    async def observing(*_: object, **__: object) -> AsyncIterator[Observer]:
        scene.observed += 1
        if scene.dies is not None:
            raise scene.dies
        yield scene.observer

    @asynccontextmanager
    async def migrating(*_: object, **__: object) -> AsyncIterator[Migrator]:
        yield scene.migrator

    class Passes:
        def __init__(self, *_: object, **__: object) -> None:
            self.one = scene.one
            self.stop = scene.hurry

    for name, stand_in in (
        ("observing", observing),
        ("migrating", migrating),
        ("Passes", Passes),
    ):
        monkeypatch.setattr(loop, name, stand_in)

    async def tell_nothing(_: object) -> None:
        """Nobody here asks a server."""

    monkeypatch.setattr("rescheduler.controller.server_lacks.tell", tell_nothing)

    def made(**settings: Any) -> loop.Loop:  # noqa: ANN401
        kube = cast("KubeApi", None)  # nobody here asks a server
        chosen = {"enabled_strategies": ("NodeMaintenance",), **settings}
        in_force = Settings(Configuration(**chosen))
        return loop.Loop(kube, FastClock(), in_force, scene.stop, term=Term("us", 1))

    yield made


def stop_at(scene: Scene, number: int) -> None:
    def in_pass(now: int) -> None:
        if now == number:
            scene.stop.set()

    scene.in_pass = in_pass


async def test_a_pass_that_fails_is_followed_by_others_and_many_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = [errors.Unavailable("no answer"), ValueError("a bug"), errors.Unavailable("no answer")]
    scene = Scene(iter([None, *bad, None]))
    stop_at(scene, 6)
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made().run()
    events = [line["event"] for line in lines]
    assert events.count("pass failed, the next one follows") == 2
    assert events.count("pass failed: internal error, please report") == 1
    [many] = [line for line in lines if line["event"].startswith("passes keep failing")]
    assert many["in_a_row"] == 3
    [again] = [line for line in lines if line["event"] == "passes recovered"]
    assert again["failed_before"] == 3
    assert events.count("pass ended") == 3
    # All with the same observer: what it knows is not at fault.
    assert scene.observed == 1


async def test_told_to_stop_it_lets_what_is_nearly_done_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(iter(()))
    scene.migrator.unfinished = 2
    stop_at(scene, 1)
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made().run()
    # A search that is going on ends soon.
    assert scene.told_to_hurry
    assert scene.migrator.stopped == [GRACE_SECONDS]
    assert lines[-1]["event"] == "rescheduler stopped"
    assert lines[-1]["unfinished"] == 2
    assert lines[-1]["because"] == "left to the next leader"


async def test_who_asks_for_a_target_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once are one pass; and as long as one is not heard, others follow."""
    scene = Scene(iter(()))

    def in_pass(number: int) -> None:
        if number == 1:
            for name in ("one", "two"):
                asyncio.get_running_loop().call_soon(scene.migrator.ask, name)
        elif number == 3:
            scene.migrator.asking.clear()
            scene.stop.set()

    scene.in_pass = in_pass
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        async with asyncio.timeout(60):
            await made(rescheduling_interval_seconds=86_400.0).run()
    first, *others = [line.get("early") for line in lines if line["event"] == "pass ended"]
    assert first is None
    # Of a pass whose snapshot does not show them, nobody knows that it has heard them. Time flies,
    # so a busy machine may be late enough for a second reason: that they still ask.
    assert len(others) == 2
    assert all(str(each).startswith("2 PodMigrations ask for a target") for each in others), others


LABELLED = "a labelled for maintenance"


@pytest.mark.parametrize(
    ("settings", "changes", "expected"),
    [
        pytest.param(
            NodeMaintenanceSettings(),
            [{"label": "true"}, {"label": ""}],
            [LABELLED, "a no longer labelled for maintenance"],
            id="a label",
        ),
        pytest.param(
            NodeMaintenanceSettings(cordoned_nodes=True),
            [{"cordon": "true"}, {"cordon": ""}, {"label": "true"}],
            ["a cordoned", "a no longer cordoned", LABELLED],
            id="a cordon that counts",
        ),
        pytest.param(
            NodeMaintenanceSettings(),
            [{"cordon": "true", "label": "true"}],
            [LABELLED],
            id="not a cordon that counts for nothing",
        ),
        pytest.param(
            NodeMaintenanceSettings(cordoned_nodes=True, removed_nodes=True),
            [{"remove": "true"}],
            ["a about to be removed"],
            id="an autoscaler's removal where we are to help",
        ),
        pytest.param(
            NodeMaintenanceSettings(cordoned_nodes=True, removed_nodes=False),
            [{"remove": "true", "label": "true"}],
            [LABELLED],
            id="not an autoscaler's removal where we are not",
        ),
    ],
)
async def test_what_of_a_node_is_not_kept_waiting(
    monkeypatch: pytest.MonkeyPatch,
    settings: NodeMaintenanceSettings,
    changes: list[dict[str, str]],
    expected: list[str],
) -> None:
    """Changes by pass; the first one is heard before the second of the same pass."""
    scene = Scene(iter(()))

    def in_pass(number: int) -> None:
        if number > len(changes):
            scene.stop.set()
            return
        for what, value in changes[number - 1].items():
            asyncio.get_running_loop().call_soon(getattr(scene.observer, what), value)

    scene.in_pass = in_pass
    # The interval is longer than the test may take.
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        async with asyncio.timeout(60):
            await made(rescheduling_interval_seconds=86_400.0, node_maintenance=settings).run()
    early = [line.get("early") for line in lines if line["event"] == "pass ended"]
    assert early == [None, *expected]


async def test_what_keeps_it_from_beginning_is_told_and_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(iter(()), dies=ReschedulerError("no such server"))
    with playing(monkeypatch, scene) as made, pytest.raises(ReschedulerError, match="no such"):
        await made().run()
    assert scene.observed == 1


async def test_once_it_runs_it_begins_anew_whatever_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(iter(()))

    def in_pass(number: int) -> None:
        if number == 1:
            # Then a task of the observer dies, which ends the block by its error.
            monkeypatch.setattr(scene.observer, "nodes_changed", _die)
        elif number == 2:
            monkeypatch.undo()
            scene.stop.set()

    scene.in_pass = in_pass
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made().run()
    assert scene.observed == 2
    assert "restarting observer: internal error, please report" in [line["event"] for line in lines]


async def _die() -> None:
    raise RuntimeError("a bug")


async def test_whoever_leads_no_longer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(iter([errors.NotLeading("lost")]))
    with playing(monkeypatch, scene) as made, pytest.raises(errors.NotLeading):
        await made().run()
    assert scene.passes == 1


async def test_told_to_stop_it_does_not_wait_for_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may never come: the API server is gone."""
    scene = Scene(iter(()))
    scene.migrator.is_synced = False
    with playing(monkeypatch, scene) as made:
        running = asyncio.create_task(made().run())
        asyncio.get_running_loop().call_later(0.01, scene.stop.set)
        async with asyncio.timeout(60):
            await running
    assert scene.passes == 0


CUT_SHORT = Plan(
    reports=(Report(strategy="LoadBalancing", acted=True, summary="", figures={"passesLeft": 3.0}),)
)


@pytest.mark.parametrize(
    ("plan", "run", "is_early"),
    [
        (CUT_SHORT, Run(moved=10), True),
        (CUT_SHORT, Run(moved=0, originals_end=False), True),
        (CUT_SHORT, Run(moved=9, failed=1), False),
        (Plan(), Run(moved=10), False),
    ],
)
async def test_a_pass_that_was_cut_short_is_followed_early_once_all_its_pods_have_moved(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, run: Run, *, is_early: bool
) -> None:
    scene = Scene(iter(()), run=run, plan=plan)
    stop_at(scene, 2)
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made(rescheduling_interval_seconds=600.0).run()
    _, second = [line.get("early", "") for line in lines if line["event"] == "pass ended"]
    assert ("ended at maxReschedulePods" in second) == is_early


async def test_an_error_of_a_plan_is_told_and_passes_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(iter(()), run=Run(ExceptionGroup("tasks", [ValueError("a bug")])))
    stop_at(scene, 3)
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made(rescheduling_interval_seconds=1.0).run()
    assert scene.passes == 3
    told = [line for line in lines if line["event"].startswith("plan abandoned: internal error")]
    assert told


# ------------------------------------------------------------------ what a pass says


async def pass_line(monkeypatch: pytest.MonkeyPatch, scene: Scene) -> dict[str, Any]:
    stop_at(scene, 1)
    with playing(monkeypatch, scene) as made, capture_logs() as lines:
        await made().run()
    [line] = [dict(each) for each in lines if each["event"] == "pass ended"]
    return line


async def test_it_says_why_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(iter(()))
    scene.migrator.unfinished = 37
    scene.migrator.figures = Figures(
        in_flight=2,
        allowed=5,
        paused_seconds=241.4,
        landed_elsewhere=1,
        fallbacks=Counter({"NotServed": 3}),
    )
    line = await pass_line(monkeypatch, scene)
    assert (line["in_flight"], line["allowed"], line["waiting"]) == (2, 5, 35)
    assert (line["paused_seconds"], line["landed_elsewhere"]) == (241, 1)
    assert line["fallbacks"] == {"NotServed": 3}
    assert "37 under way (35 of them wait, 2 of 5 at once)" in line["summary"]
    assert "none begins for 241 s, as too many failed in a row" in line["summary"]


async def test_what_is_zero_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(iter(()))
    scene.migrator.figures = Figures(allowed=5)
    line = await pass_line(monkeypatch, scene)
    quiet = {"in_flight", "waiting", "paused_seconds", "landed_elsewhere", "fallbacks", "retries"}
    assert not quiet & line.keys()
    assert "0 under way;" in line["summary"]


# ------------------------------------------------------------------ an orderly end


@dataclass
class Doing:
    """Something that hears of the end of its move, which ends when the migrator is stopped."""

    told: int = 0
    stopped: list[float] = field(default_factory=list)
    _begun: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        self._begun.set()
        await self._ended.wait()
        self._heard.set()

    def begin_nothing(self) -> None:
        self.told += 1

    async def stop(self, grace_seconds: float) -> None:
        self.stopped.append(grace_seconds)
        self._ended.set()
        await self._heard.wait()

    async def interrupted(self, *, may_write: bool) -> None:
        task = asyncio.create_task(
            to_an_end(self.run(), self, may_write=lambda: may_write, stop=self.begin_nothing)
        )
        await self._begun.wait()
        task.cancel()
        async with asyncio.timeout(60):
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_interrupted_it_lets_what_is_nearly_done_end_and_hears_of_it() -> None:
    doing = Doing()
    await doing.interrupted(may_write=True)
    assert (doing.told, doing.stopped) == (1, [GRACE_SECONDS])


async def test_whoever_leads_no_longer_waits_for_nothing() -> None:
    doing = Doing()
    await doing.interrupted(may_write=False)
    assert (doing.told, doing.stopped) == (0, [])


async def test_done_it_lets_end_what_others_asked_for() -> None:
    migrator = Migrator()
    await to_an_end(asyncio.sleep(0), migrator, may_write=lambda: True, stop=lambda: None)
    assert migrator.stopped == [GRACE_SECONDS]


async def test_what_it_dies_of_is_passed_on_at_once() -> None:
    migrator = Migrator()
    with pytest.raises(RuntimeError, match="a bug"):
        await to_an_end(_die(), migrator, may_write=lambda: True, stop=lambda: None)
    assert migrator.stopped == []
