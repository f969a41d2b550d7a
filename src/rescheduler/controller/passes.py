"""One pass of the flow, from cluster state to moves on their way: each stage has its turn here.

What passes are made for, the whole cluster or one node, is their `Purpose`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.migrate import Outcome
from rescheduler.migrate.queue.plan_run import PlanRun, TakesMoves
from rescheduler.model.moves import Move, Plan
from rescheduler.model.snapshot import Snapshot

_DECIDING_SECONDS: Final = 5.0
"""After which a search ends with the best that it has found: what it looks at grows old."""


class Observes(Protocol):
    """As far as a pass needs the observer."""

    def snapshot(self) -> Snapshot: ...

    def with_usage(self, snapshot: Snapshot) -> Snapshot: ...

    def assume(self, move: Move) -> bool: ...

    def forget(self, move: Move) -> None: ...


class Purpose(Protocol):
    """What passes are made for."""

    @property
    def configuration(self) -> Configuration: ...

    def observe(self) -> Snapshot:
        """The cluster as it is to be planned for."""
        ...

    async def put_in_order(self, snapshot: Snapshot) -> None:
        """What no plan is about."""
        ...

    def narrowed(self, decided: Plan) -> Plan:
        """To the moves that are made for this purpose."""
        ...

    def report(self, snapshot: Snapshot, decided: Plan) -> None: ...

    async def report_on_nodes(self, snapshot: Snapshot, decided: Plan) -> None:
        """On the nodes themselves, for whoever looks there."""
        ...

    def hear(self, move: Move, outcome: Outcome) -> None:
        """Of the end of a move."""
        ...


class Proposes(Protocol):
    """Who writes plans down, and knows what of them is begun at once."""

    def seen(self, snapshot: Snapshot, decided: Plan) -> None:
        """Of every pass, before it does anything."""
        ...

    async def propose(self, decided: Plan, moves: Sequence[Move]) -> Sequence[Move]: ...

    def begun(self, run: PlanRun | None) -> None:
        """Of what was proposed last; None: nothing was begun."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one of them has seen and decided."""

    snapshot: Snapshot
    plan: Plan
    run: PlanRun | None
    """None: nothing is carried out, as nothing is to be done or only looking was asked for."""


class Passes:
    """One after the other, with an observer and a migrator that live as long as they do.

    Safe to begin at any time and after any crash: what the cluster shows decides everything.
    """

    def __init__(  # noqa: PLR0913 - the last ones are for few
        self,
        clock: Clock,
        observer: Observes,
        migrator: TakesMoves | None,
        purpose: Purpose,
        *,
        search: plan.Search | None = None,
        deciding_seconds: float = _DECIDING_SECONDS,
        is_paused: Callable[[], bool] = lambda: False,
        proposing: Proposes | None = None,
        decided: Callable[[str, float], None] = lambda _strategy, _seconds: None,
    ) -> None:
        """Without a migrator, and while it is paused, they only look and plan. Searches begin and
        end as `search` says, and by the clock. `decided` hears how long each strategy took, in the
        thread that plans. Without `proposing` all that is decided is begun, and not written down.
        """
        self._clock = clock
        self._observer = observer
        self._migrator = migrator
        self._purpose = purpose
        self._limits = search or plan.Search()
        self._deciding_seconds = deciding_seconds
        self._is_paused = is_paused
        self._proposing = proposing
        self._decided = decided
        self._memory = plan.Memory()
        self._stopping = False

    def stop(self) -> None:
        """A search that is going on ends soon, and nothing more is begun."""
        self._stopping = True

    async def one(self) -> Pass:
        # 1. Observe.
        begun_at = self._clock.now().isoformat()
        snapshot = self._purpose.observe()
        # 2. Put in order what no plan is about.
        if self._may_act:
            await self._purpose.put_in_order(snapshot)
        # 3. Plan, beside the event loop: what is under way does not wait for it.
        decided = await asyncio.to_thread(self._plan, snapshot, self._search())
        # 4. Report, in the log and on the nodes.
        self._purpose.report(snapshot, decided)
        if self._may_act:
            await self._purpose.report_on_nodes(snapshot, decided)
        if self._proposing is not None:
            self._proposing.seen(snapshot, decided)
        # 5. Migrate: it is carried out while further passes are made.
        moves = [replace(move, planned_at=begun_at) for move in decided.moves]
        if decided.denials and self._migrator is not None and not self._is_paused():
            await self._migrator.deny(decided.denials)
        if self._proposing is not None and not self._stopping and not self._is_paused():
            moves = [*await self._proposing.propose(decided, moves)]
        run = self._begin(moves)
        if self._proposing is not None:
            self._proposing.begun(run)
        return Pass(snapshot=snapshot, plan=decided, run=run)

    @property
    def _may_act(self) -> bool:
        return self._migrator is not None and not self._is_paused()

    def _search(self) -> plan.Search:
        end = self._clock.monotonic() + self._deciding_seconds
        return replace(
            self._limits,
            stop=lambda: self._stopping or self._clock.monotonic() >= end,
            lap=self._laps(),
        )

    def _laps(self) -> Callable[[str], None]:
        before = self._clock.monotonic()

        def lap(strategy: str) -> None:
            nonlocal before
            now = self._clock.monotonic()
            if strategy:
                self._decided(strategy, now - before)
            before = now

        return lap

    def _plan(self, snapshot: Snapshot, search: plan.Search) -> Plan:
        configuration = self._purpose.configuration
        decided = plan.plan(snapshot, configuration, search=search, memory=self._memory)
        return self._purpose.narrowed(decided)

    def _begin(self, moves: Sequence[Move]) -> PlanRun | None:
        if not moves or self._migrator is None or self._stopping or self._is_paused():
            return None
        return PlanRun(
            self._migrator,
            moves,
            assume=self._observer.assume,
            forget=self._observer.forget,
            told=self._purpose.hear,
        )
