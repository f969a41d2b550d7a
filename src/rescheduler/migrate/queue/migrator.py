"""Carries out all migrations that there are records of: who may begin, who has ended, and how.

The records are the queue. Whoever creates one asks for a migration; whoever leads carries it out,
also those that another leader left in the middle.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.config.scheduling import SCORE
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.queue.admission import Breaker, Concurrency, admitted
from rescheduler.migrate.queue.denying import Denials
from rescheduler.migrate.queue.figures import Crowd, Figures
from rescheduler.migrate.queue.turns import Rests, Turns
from rescheduler.migrate.queue.workloads import Workloads
from rescheduler.migrate.record.indexes import Key
from rescheduler.migrate.record.requesting import Handle, Handles, Requests
from rescheduler.migrate.record.store import Store, key_of
from rescheduler.migrate.record.upkeep import Upkeep
from rescheduler.migrate.worker.context import Context, Planner, Unplanned
from rescheduler.migrate.worker.namespaces import Namespaces
from rescheduler.migrate.worker.rehearsals import Rehearsals
from rescheduler.migrate.worker.worker import Worker
from rescheduler.model import podmigration
from rescheduler.model.moves import Denial, Move
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason

_WAITING_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 60.0
"""After which a look is taken without any news: what waits may have become due by itself."""
# News comes in bursts; one round for all of a burst.
_GATHER_SECONDS: Final = 0.02


class Migrator:
    def __init__(  # noqa: PLR0913
        self,
        kube: KubeApi,
        clock: Clock,
        configuration: Configuration,
        *,
        holder: str,
        fence: int,
        planner: Planner,
        carry_out: bool,
        begins: Callable[[Object], bool],
        tries_again: bool,
        wrote: Callable[[Object], None],
        ended: Callable[[Object, Outcome], None],
        is_paused: Callable[[], bool],
        jitter: random.Random,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._configuration = configuration
        self._settings = configuration.migration
        self._carry_out = carry_out
        self._tries_again = tries_again
        self._wrote = wrote
        self._ended = ended
        self._news = asyncio.Event()
        """For `run` alone, which clears it."""
        self._changed = asyncio.Event()
        self._crowd = Crowd()
        self._store = Store(kube, clock, self._on_news, is_told=self._crowd.is_one_of_few)
        self._concurrency = Concurrency(self._settings.workers)
        self._breaker = Breaker(self._settings.circuit_breaker)
        self._namespaces = Namespaces(kube, clock)
        self._context = Context(
            kube=kube,
            clock=clock,
            namespaces=self._namespaces,
            rehearsals=Rehearsals(kube, clock),
            settings=self._settings,
            holder=holder,
            fence=fence,
            planner=planner,
            records_concerning=self._store.concerning,
            learn=self._note,
            trouble=lambda: self._concurrency.trouble(clock.monotonic()),
            is_told=self._crowd.is_one_of_few,
            extender_steers=SCORE in configuration.answered,
            jitter=jitter,
        )
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._workers: dict[Key, Worker] = {}
        self._resting = Rests(clock.monotonic)
        self._workloads = Workloads(kube, self._settings.workers)
        self._handles = Handles(self._store, self._running)
        self._turns = Turns(
            self._store,
            configuration.scope,
            running=self._running,
            resting=self._resting,
            asked_here=self._handles,
            begins=begins,
            is_paused=is_paused,
        )
        self._requests = Requests(
            kube,
            clock,
            configuration,
            store=self._store,
            handles=self._handles,
            trouble=self._context.trouble,
        )
        self._upkeep = Upkeep(
            kube,
            clock,
            configuration,
            store=self._store,
            requests=self._requests,
            jitter=jitter,
        )
        self._denials = Denials(self._context, self._store)
        self._is_stopping = False
        self._figures = Figures()
        self._log = structlog.get_logger()

    # ------------------------------------------------------------------ asking

    async def synced(self) -> None:
        await self._store.synced()

    @property
    def unfinished(self) -> int:
        return sum(1 for _ in self._turns.ours())

    @property
    def figures(self) -> Figures:
        self._figures.ending = len(self._running) - self._in_flight
        self._figures.in_flight = self._in_flight
        self._figures.allowed = self._concurrency.allowed
        self._figures.paused_seconds = self._breaker.pause_left(self._clock.monotonic())
        return self._figures

    async def submit(self, moves: Sequence[Move]) -> list[Handle]:
        """One handle per move, in their order. A pod that is being moved already is not moved
        twice: its handle is for the migration under way.
        """
        return await self._requests.submit(moves)

    def of_plan(self, plan: str, moves: Iterable[tuple[str, str, str]]) -> dict[str, Object]:
        """Records by the UID of the pod: of these moves of a plan, each with its namespace, the UID
        and the name of its record, as far as that is known.
        """
        return self._store.of_plan(plan, moves)

    def of_pod(self, uid: str) -> list[Object]:
        """Records of it, by attempt."""
        return self._store.of_pod(uid)

    async def deny(self, denials: Sequence[Denial]) -> None:
        """Ends those for which the planner has found no target."""
        for record, outcome in await self._denials.write(denials):
            self._figures.end(record, outcome)
            self._ended(record, outcome)
        self._tell()

    def targetless(self) -> Iterator[Key]:
        """Those of ours for which the planner is to choose a target."""
        return self._turns.targetless()

    async def somebody_asks(self) -> None:
        """For a target, since this ended the last time."""
        await self._store.somebody_asks()

    async def idle(self) -> None:
        """Until nothing is unfinished, or what is left needs an operator, or waits for one who ends
        a pause, or who plans.
        """
        while self._running or any(
            not (self._resting.is_given_up(key_of(each)) or self._turns.is_held(each))
            for each in self._turns.ours()
            if not podmigration.waits_for_target(each)
        ):
            self._changed.clear()
            await _either(self._changed, 1.0)

    async def stop(self, grace_seconds: float) -> None:
        """Begins none any more. The rest stays in its records for whoever comes next."""
        self._is_stopping = True
        end = self._clock.monotonic() + grace_seconds
        while self._clock.monotonic() < end and any(
            worker.step.is_nearly_done for worker in self._workers.values()
        ):
            self._changed.clear()
            await _either(self._changed, 0.2)
        await self._cancel_all()

    # ------------------------------------------------------------------ carrying out

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._store.run(), name="follow records")]
        if self._carry_out:
            tasks.append(asyncio.create_task(self._upkeep.tidy_up(), name="tidy records up"))
        if self._tries_again:
            again = self._upkeep.try_again(lambda: self._is_stopping)
            tasks.append(asyncio.create_task(again, name="try failed ones again"))
        for task in tasks:
            task.add_done_callback(lambda _: self._news.set())
        try:
            await self._store.synced()
            while True:
                self._news.clear()
                self._handles.look()
                self._tell_of_the_crowd(self._clock.monotonic())
                if self._carry_out and not self._is_stopping:
                    await self._hold_some()
                    await self._start_some()
                is_waiting = any(True for _ in self._turns.ours())
                await _either(self._news, _WAITING_SECONDS if is_waiting else _IDLE_SECONDS)
                for task in tasks:
                    if task.done():
                        task.result()  # it never ends in order
                await self._clock.sleep(_GATHER_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._cancel_all()
            self._tell_of_the_crowd(math.inf)

    def _on_news(self) -> None:
        self._tell()
        for worker in self._workers.values():
            if not worker.is_cancelled and not self._store.has(worker.record):
                worker.cancel()
            elif worker.is_in_group:
                worker.wake()

    def _note(self, record: Object) -> None:
        self._store.learn(record)
        self._wrote(record)

    def _tell(self) -> None:
        self._news.set()
        self._changed.set()

    def _tell_of_the_crowd(self, now: float) -> None:
        for kind, times in self._crowd.untold(now).items():
            self._log.warning(
                "more PodMigrations ended, or were ignored, before anything was done for them",
                outcome=kind,
                times=times,
                see="kubectl get podmigrations -A",
            )

    async def _hold_some(self) -> None:
        """Paused, those of which nobody could notice anything yet: they begin anew afterwards."""
        held = [
            self._running[key]
            for key, worker in self._workers.items()
            if self._turns.is_held(worker.record) and not worker.is_cancelled
        ]
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    async def _start_some(self) -> None:
        now = self._clock.monotonic()
        self._resting.wake()
        self._forget_what_is_over()
        begun = self._turns.begun()
        if self._room(now) <= 0 and not begun:
            return
        waiting = self._turns.next_ones(begun)
        if not waiting:
            return
        await self._workloads.learn(waiting)
        if self._is_stopping:
            return
        waiting = [each for each in waiting if not self._turns.is_held(each)]
        for record in admitted(
            [each for each in waiting if self._is_known(each)],
            [*(worker.record for worker in self._workers.values()), *self._turns.resting()],
            room=self._room(now),
            limits=self._configuration.in_flight,
            workloads=self._workloads.by_pod,
            overdue=self._turns.overdue(waiting, now),
        ):
            self._start(record)

    def _is_known(self, record: Object) -> bool:
        """Whose pod it is; what has begun goes on in any case."""
        is_begun = podmigration.phase_of(record) is Phase.IN_PROGRESS
        return is_begun or podmigration.pod_uid(record) in self._workloads.by_pod

    def _forget_what_is_over(self) -> None:
        is_left = self._store.is_unfinished
        self._resting.forget_all_but(lambda key: is_left(key) or key in self._running)
        known = self._workloads.by_pod
        left = {
            uid for uid in known if any(map(podmigration.is_unfinished, self._store.of_pod(uid)))
        }
        self._workloads.forget_all_but(left)

    def _room(self, now: float) -> int:
        if self._breaker.pause_left(now):
            return 0
        allowed = 1 if self._breaker.is_on_trial else self._concurrency.allowed
        return allowed - self._in_flight

    @property
    def _in_flight(self) -> int:
        return sum(not worker.is_ending for worker in self._workers.values())

    def _start(self, record: Object) -> None:
        key = key_of(record)
        try:
            worker = Worker(self._context, record)
        except Exception:  # noqa: BLE001 - written by another version, or by hand
            self._log.exception("PodMigration cannot be read", migration=key[1])
            self._resting.give_up(key)
            return
        self._workers[key] = worker
        self._store.has_its_turn(key)
        self._figures.begin(record)
        self._running[key] = asyncio.create_task(self._work(key, worker), name=f"migrate {key[1]}")

    async def _work(self, key: Key, worker: Worker) -> None:
        outcome: Outcome | None = None
        try:
            outcome = await worker.run()
        except errors.NotLeading as problem:
            self._log.warning(
                "migration stopped: it is not ours to carry out any more",
                migration=key[1],
                because=str(problem),
            )
            self._resting.give_up(key)
        except Exception:  # noqa: BLE001 - one bad object must not end all the others
            self._log.exception(
                "migration interrupted: internal error, please report", migration=key[1]
            )
            self._resting.note_error(key)
        finally:
            self._running.pop(key, None)
            self._workers.pop(key, None)
            self._tell()
        if outcome is not None:
            self._learn(key, worker, outcome)

    def _learn(self, key: Key, worker: Worker, outcome: Outcome) -> None:
        if worker.is_cancelled:
            self._store.forget(worker.record)
        else:
            self._store.learn(worker.record)
        if outcome.reason is Reason.NOT_FINISHED:
            # It has been patient for minutes already.
            self._resting.give_up(key)
        else:
            self._resting.forgive(key)
        if self._breaker.learn(outcome, self._clock.monotonic()):
            self._log.error(
                "circuit breaker open: too many migrations failed in a row",
                failures=self._breaker.failures,
                pause_seconds=self._settings.circuit_breaker.pause_seconds,
                last=outcome.message,
            )
        if outcome.moved:
            self._concurrency.success()
        self._figures.end(worker.record, outcome)
        self._handles.settle(key, outcome)
        if outcome.reason is not Reason.NOT_FINISHED:
            self._ended(worker.record, outcome)
        self._tell()

    async def _cancel_all(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def migrating(  # noqa: PLR0913
    kube: KubeApi,
    clock: Clock,
    configuration: Configuration,
    *,
    holder: str = "",
    fence: int = 0,
    planner: Planner | None = None,
    carry_out: bool = True,
    begins: Callable[[Object], bool] = lambda _: True,
    tries_again: bool = False,
    wrote: Callable[[Object], None] = lambda _record: None,
    ended: Callable[[Object, Outcome], None] = lambda _record, _outcome: None,
    is_paused: Callable[[], bool] = lambda: False,
    jitter: random.Random | None = None,
) -> AsyncIterator[Migrator]:
    """Goes on with what is unfinished, and with what is asked for, until the block ends.

    `carry_out` False: only asks, and sees how it goes; somebody else carries it out. `begins`: of
    the records that nobody has begun and that are not asked for here, those to be carried out, too.
    `tries_again`: what failed before is asked for anew, which is for one who stays to see its end.
    Of those that are carried out here, `wrote` hears of every write of a record, and `ended` of
    every end. `is_paused`: as long as it is, none begins, and those that have begun come to their
    end. `jitter` spreads retries.
    """
    migrator = Migrator(
        kube,
        clock,
        configuration,
        holder=holder,
        fence=fence,
        planner=planner or Unplanned(),
        carry_out=carry_out,
        begins=begins,
        tries_again=tries_again,
        wrote=wrote,
        ended=ended,
        is_paused=is_paused,
        jitter=jitter or random.Random(),  # noqa: S311 - guards nothing
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(migrator.run(), name="migrate")
            try:
                yield migrator
            finally:
                running.cancel()
    except BaseExceptionGroup as group:
        # Of the block itself, or of the migrator, whose end cancelled the block.
        raise group.exceptions[0] from None


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Until it is set, or the time is over."""
    # Not wait_for: in Python 3.11 it may swallow a cancellation.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
