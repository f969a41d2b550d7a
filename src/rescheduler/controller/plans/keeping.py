"""Keeps plans up to date, for ever: by what people say to them, by time, by how their moves stand.

It looks at all of them again and again, and does what each needs next; so it does not matter who
looked before, or where that one died.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import structlog

from rescheduler import plan as planning
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller.passes import Observes
from rescheduler.controller.plans import judging
from rescheduler.controller.plans.book import Book
from rescheduler.controller.plans.observing import Observing
from rescheduler.controller.plans.proposing import Proposing
from rescheduler.controller.plans.tidings import Tidings
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.queue.plan_run import PlanRun, TakesMoves
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move, Plan
from rescheduler.model.objects import Object, is_terminating
from rescheduler.model.reschedule_plan import Decision, Phase, Reason, Standing
from rescheduler.model.snapshot import Snapshot

_EVERY_SECONDS: Final = 1.0
"""From look to look, whatever news there are: what we write ourselves is news, too."""
_SECONDS_OF_A_MOVE: Final = 0.02
"""From one write of how the moves of a plan stand to the next, for each of them: a large plan is a
large object, which has been written whole for each move of it else.
"""
_LISTED_SECONDS: Final = 5.0
"""For so long passes wait for what is known of earlier plans; then they go on without."""
_IDLE_SECONDS: Final = 15.0
"""After which a look is taken without any news: a plan may have expired."""
_REJECTED: Final = "the plan was rejected before its turn came"


class Moves(TakesMoves, Protocol):
    """As far as plans need the migrator."""

    def of_plan(self, plan: str, moves: Sequence[tuple[str, str, str]]) -> Mapping[str, Object]: ...

    def of_pod(self, uid: str) -> Sequence[Object]: ...


class Keeper:
    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        book: Book,
        proposing: Proposing,
        clock: Clock,
        configuration: Configuration,
        *,
        observer: Observes,
        migrator: Moves | None,
        carry_out: Callable[[PlanRun], None],
        is_paused: Callable[[], bool],
        tidings: Tidings,
    ) -> None:
        """Without a migrator nothing is begun. `carry_out` is given what is."""
        self._book = book
        self._proposing = proposing
        self._clock = clock
        self._configuration = configuration
        self._observer = observer
        self._migrator = migrator
        self._carry_out = carry_out
        self._is_paused = is_paused
        self._tidings = tidings
        self._observing: Observing | None = None
        if migrator is not None:
            self._observing = Observing(book, clock, configuration, migrator.of_pod, tidings)
        self._memory = planning.Memory()
        self._told: set[tuple[str, str]] = set()
        self._written: dict[str, float] = {}
        """When how the moves of a plan stand was written last, by its UID."""
        self._log = structlog.get_logger()

    async def keep(self, news: asyncio.Event) -> None:
        """For ever."""
        while True:
            news.clear()
            try:
                await self.look()
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                self._log.warning("plans could not be kept up", problem=str(problem))
            except Exception as problem:  # noqa: BLE001 - passes go on without
                if self._is_news("", problem):
                    self._log.error(
                        "plans could not be kept up: internal error, please report",
                        exc_info=problem,
                    )
            await self._clock.sleep(_EVERY_SECONDS)
            if not self._has_something_under_way():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await news.wait()

    def see(self, snapshot: Snapshot, decided: Plan) -> None:
        """What a pass has found: what came of earlier plans."""
        if self._observing is not None and self._book.is_open:
            ended = [*filter(None, map(self._at_its_end, self._book.all()))]
            self._observing.see(snapshot, decided, ended)

    def _at_its_end(self, plan: Object) -> Object | None:
        """As it stands, if each of its moves has ended, though nobody may have written that yet:
        the next pass looks at the same moment, and what it begins changes the same nodes.
        """
        if reschedule_plan.awaits_loads(plan):
            return plan
        if reschedule_plan.phase_of(plan) is not Phase.RUNNING:
            return None
        try:
            moves = reschedule_plan.moves_of(plan)
        except (KeyError, TypeError, ValueError):
            return None  # it is told by whoever looks at it
        run = self._proposing.runs.get(reschedule_plan.uid_of(plan))
        standing = reschedule_plan.of_running(
            plan,
            self._records(plan, moves),
            skipped=dict(run.why_skipped) if run is not None else {},
            goes_on=True,
        )
        if not standing.phase.is_over:
            return None
        status = reschedule_plan.status_document(plan, standing, self._clock.now())
        ended = {**plan, "status": status}
        return ended if reschedule_plan.awaits_loads(ended) else None

    async def look(self) -> None:
        """At all of them, once."""
        if not self._book.is_open:
            return
        self._stop_what_is_deleted()
        for each in sorted(self._book.all(), key=reschedule_plan.order_of):
            if not reschedule_plan.is_over(each):
                await self._look_at(each)
        if self._observing is not None:
            await self._observing.write()
            self._tidings.known(self._book.all())
        ours = filter(self._proposing.is_for_us, self._book.all())
        for each in reschedule_plan.outdated(ours, self._configuration.plans.keep):
            if not await self._book.remove(each):
                break  # nor are the others likely to go

    def _has_something_under_way(self) -> bool:
        return any(not reschedule_plan.is_over(each) for each in self._book.all())

    def _stop_what_is_deleted(self) -> None:
        """What has a record goes on; whoever wants that ended deletes that, too."""
        known = {
            reschedule_plan.uid_of(each) for each in self._book.all() if not is_terminating(each)
        }
        for uid, run in list(self._proposing.runs.items()):
            if uid not in known and run is not None:
                run.stop()
                del self._proposing.runs[uid]

    async def _look_at(self, plan: Object) -> None:
        """One that nobody understands does not keep us from the others."""
        try:
            await self._look_closely(plan)
        except errors.KubeError:
            raise
        except Exception as problem:  # noqa: BLE001 - passes go on without
            if self._is_news(reschedule_plan.uid_of(plan), problem):
                self._log.error(
                    "plan not kept up: internal error, please report",
                    plan=reschedule_plan.name_of(plan),
                    exc_info=problem,
                )

    async def _look_closely(self, plan: Object) -> None:
        try:
            moves = reschedule_plan.moves_of(plan)
        except (KeyError, TypeError, ValueError) as problem:
            if self._is_news(reschedule_plan.uid_of(plan), problem):
                words = f"of another version, or written by hand: {problem!r}"
                self._log.warning("plan ignored", plan=reschedule_plan.name_of(plan), because=words)
            return
        is_here = reschedule_plan.uid_of(plan) in self._proposing.runs
        if is_here or reschedule_plan.phase_of(plan) is Phase.RUNNING:
            await self._follow(plan, moves)
        elif reschedule_plan.name_of(plan) not in self._proposing.to_be_begun:
            await self._look_at_waiting(plan, moves)

    def _is_news(self, uid: str, problem: Exception) -> bool:
        """Told once, not at every look."""
        said = (uid, repr(problem))
        is_news = said not in self._told
        self._told.add(said)
        return is_news

    # ------------------------------------------------------------------ that waits

    async def _look_at_waiting(self, plan: Object, moves: Sequence[Move]) -> None:
        now, expires = self._clock.now(), self._configuration.plans.expire_after_seconds
        if self._acts and reschedule_plan.is_to_begin(plan, expires, now):
            await self._begin(plan, moves)
            return
        standing = self._proposing.standing(plan)
        if self._is_left_over(plan) and standing.phase is Phase.WAITING:
            standing = Standing(
                phase=Phase.SUPERSEDED,
                reason=Reason.NEWER_PLAN,
                message="nobody has to approve plans now: what is left to do is planned anew",
            )
        if self._proposing.leaves_to_others(plan, standing):
            return
        await self._tell(plan, standing)

    def _is_left_over(self, plan: Object) -> bool:
        """Of another mode, of when no window was open, or of one who died before it began."""
        if not self._proposing.acts_by_itself or not reschedule_plan.is_open(plan):
            return False
        # One who only looks may stand beside us: what it says is not ours to take back at once.
        made = reschedule_plan.created_at(plan)
        age = (self._clock.now() - made).total_seconds() if made is not None else math.inf
        is_fresh = age < self._configuration.plans.review_seconds
        return not (reschedule_plan.is_dry(plan) and is_fresh)

    @property
    def _acts(self) -> bool:
        return self._migrator is not None and not self._is_paused()

    async def _begin(self, plan: Object, moves: Sequence[Move]) -> None:
        if reschedule_plan.is_all_or_nothing(plan):
            held = judging.why_not(self._observer, self._configuration, moves, self._memory)
            if held:
                others = {each.uid: "another move of it does not hold" for each in moves}
                skipped = others | held
                standing = reschedule_plan.of_running(plan, {}, skipped=skipped, goes_on=False)
                await self._tell(plan, standing)
                return
        # Written before anything is done: whoever dies now is followed by one that goes on.
        running = reschedule_plan.of_running(plan, {}, skipped={}, goes_on=True)
        written = await self._tell(plan, running)
        if written is not None:
            self._start(written, moves)

    # ------------------------------------------------------------------ that runs

    def _start(self, plan: Object, moves: Sequence[Move]) -> None:
        if self._migrator is None:
            return
        left = self._left(plan, moves)
        run = PlanRun(
            self._migrator,
            left,
            assume=self._observer.assume,
            forget=self._observer.forget,
            why_not=self._why_not,
        )
        self._proposing.runs[reschedule_plan.uid_of(plan)] = run
        self._log.info(
            "plan begins", plan=reschedule_plan.name_of(plan), moves=len(left), of=len(moves)
        )
        self._carry_out(run)

    def _left(self, plan: Object, moves: Sequence[Move]) -> list[Move]:
        """What nobody has asked for yet, nor given up."""
        known, records = reschedule_plan.progress_of(plan), self._records(plan, moves)
        return [each for each in moves if each.uid not in known and each.uid not in records]

    def _why_not(self, move: Move) -> str:
        """Judged as the cluster is now."""
        snapshot, configuration = self._observer.snapshot(), self._configuration
        return planning.why_not_there(snapshot, configuration, move, self._memory)

    async def _follow(self, plan: Object, moves: Sequence[Move]) -> None:
        if self._migrator is None:
            return  # whoever may move pods goes on with it
        uid = reschedule_plan.uid_of(plan)
        run = self._proposing.runs.get(uid)
        is_rejected = reschedule_plan.decision_of(plan) is Decision.REJECTED
        if run is not None and (is_rejected or self._is_out_of_time(plan, moves)):
            run.stop()
        is_here = uid in self._proposing.runs and (run is None or run.is_under_way)
        has_ended = run is not None and run.is_done
        goes_on = reschedule_plan.is_to_go_on(plan) and not has_ended and not is_rejected
        if goes_on and not is_here and self._acts and self._left(plan, moves):
            self._start(plan, moves)
            return
        skipped = dict(run.why_skipped) if run is not None else {}
        if is_rejected:
            skipped = {each.uid: _REJECTED for each in moves} | skipped
        standing = reschedule_plan.of_running(
            plan,
            self._records(plan, moves),
            skipped=skipped,
            goes_on=(is_here and not is_rejected) or goes_on,
        )
        if not self._is_too_soon(plan, standing):
            await self._tell(plan, standing)
        if standing.phase.is_over and not is_here:
            self._proposing.runs.pop(uid, None)

    def _is_too_soon(self, plan: Object, standing: Standing) -> bool:
        """To write it again, while no more than moves of it have gone on."""
        uid, now = reschedule_plan.uid_of(plan), self._clock.monotonic()
        if standing.phase is not reschedule_plan.phase_of(plan):
            self._written.pop(uid, None)
            return False
        pause = _SECONDS_OF_A_MOVE * reschedule_plan.size_of(plan)
        if now - self._written.get(uid, -math.inf) < pause:
            return True
        self._written[uid] = now
        return False

    def _is_out_of_time(self, plan: Object, moves: Sequence[Move]) -> bool:
        """Nobody asked for it, and the window has closed: no further wave begins."""
        is_asked = reschedule_plan.was_approved(plan) or all(each.asked for each in moves)
        return not is_asked and not self._proposing.is_window_open

    def _records(self, plan: Object, moves: Sequence[Move]) -> Mapping[str, Object]:
        known = reschedule_plan.progress_of(plan)
        asked = [
            (each.namespace, each.uid, known[each.uid].migration if each.uid in known else "")
            for each in moves
        ]
        name = reschedule_plan.name_of(plan)
        return self._migrator.of_plan(name, asked) if self._migrator is not None else {}

    # ------------------------------------------------------------------ telling

    async def _tell(self, plan: Object, standing: Standing) -> Object | None:
        written = await self._book.stand(plan, standing)
        if written is not None and standing.phase is not reschedule_plan.phase_of(plan):
            self._log.info(
                f"plan {standing.phase.lower()}",
                plan=reschedule_plan.name_of(plan),
                because=str(standing.reason),
                summary=standing.message,
            )
        return written


@asynccontextmanager
async def keeping(  # noqa: PLR0913 - what it is made of
    kube: KubeApi,
    clock: Clock,
    configuration: Configuration,
    observer: Observes,
    migrator: Moves | None,
    *,
    carry_out: Callable[[PlanRun], None] = lambda _run: None,
    is_paused: Callable[[], bool] = lambda: False,
    tidings: Tidings | None = None,
) -> AsyncIterator[Proposing]:
    """As long as the block lasts. It begins when plans are listed, or cannot be."""
    news, tidings = asyncio.Event(), tidings or Tidings()
    namespace = configuration.leader_election.resource_namespace
    book = Book(kube, clock, namespace, news.set, tidings.stood)
    proposing = Proposing(book, clock, configuration)
    keeper = Keeper(
        book,
        proposing,
        clock,
        configuration,
        observer=observer,
        migrator=migrator,
        carry_out=carry_out,
        is_paused=is_paused,
        tidings=tidings,
    )
    following = asyncio.create_task(book.run(), name="follow plans")
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LISTED_SECONDS):
                await book.listed()
        keeps = asyncio.create_task(keeper.keep(news), name="keep plans")
        try:
            proposing.look, proposing.see = keeper.look, keeper.see
            yield proposing
        finally:
            keeps.cancel()
            await asyncio.gather(keeps, return_exceptions=True)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
