"""One pass of the flow, from cluster state to moves on their way: the one file that knows all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import structlog

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration, Forced
from rescheduler.kube import KubeApi
from rescheduler.leading import Term
from rescheduler.migrate import Figures, Intent, Outcome, cordoning, migrating, strays, telling
from rescheduler.migrate.waves import PlanRun, TakesMoves
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Emptying, Move, Plan, Refusal, Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer, observing

GRACE_SECONDS: Final = 20.0
"""For moves that are nearly done, when we are told to stop: less than the 30 s that a pod has."""

_HEARING_SECONDS: Final = 0.5
"""Until whoever waits for a move has heard of its end."""

_DECIDING_SECONDS: Final = 5.0
"""After which a search ends with the best that it has found: what it looks at grows old."""

_MAINTENANCE: Final = "NodeMaintenance"


class Stops(Protocol):
    """As far as whoever ends needs the migrator."""

    async def stop(self, grace_seconds: float) -> None: ...


class Observes(Protocol):
    """As far as a pass needs the observer."""

    def snapshot(self) -> Snapshot: ...

    def with_usage(self, snapshot: Snapshot) -> Snapshot: ...

    def assume(self, move: Move) -> bool: ...

    def forget(self, move: Move) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one of them has seen and decided."""

    snapshot: Snapshot
    plan: Plan
    run: PlanRun | None
    """None: nothing is carried out, as nothing is to be done or only looking was asked for."""


@dataclass(slots=True)
class _Told:
    """What was said in the pass before: said again, it would be noise."""

    reports: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    stay: dict[str, frozenset[Refusal]] = field(default_factory=dict)
    """By node in maintenance: which pods stay there, and why."""


class Passes:
    """One after the other, with an observer and a migrator that live as long as they do.

    Safe to begin at any time and after any crash: what the cluster shows decides everything.
    """

    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        configuration: Configuration,
        observer: Observes,
        migrator: TakesMoves | None,
        *,
        search: plan.Search | None = None,
    ) -> None:
        """Without a migrator they only look and plan. Searches begin and end as `search` says, and
        by the clock.
        """
        self._kube = kube
        self._clock = clock
        self._configuration = configuration
        self._observer = observer
        self._migrator = migrator
        self._limits = search or plan.Search()
        self._memory = plan.Memory()
        self._told = _Told()
        self._stopping = False

    def stop(self) -> None:
        """A search that is going on ends soon."""
        self._stopping = True

    async def one(self) -> Pass:
        # 1. Observe.
        snapshot = self._observer.with_usage(self._observer.snapshot())
        # 2. Put in order what is not about a plan: marks that nobody remembers, and cordons.
        if self._migrator is not None:
            await self._put_in_order(snapshot)
        # 3. Plan, beside the event loop: what is under way does not wait for it.
        decided = await asyncio.to_thread(self._plan, snapshot, self._search())
        self._explain(decided, snapshot)
        if self._migrator is not None:
            await self._tell_on_nodes(snapshot, decided)
        # 4. Migrate: it is carried out while further passes are made.
        return Pass(snapshot=snapshot, plan=decided, run=self._begin(decided.moves))

    # ------------------------------------------------------------------ putting in order

    async def _put_in_order(self, snapshot: Snapshot) -> None:
        scope = self._configuration.scope
        await strays.sweep(self._kube, snapshot, scope, self._configuration.migration)
        is_enabled = _MAINTENANCE in self._configuration.enabled_strategies
        decide = cordoning.for_maintenance if is_enabled else cordoning.only_to_uncordon
        await cordoning.keep_cordons(self._kube, self._nodes_in_scope(snapshot), decide)

    def _nodes_in_scope(self, snapshot: Snapshot) -> Iterable[Node]:
        selector = self._configuration.scope.node_selector
        return (node for node in snapshot.nodes if selector.matches(node.labels))

    # ------------------------------------------------------------------ planning

    def _search(self) -> plan.Search:
        end = self._clock.monotonic() + _DECIDING_SECONDS
        return replace(self._limits, stop=lambda: self._stopping or self._clock.monotonic() >= end)

    def _plan(self, snapshot: Snapshot, search: plan.Search) -> Plan:
        return plan.plan(snapshot, self._configuration, search=search, memory=self._memory)

    # ------------------------------------------------------------------ migrating

    def _begin(self, moves: Sequence[Move]) -> PlanRun | None:
        if not moves or self._migrator is None or self._stopping:
            return None
        return PlanRun(
            self._migrator, moves, assume=self._observer.assume, forget=self._observer.forget
        )

    # ------------------------------------------------------------------ telling

    async def _tell_on_nodes(self, snapshot: Snapshot, decided: Plan) -> None:
        found = {
            each.node: telling.in_words(
                each.left, {pod.full_name: "; ".join(pod.reasons) for pod in each.stay}
            )
            for each in decided.emptying
        }
        is_enabled = _MAINTENANCE in self._configuration.enabled_strategies
        cordoned_nodes = self._configuration.node_maintenance.cordoned_nodes

        def wanted(node: Node) -> telling.Wanted:
            return telling.for_maintenance(
                found.get(node.name), is_enabled=is_enabled, cordoned_nodes=cordoned_nodes
            )

        await telling.keep_telling(self._kube, self._nodes_in_scope(snapshot), wanted)

    def _explain(self, decided: Plan, snapshot: Snapshot) -> None:
        log = structlog.get_logger()
        for report in decided.reports:
            state = (report.acted, report.blind)
            is_news = report.acted or self._told.reports.get(report.strategy) != state
            self._told.reports[report.strategy] = state
            told = (log.warning if report.blind else log.info) if is_news else log.debug
            words = "strategy acts" if report.acted else "strategy rests"
            told(words, strategy=report.strategy, because=report.summary)
        self._explain_maintenance(decided.emptying)
        of_nodes = {each.note for each in decided.emptying}
        for note in decided.notes:
            if note in of_nodes:
                continue  # pod by pod it has just been told
            told = log.debug if note in self._told.notes else log.warning
            told("note", text=note)
        self._told.notes = set(decided.notes)
        log.debug(
            "planned",
            moves=len(decided.moves),
            summary=decided.summary,
            nodes=len(snapshot.nodes),
            pods=len(snapshot.rows),
            unreadable=len(snapshot.unreadable),
        )
        in_maintenance = {pod.full_name for each in decided.emptying for pod in each.stay}
        for refusal in decided.refusals:
            if refusal.full_name not in in_maintenance:
                log.debug("stays", pod=refusal.full_name, because="; ".join(refusal.reasons))

    def _explain_maintenance(self, emptying: Iterable[Emptying]) -> None:
        """Who is left on a node, and why: once as news, and then for those who look closely."""
        log = structlog.get_logger()
        before, self._told.stay = self._told.stay, {}
        for each in emptying:
            known = before.get(each.node)
            self._told.stay[each.node] = frozenset(each.stay)
            told = log.info if known != frozenset(each.stay) else log.debug
            told("node in maintenance", node=each.node, left=each.left, summary=each.note)
            for pod in each.stay:
                told = log.debug if known and pod in known else log.warning
                because = "; ".join(pod.reasons)
                told("stays in maintenance", node=each.node, pod=pod.full_name, because=because)


# ---------------------------------------------------------------------- questions of others


def checking(observer: Observes, configuration: Configuration) -> Callable[[Intent], str]:
    """Answers, for whoever is about to begin a migration, why it would not be planned any more."""
    # Not that of the plans, which are made in another thread.
    memory = plan.Memory()

    def why_not(intent: Intent) -> str:
        move = Move(
            namespace=intent.namespace,
            pod=intent.pod,
            uid=intent.uid,
            source=intent.source,
            target=intent.target,
            strategy=intent.strategy,
            reason=intent.reason,
            way=Way.RESTART if intent.may_interrupt else Way.SURGE,
            asked=intent.asked,
        )
        in_force = replace(configuration, forced=Forced() if intent.forced else None)
        return plan.why_not_there(observer.snapshot(), in_force, move, memory, asks=intent.asks)

    return why_not


# ---------------------------------------------------------------------- with an orderly end


async def to_an_end(
    doing: Coroutine[Any, Any, None],
    migrator: Stops,
    *,
    may_write: Callable[[], bool],
    stop: Callable[[], object],
) -> None:
    """Does it, and then lets end what is nearly done: nobody may come soon to go on with it. So it
    does when it is cancelled in the middle, after a call of `stop`, which is to see to it that
    `doing` begins nothing more; until then it is left to hear what becomes of its moves.
    """
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait([task])
        if task.exception() is None:
            await migrator.stop(GRACE_SECONDS)
    except asyncio.CancelledError:
        # Whoever may not write any more can end nothing.
        if may_write():
            stop()
            await migrator.stop(GRACE_SECONDS)
            await asyncio.wait([task], timeout=_HEARING_SECONDS)
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await task


# ---------------------------------------------------------------------- one pass alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def dry_run_once(kube: KubeApi, clock: Clock, configuration: Configuration) -> Report:
    """Says what it would do, and does nothing."""
    async with _observing(kube, clock, configuration) as observer:
        seen = await Passes(kube, clock, configuration, observer, None).one()
        return dry_report(seen.plan)


@asynccontextmanager
async def _observing(
    kube: KubeApi, clock: Clock, configuration: Configuration
) -> AsyncIterator[Observer]:
    # One pass has no history: one sample of usage has to do.
    usage = replace(configuration.usage, debounce=1)
    needed = plan.needs(configuration.enabled_strategies)
    async with observing(kube, clock, needed, usage) as observer:
        await observer.settled()
        await observer.measure()
        yield observer


async def run_once(
    kube: KubeApi,
    clock: Clock,
    configuration: Configuration,
    term: Term,
    may_write: Callable[[], bool],
) -> Report:
    """Returns when everything that it has begun has ended."""
    async with (
        _observing(kube, clock, configuration) as observer,
        migrating(
            kube,
            clock,
            configuration,
            holder=term.holder,
            fence=term.number,
            why_not=checking(observer, configuration),
        ) as migrator,
    ):
        await migrator.synced()
        # What an earlier process left in the middle goes on by itself. Whoever had to wait for
        # that begins nothing new: its picture of the cluster is from before.
        if unfinished := migrator.unfinished:
            await to_an_end(migrator.idle(), migrator, may_write=may_write, stop=_tell_stop)
            return _of_unfinished(unfinished, migrator.figures)
        seen = await Passes(kube, clock, configuration, observer, migrator).one()
        if (run := seen.run) is not None:

            def stop() -> None:
                run.stop()
                _tell_stop()

            await to_an_end(run.run(), migrator, may_write=may_write, stop=stop)
        return _report(seen)


def _tell_stop() -> None:
    structlog.get_logger().info(
        "stops: begins nothing more", because="interrupted", grace_seconds=GRACE_SECONDS
    )


def _of_unfinished(count: int, figures: Figures) -> Report:
    counted = f"{count} unfinished {'migration' if count == 1 else 'migrations'}"
    ended = f"{figures.completed} moved, {figures.failed} not"
    left = count - figures.completed - figures.failed
    if left > 0:
        ended += f", {left} left to the next run (NotFinished)"
    reasons = ", ".join(f"{times} {reason}" for reason, times in sorted(figures.reasons.items()))
    return Report(
        moved=figures.completed,
        failed=figures.failed + max(left, 0),
        summary=f"went on with {counted}: {ended}{f' ({reasons})' if reasons else ''}",
    )


def dry_report(decided: Plan) -> Report:
    told = "; ".join(
        f"would move {each.full_name} from {each.source} to {each.target}: {each.reason}"
        for each in decided.moves
    )
    return Report(moved=0, failed=0, summary=told or f"nothing to move: {decided.summary}")


def _report(seen: Pass) -> Report:
    run = seen.run
    if run is None or not run.outcomes:
        return Report(moved=0, failed=0, summary=f"nothing moved: {seen.plan.summary}")
    told = "; ".join(_told(move, outcome) for move, outcome in run.outcomes)
    return Report(moved=run.moved, failed=run.failed, summary=told)


def _told(move: Move, outcome: Outcome) -> str:
    if outcome.moved:
        return f"moved {move.full_name} from {move.source} to {move.target}: {move.reason}"
    return f"did not move {move.full_name}: {outcome.reason}: {outcome.message}"
