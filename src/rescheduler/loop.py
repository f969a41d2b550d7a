"""The continuous controller: one pass after the other, while the moves of those before go on."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import structlog

from rescheduler import plan
from rescheduler.acting import Connect, Right
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.cycle import GRACE_SECONDS, Pass, Passes, checking
from rescheduler.early import Early, Watched
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Fenced, Term, leading
from rescheduler.migrate import Figures, Migrator, migrating
from rescheduler.migrate.waves import PlanRun
from rescheduler.observe import Observer, observing

_GATHER_SECONDS: Final = 0.2
"""What calls for an early pass seldom comes alone: several nodes are labelled by one command."""
_SHORTEST_SECONDS: Final = 1.0
"""From the end of a pass to an early one."""
_CUT_SHORT_SHARE: Final = 1 / 3
"""Of the interval: after which a pass that maxReschedulePods cut short is followed by the next,
once its pods serve elsewhere. What came of it is known then, where load is by requests; where it is
measured, its nodes rest until it is.
"""
_MANY_FAILURES: Final = 3
_RESTART_SECONDS: Final = (1.0, 5.0, 15.0, 30.0)


@dataclass(slots=True)
class _Counted:
    """What had been moved when the last sentence was said."""

    moved: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatable:
    """For runs on virtual time, which are to come out the same again: no time passes there while a
    search goes on, so its steps are its limit, and pauses are as long as the seed says.
    """

    seed: int = 0
    steps: int = plan.Search().steps


class Loop:
    """Passes at the interval, and early ones, until it is told to stop.

    A pass that fails is told, and followed by the next; so is a defect of ours.
    """

    def __init__(  # noqa: PLR0913 - the last two are for few
        self,
        kube: KubeApi,
        clock: Clock,
        configuration: Configuration,
        stop: asyncio.Event,
        *,
        term: Term | None,
        repeatable: Repeatable | None = None,
        tidy: Callable[[], None] = lambda: None,
    ) -> None:
        """Without a term they only look, plan and tell. `tidy` is called when all is listed, and
        between passes.
        """
        self._kube = kube
        self._clock = clock
        self._configuration = configuration
        self._stop = stop
        self._term = term
        self._search, self._jitter = plan.Search(), random.Random()  # noqa: S311 - spreads retries
        if repeatable is not None:
            self._search = plan.Search(seed=repeatable.seed, steps=repeatable.steps)
            self._jitter = random.Random(repeatable.seed)  # noqa: S311 - repeatable
        self._early = Early()
        self._tidy = tidy
        self._cycle = 0
        self._failures = 0
        self._counted = _Counted()
        self._log = structlog.get_logger()

    async def run(self) -> None:
        """Raises ReschedulerError when it cannot even begin: a restart would not help."""
        restarts = 0
        while not self._stop.is_set():
            begun = self._cycle
            try:
                await self._observe_and_act()
            except errors.NotLeading:
                raise
            except ReschedulerError as problem:
                if not self._cycle:
                    raise
                self._log.error("begins anew", problem=str(problem))
            except Exception:
                if not self._cycle:
                    raise
                self._log.exception("begins anew, after an error that nobody expected")
            restarts = 1 if self._cycle > begun else restarts + 1
            pause = _RESTART_SECONDS[min(restarts, len(_RESTART_SECONDS)) - 1]
            await self._first_of(self._stop.wait(), self._clock.sleep(pause))

    async def _observe_and_act(self) -> None:
        configuration = self._configuration
        needed = plan.needs(configuration.enabled_strategies)
        async with observing(
            self._kube, self._clock, needed, configuration.usage, jitter=self._jitter
        ) as observer:
            if not await self._unless_stopped(observer.settled()):
                return
            await self._unless_stopped(observer.measure())
            self._tidy()
            if self._term is None:
                await self._go_round(observer, None)
                return
            async with migrating(
                self._kube,
                self._clock,
                configuration,
                holder=self._term.holder,
                fence=self._term.number,
                why_not=checking(observer, configuration),
                tries_again=True,
                jitter=self._jitter,
            ) as migrator:
                if not await self._unless_stopped(migrator.synced()):
                    return
                self._counted = _Counted()
                if migrator.unfinished:
                    self._log.info("goes on with what is unfinished", moves=migrator.unfinished)
                await self._go_round(observer, migrator)
                await self._end(migrator)

    async def _end(self, migrator: Migrator) -> None:
        self._log.info("stops: begins nothing more", under_way=migrator.unfinished)
        await migrator.stop(GRACE_SECONDS)
        left = migrator.unfinished
        words = "left to whoever comes next" if left else "nothing is left to do"
        self._log.info("stopped", unfinished=left, because=words)

    # ------------------------------------------------------------------ round and round

    async def _go_round(self, observer: Observer, migrator: Migrator | None) -> None:
        passes = Passes(
            self._kube, self._clock, self._configuration, observer, migrator, search=self._search
        )
        async with self._beside(passes) as carrying:
            while not self._stop.is_set():
                why = self._early.take()
                watched = Watched(observer, self._clock, self._configuration)
                begun = self._clock.monotonic()
                await self._pass(passes, migrator, carrying, why)
                self._tidy()
                await self._until_the_next(watched, begun)

    @asynccontextmanager
    async def _beside(self, passes: Passes) -> AsyncIterator[set["asyncio.Task[None]"]]:
        """What goes on beside the passes: the plans of earlier ones, and a search ends with us."""
        carrying: set[asyncio.Task[None]] = set()

        async def tell_passes() -> None:
            await self._stop.wait()
            passes.stop()

        telling = asyncio.create_task(tell_passes())
        try:
            yield carrying
        finally:
            for task in (telling, *carrying):
                task.cancel()
            await asyncio.gather(telling, *carrying, return_exceptions=True)

    async def _pass(
        self,
        passes: Passes,
        migrator: Migrator | None,
        carrying: set["asyncio.Task[None]"],
        why: str,
    ) -> None:
        self._cycle += 1
        begun = self._clock.monotonic()
        with structlog.contextvars.bound_contextvars(cycle=self._cycle):
            try:
                seen = await passes.one()
            except errors.NotLeading:
                raise
            except Exception as problem:  # noqa: BLE001 - one bad pass must not be the last one
                self._note_failure(problem)
                return
            if self._failures >= _MANY_FAILURES:
                self._log.info("passes succeed again", failed_before=self._failures)
            self._failures = 0
            self._tell(seen, migrator, why, self._clock.monotonic() - begun)
        if seen.run is not None:
            todo = [self._carry_out(seen.run)]
            if seen.plan.is_cut_short:
                todo.append(self._go_on_early(seen.run, begun))
            for each in todo:
                task = asyncio.create_task(each)
                carrying.add(task)
                task.add_done_callback(carrying.discard)

    async def _carry_out(self, run: PlanRun) -> None:
        moves = run.left
        try:
            await run.run()
        except errors.KubeError as problem:
            # Only of a leader that was: it is about to be told.
            self._log.warning("leaves a plan", problem=str(problem))
        except Exception:  # noqa: BLE001 - its moves go on, and others are planned
            self._log.exception("leaves a plan, after an error that nobody expected")
        # Failures alone are no reason: those pods rest for a while, and others wait for their turn.
        if run.moved and (run.skipped or any(move.asked for move in moves)):
            self._early.call("a plan has ended, and something may be left to do")

    async def _go_on_early(self, run: PlanRun, begun: float) -> None:
        """After a pass that had more to do than it was allowed to. Originals may take long to end:
        they are no load any more, and nobody has to wait for them.
        """
        if not await run.all_taken_over():
            return
        pause = self._configuration.rescheduling_interval_seconds * _CUT_SHORT_SHARE
        await self._clock.sleep(max(begun + pause - self._clock.monotonic(), 0.0))
        if not run.failed:
            self._early.call("the pass before ended at maxReschedulePods, and its pods have moved")

    # ------------------------------------------------------------------ waiting

    async def _until_the_next(self, watched: Watched, begun: float) -> None:
        """The interval counts from beginning to beginning, unless a pass takes longer than that."""
        interval = self._configuration.rescheduling_interval_seconds
        left = max(begun + interval - self._clock.monotonic(), 0.0)
        shortest = min(left, _SHORTEST_SECONDS)
        await self._first_of(
            self._stop.wait(),
            self._clock.sleep(left),
            self._called_early(shortest),
            watched.watch_nodes(self._early),
            watched.watch_loads(self._early),
        )

    async def _called_early(self, shortest: float) -> None:
        begun = self._clock.monotonic()
        await self._early.called()
        waited = self._clock.monotonic() - begun
        await self._clock.sleep(max(_GATHER_SECONDS, shortest - waited))

    async def _unless_stopped(self, doing: Awaitable[object]) -> bool:
        """False: it was not waited for any longer."""
        done = asyncio.ensure_future(doing)
        await self._first_of(self._stop.wait(), asyncio.wait([done]))
        if not done.done():
            done.cancel()
            return False
        await done
        return True

    async def _first_of(self, *conditions: Awaitable[object]) -> None:
        tasks = [asyncio.ensure_future(each) for each in conditions]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------ telling

    def _note_failure(self, problem: Exception) -> None:
        self._failures += 1
        if isinstance(problem, ReschedulerError):
            self._log.error("the pass failed, the next one follows", problem=str(problem))
        else:
            self._log.error("the pass met a defect of ours, please report it", exc_info=problem)
        if self._failures % _MANY_FAILURES == 0:
            self._log.error("passes keep failing: nothing is planned", in_a_row=self._failures)

    def _tell(
        self,
        seen: Pass,
        migrator: Migrator | None,
        why: str,
        seconds: float,
    ) -> None:
        """One sentence a cycle."""
        planned, refused = len(seen.plan.moves), len(seen.plan.refusals)
        nodes, pods = len(seen.snapshot.nodes), len(seen.snapshot.rows)
        figures = {"nodes": nodes, "pods": pods, "planned": planned, "refused": refused}
        said = f"saw {_counted(nodes, 'node')} and {_counted(pods, 'pod')}"
        if migrator is None:
            for move in seen.plan.moves:
                self._log.info(
                    "would move",
                    pod=move.full_name,
                    source=move.source,
                    target=move.target,
                    strategy=move.strategy,
                    reason=move.reason,
                )
            said += f", would move {planned}"
        else:
            moved = migrator.figures.completed - self._counted.moved
            failed = migrator.figures.failed - self._counted.failed
            self._counted = _Counted(moved + self._counted.moved, failed + self._counted.failed)
            under_way = migrator.unfinished
            state = _state(migrator.figures, under_way)
            figures |= {"moved": moved, "failed": failed, "under_way": under_way, **state}
            said += (
                f", planned {_counted(planned, 'move')}; since the last cycle {moved} moved and "
                f"{failed} failed, {_in_words(migrator.figures, under_way)}"
            )
        said += f"; {_counted(refused, 'pod')} refused; {seen.plan.summary}"
        early = {"early": why} if why else {}
        self._log.info("cycle", **figures, **early, seconds=round(seconds, 3), summary=said)


def _state(figures: Figures, under_way: int) -> dict[str, Any]:
    """How many are moved at once, who waits and why; and how often it did not go as planned."""
    told: dict[str, Any] = {
        "in_flight": figures.in_flight,
        "ending": figures.ending,
        "allowed": figures.allowed,
        "waiting": _waiting(figures, under_way),
        "paused_seconds": round(figures.paused_seconds),
        "retries": figures.retries,
        "landed_elsewhere": figures.landed_elsewhere,
        "fallbacks": dict(figures.fallbacks),
    }
    return {name: value for name, value in told.items() if value}


def _in_words(figures: Figures, under_way: int) -> str:
    waiting = _waiting(figures, under_way)
    said = f"{under_way} under way"
    if waiting:
        said += f" ({waiting} of them wait, {figures.in_flight} of {figures.allowed} at once)"
    if figures.paused_seconds:
        said += f"; none begins for {figures.paused_seconds:.0f} s, as too many failed in a row"
    return said


def _waiting(figures: Figures, under_way: int) -> int:
    return max(0, under_way - figures.in_flight - figures.ending)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


# ---------------------------------------------------------------------- from the first to the last


async def run(
    connect: Connect,
    clock: Clock,
    configuration: Configuration,
    stop: asyncio.Event,
    *,
    repeatable: Repeatable | None = None,
    tidy: Callable[[], None] = lambda: None,
) -> None:
    """Until it is told to stop. While another leads it stands by, and looks at nothing else: what
    it would see by then is listed anew in a moment, and until then costs nobody anything.

    Raises:
        LeadershipLost: whoever leads now goes on.
    """
    async with (
        connect() as kube,
        leading(configuration.leader_election, connect, clock) as candidate,
    ):
        acquired = asyncio.ensure_future(candidate.acquired())
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([acquired, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not acquired.done():
                return
            right = Right(Fenced(kube, acquired.result()), acquired.result())
        finally:
            for task in (acquired, stopped):
                task.cancel()
            await asyncio.gather(acquired, stopped, return_exceptions=True)
        term = right.leadership.term
        acts = Loop(
            right.kube, clock, configuration, stop, term=term, repeatable=repeatable, tidy=tidy
        )
        await right.use(acts.run())


async def dry_run(
    connect: Connect,
    clock: Clock,
    configuration: Configuration,
    stop: asyncio.Event,
    *,
    tidy: Callable[[], None] = lambda: None,
) -> None:
    """The same, and nothing is written: so it needs no lease, and disturbs nobody who has it."""
    async with connect() as kube:
        await Loop(kube, clock, configuration, stop, term=None, tidy=tidy).run()
