"""The continuous controller: one pass after the other, while the moves of those before go on."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import structlog

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import APPROVE, Configuration
from rescheduler.controller import server_lacks
from rescheduler.controller.beside_passes import minding_pauses, stopping_with
from rescheduler.controller.events import Regarding, Trail, lease_of, recording, silent
from rescheduler.controller.last_check import LastCheck
from rescheduler.controller.leader_session import Connect, standing_by
from rescheduler.controller.parts_in_force import migrated, observed, whole
from rescheduler.controller.pass_failures import PassFailures
from rescheduler.controller.passes import Pass, Passes
from rescheduler.controller.pausing import Pausing
from rescheduler.controller.plans import Proposing, Tidings, keeping
from rescheduler.controller.plans_under_way import PlansUnderWay, carrying_out
from rescheduler.controller.publishing import Publisher
from rescheduler.controller.reports import PassReport
from rescheduler.controller.settings import Settings
from rescheduler.controller.shutdown import GRACE_SECONDS
from rescheduler.controller.triggers import Trigger, Watch
from rescheduler.controller.waiting import first_of, unless_stopped
from rescheduler.controller.whole_cluster import WholeCluster
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Term
from rescheduler.migrate import Migrator, Outcome, migrating
from rescheduler.model import windows
from rescheduler.model.objects import Object
from rescheduler.model.pausing import Pause
from rescheduler.observe import Observer, observing

_GATHER_SECONDS: Final = 0.2
"""What calls for an early pass seldom comes alone: several nodes are labelled by one command."""
_SHORTEST_SECONDS: Final = 1.0
"""From the end of a pass to an early one."""
_RESTART_SECONDS: Final = (1.0, 5.0, 15.0, 30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatable:
    """For runs on virtual time, which are to come out the same again: no time passes there while a
    search goes on, so its steps are its limit, and pauses are as long as the seed says.
    """

    seed: int = 0
    steps: int = plan.Search().steps
    writes_plans: bool = False
    """Somebody reads them: a simulation is shown."""


class Loop:
    """Passes at the interval, and early ones, until it is told to stop.

    A pass that fails is told, and followed by the next; so is a defect of ours.
    """

    def __init__(  # noqa: PLR0913 - the last two are for few
        self,
        kube: KubeApi,
        clock: Clock,
        settings: Settings,
        stop: asyncio.Event,
        *,
        term: Term | None,
        pausing: Pausing | None = None,
        repeatable: Repeatable | None = None,
        tidy: Callable[[], None] = lambda: None,
        ourselves: Regarding | None = None,
        publisher: Publisher | None = None,
        proposes: bool = True,
    ) -> None:
        """Without a term they only look, plan and tell. `tidy` is called when all is listed, and
        between passes. `ourselves`: what Events about the configuration and about pauses are on.
        The publisher hears what is known and done. `proposes`: plans are written down.
        """
        self._kube = kube
        self._clock = clock
        self._settings = settings
        self._changes = settings.changes
        self._stop = stop
        self._term = term
        self._pausing = pausing or Pausing.never()
        self._search, self._jitter = plan.Search(), random.Random()  # noqa: S311 - spreads retries
        if repeatable is not None:
            self._search = plan.Search(seed=repeatable.seed, steps=repeatable.steps)
            self._jitter = random.Random(repeatable.seed)  # noqa: S311 - repeatable
        # On virtual time nobody reads Events, and runs are to come out the same.
        self._writes_events = term is not None and repeatable is None
        self._tells_lacks = repeatable is None
        self._proposes = proposes
        self._is_read = repeatable is None or repeatable.writes_plans
        self._ourselves = ourselves
        self._trail = Trail(silent)
        self._trigger = Trigger()
        self._tidy = tidy
        self._publisher = publisher or Publisher(clock, settings)
        self._pass_number = 0
        self._failures = PassFailures()
        self._log = structlog.get_logger()

    async def run(self) -> None:
        """Raises ReschedulerError when it cannot even begin: a restart would not help."""
        if self._tells_lacks:
            await server_lacks.tell(self._kube)
        async with self._leaving_a_trail() as trail:
            self._trail = trail
            with self._settings.heard_by(self._hear_of_settings):
                self._hear_of_settings()
                self._pausing.listeners.append(self._hear_of_pause)
                self._hear_of_pause(self._pausing.pause)
                with self._publisher.may_be_called(self._trigger.fire):
                    await self._go_on()

    @asynccontextmanager
    async def _leaving_a_trail(self) -> AsyncIterator[Trail]:
        if not self._writes_events:
            yield Trail(silent)
            return
        async with recording(self._kube, self._clock) as recorder:
            yield Trail(recorder)

    def _hear_of_settings(self) -> None:
        self._trail.configured(self._settings, self._ourselves)
        if self._settings.changes != self._changes:
            self._changes = self._settings.changes
            self._trigger.fire("the configuration has changed")

    def _hear_of_pause(self, pause: Pause | None) -> None:
        self._publisher.pauses(is_paused=pause is not None)
        self._trail.paused(pause, self._settings, self._ourselves)

    async def _go_on(self) -> None:
        restarts = 0
        while not self._stop.is_set():
            begun = self._pass_number
            try:
                await self._observe_and_act()
            except errors.NotLeading:
                raise
            except ReschedulerError as problem:
                if not self._pass_number:
                    raise
                self._log.error("restarting observer", problem=str(problem))
            except Exception:
                if not self._pass_number:
                    raise
                self._log.exception("restarting observer: internal error, please report")
            restarts = 1 if self._pass_number > begun else restarts + 1
            pause = _RESTART_SECONDS[min(restarts, len(_RESTART_SECONDS)) - 1]
            await first_of(self._stop.wait(), self._clock.sleep(pause))

    async def _observe_and_act(self) -> None:
        """As long as the same is to be observed."""
        configuration = self._settings.configuration
        needed = {*plan.needs(configuration.enabled_strategies), *self._publisher.looking_on.needs}
        async with observing(
            self._kube, self._clock, needed, configuration.usage, jitter=self._jitter
        ) as observer:
            self._publisher.observes(observer)
            if not await unless_stopped(observer.settled(), self._stop):
                return
            await unless_stopped(observer.measure(), self._stop)
            self._tidy()
            async with self._publisher.looking_on.by(observer):
                while self._goes_on_with(observed, configuration):
                    await self._act(observer)

    async def _act(self, observer: Observer) -> None:
        """As long as migrations are carried out in the same way."""
        configuration = self._settings.configuration
        if self._term is None:
            await self._go_round(observer, None, PassReport(None, self._opens))
            return
        async with migrating(
            self._kube,
            self._clock,
            configuration,
            holder=self._term.holder,
            fence=self._term.number,
            planner=LastCheck(observer, lambda: self._settings.configuration),
            tries_again=True,
            wrote=self._publisher.wrote,
            ended=self._hear_of_end,
            is_paused=lambda: self._pausing.is_paused,
            jitter=self._jitter,
        ) as migrator:
            self._publisher.migrates(migrator)
            if not await unless_stopped(migrator.synced(), self._stop):
                return
            if not await unless_stopped(self._pausing.known(), self._stop):
                return
            if migrator.unfinished:
                self._log.info("resuming unfinished migrations", moves=migrator.unfinished)
            # As long as the migrator counts: what it has told is not told again by other settings.
            report = PassReport(migrator, self._opens)
            while self._goes_on_with(observed, configuration) and self._goes_on_with(
                migrated, configuration
            ):
                await self._go_round(observer, migrator, report)
            await self._end(migrator)

    def _opens(self) -> str:
        return windows.in_words(self._settings.configuration.windows, self._clock.now())

    def _hear_of_end(self, record: Object, outcome: Outcome) -> None:
        self._publisher.ended(record, outcome)
        self._trail.ended(record, outcome)

    def _goes_on_with(
        self, part: Callable[[Configuration], object], configuration: Configuration
    ) -> bool:
        is_same = part(self._settings.configuration) == part(configuration)
        return is_same and not self._stop.is_set()

    async def _end(self, migrator: Migrator) -> None:
        is_over = self._stop.is_set()
        words = (
            "rescheduler stopping: no new moves"
            if is_over
            else "configuration changed: moves go on by it"
        )
        self._log.info(words, under_way=migrator.unfinished)
        await migrator.stop(GRACE_SECONDS)
        if not is_over:
            return
        left = migrator.unfinished
        words = "left to the next leader" if left else "nothing is left to do"
        self._log.info("rescheduler stopped", unfinished=left, because=words)

    # ------------------------------------------------------------------ round and round

    async def _go_round(
        self, observer: Observer, migrator: Migrator | None, report: PassReport
    ) -> None:
        """As long as the configuration is the same."""
        configuration = self._settings.configuration
        purpose = WholeCluster(self._kube, configuration, observer, self._trail)
        interval = configuration.rescheduling_interval_seconds
        async with (
            carrying_out(self._clock, interval, self._trigger) as plans,
            self._proposing(observer, migrator, plans) as proposing,
        ):
            passes = Passes(
                self._clock,
                observer,
                migrator,
                purpose,
                search=self._search,
                decided=self._publisher.record.decided,
                is_paused=lambda: self._pausing.is_paused,
                proposing=proposing,
            )
            self._publisher.is_synced()
            async with (
                stopping_with(self._stop, passes),
                minding_pauses(self._pausing, plans, self._trigger),
            ):
                await self._pass_after_pass(passes, plans, observer, migrator, report)

    async def _pass_after_pass(
        self,
        passes: Passes,
        plans: PlansUnderWay,
        observer: Observer,
        migrator: Migrator | None,
        report: PassReport,
    ) -> None:
        configuration = self._settings.configuration
        interval = configuration.rescheduling_interval_seconds
        while self._goes_on_with(whole, configuration):
            early = self._trigger.take()
            watch = Watch(observer, self._clock, configuration)
            begun = self._clock.monotonic()
            if (seen := await self._pass(passes, report, early)) is not None:
                plans.begin(seen, begun)
            # Until the next one nobody looks at what it saw, which is as large as the cluster.
            del seen
            self._tidy()
            await self._until_the_next(watch, migrator, begun + interval)

    def _proposing(
        self, observer: Observer, migrator: Migrator | None, plans: PlansUnderWay
    ) -> AbstractAsyncContextManager[Proposing | None]:
        """Plans are written down, and those that somebody approves are carried out."""
        configuration = self._settings.configuration
        # On virtual time nobody reads them, but for those who have to say yes, or to wait.
        waits = configuration.mode == APPROVE or bool(configuration.windows)
        if not self._proposes or not (self._is_read or waits):
            return nullcontext()
        return keeping(
            self._kube,
            self._clock,
            configuration,
            observer,
            migrator,
            carry_out=plans.carry_out,
            is_paused=lambda: self._pausing.is_paused,
            tidings=Tidings(
                self._publisher.plans,
                self._trail.tell,
                self._ourselves or lease_of(self._settings),
            ),
        )

    async def _pass(self, passes: Passes, report: PassReport, early: str) -> Pass | None:
        """None: it failed."""
        self._pass_number += 1
        begun = self._clock.monotonic()
        with structlog.contextvars.bound_contextvars(**{"pass": self._pass_number}):
            try:
                seen = await passes.one()
            except errors.NotLeading:
                raise
            except Exception as problem:  # noqa: BLE001 - one bad pass must not be the last one
                self._failures.note(problem)
                self._publisher.pass_failed(self._clock.monotonic() - begun)
                return None
            self._failures.end()
            seconds = self._clock.monotonic() - begun
            self._publisher.passed(seen.snapshot, seen.plan, seconds)
            report.log(seen, early=early, seconds=seconds, pause=self._pausing.pause)
        return seen

    # ------------------------------------------------------------------ waiting

    async def _until_the_next(self, watch: Watch, migrator: Migrator | None, due: float) -> None:
        """The interval counts from beginning to beginning, unless a pass takes longer than that."""
        left = max(due - self._clock.monotonic(), 0.0)
        shortest = min(left, _SHORTEST_SECONDS)
        await first_of(
            self._stop.wait(),
            self._clock.sleep(left),
            self._triggered(shortest),
            watch.watch_nodes(self._trigger),
            watch.watch_loads(self._trigger),
            watch.watch_windows(self._trigger),
            *self._who_asks(watch, migrator),
        )

    def _who_asks(
        self, watch: Watch, migrator: Migrator | None
    ) -> Iterator[Coroutine[Any, Any, None]]:
        # Whoever only looks gives nobody a target, nor does a pass while moves are paused.
        if migrator is not None and not self._pausing.is_paused:
            yield watch.watch_records(self._trigger, migrator)
            yield watch.watch_waiting(self._trigger, migrator)

    async def _triggered(self, shortest: float) -> None:
        begun = self._clock.monotonic()
        await self._trigger.fired()
        waited = self._clock.monotonic() - begun
        await self._clock.sleep(max(_GATHER_SECONDS, shortest - waited))


# ---------------------------------------------------------------------- from the first to the last


async def run(  # noqa: PLR0913 - the last three are for few
    connect: Connect,
    clock: Clock,
    settings: Settings,
    stop: asyncio.Event,
    *,
    repeatable: Repeatable | None = None,
    tidy: Callable[[], None] = lambda: None,
    ourselves: Regarding | None = None,
    publisher: Publisher | None = None,
) -> None:
    """Until it is told to stop. While another leads it stands by, and looks at nothing else, unless
    others are answered: what it would see by then is listed anew in a moment, and until then costs
    nobody anything.

    Raises:
        LeadershipLost: whoever leads now goes on.
    """
    publisher = publisher or Publisher(clock, settings)
    publisher.stands_by()
    async with (
        publisher.guarding.at_work(connect),
        publisher.looking_on.standing_by(connect),
        standing_by(
            connect,
            clock,
            settings.configuration.leader_election,
            stop,
            # Nobody types commands in a simulation, and a day of it would be full of looks.
            looks_for_pauses=repeatable is None,
            hear=publisher.hears,
        ) as session,
    ):
        if session is None:
            return
        acts = Loop(
            session.kube,
            clock,
            settings,
            stop,
            term=session.leadership.term,
            pausing=session.pausing,
            repeatable=repeatable,
            tidy=tidy,
            ourselves=ourselves,
            publisher=publisher,
        )
        with publisher.leads():
            await session.run(acts.run())


async def dry_run(  # noqa: PLR0913 - the last three are for few
    connect: Connect,
    clock: Clock,
    settings: Settings,
    stop: asyncio.Event,
    *,
    tidy: Callable[[], None] = lambda: None,
    ourselves: Regarding | None = None,
    publisher: Publisher | None = None,
    proposes: bool = False,
) -> None:
    """The same, and nothing is written, but for plans where it `proposes`: so it needs no lease,
    and disturbs nobody who has it.
    """
    del ourselves  # nor are Events
    publisher = publisher or Publisher(clock, settings)
    publisher.looks()
    async with connect() as kube:
        looks = Loop(
            kube,
            clock,
            settings,
            stop,
            term=None,
            tidy=tidy,
            publisher=publisher,
            proposes=proposes,
        )
        await looks.run()
