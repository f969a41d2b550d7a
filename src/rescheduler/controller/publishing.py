"""What a replica knows of itself, gathered from the stages and published for whoever asks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.controller.dashboard import ApiGate, ConnectAs, Showing
from rescheduler.controller.doors import opened
from rescheduler.controller.guarding import Guarding
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.looking_on import LookingOn
from rescheduler.controller.move_counts import MoveCounts
from rescheduler.controller.plan_counts import PlanCounts
from rescheduler.controller.scheduling import Offering
from rescheduler.controller.settings import Settings
from rescheduler.migrate import Migrator, Outcome
from rescheduler.model import refusal_kinds
from rescheduler.model.moves import NodeLoad, Plan
from rescheduler.model.objects import Object
from rescheduler.model.pausing import pause_of
from rescheduler.model.published import (
    NOW,
    PLANNED,
    LastPass,
    MovesUnderWay,
    Now,
    Plans,
    Role,
    WatchState,
)
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer
from rescheduler.serve import Board, Recorder, serving
from rescheduler.wire import ALL_RESOURCES

_EVERY_SECONDS: Final = 1.0
_SUBRESOURCES: Final = (
    "pods/eviction",
    "pods/status",
    "podmigrations/status",
    "nodes.metrics.k8s.io",
    "pods.metrics.k8s.io",
)


def new_board(clock: Clock | None = None) -> Board:
    return Board([*(each.plural for each in ALL_RESOURCES), *_SUBRESOURCES], clock)


class Publisher:
    def __init__(
        self,
        clock: Clock,
        settings: Settings,
        board: Board | None = None,
        stop: asyncio.Event | None = None,
        *,
        on_demand: bool = False,
        showing: Showing | None = None,
    ) -> None:
        """Without a board it tells nobody. `on_demand`: how what others are answered by is made.
        `showing`: a dashboard that is there anyhow.
        """
        self._clock = clock
        self._settings = settings
        self._board = board or new_board()
        self._stop = stop or asyncio.Event()
        self._role = Role.STARTING
        self._is_synced = False
        self._is_paused = False
        self._observer: Observer | None = None
        self._migrator: Migrator | None = None
        self._last_pass: LastPass | None = None
        self.moves = MoveCounts(clock, self._board.record)
        self.plans = PlanCounts(self._board.record)
        self.offering = Offering(self._board, clock, settings, on_demand=on_demand)
        self.guarding = Guarding(
            self._board, clock, settings, lambda: self._is_paused, on_demand=on_demand
        )
        self.showing = showing or Showing(clock, settings, lambda: self._board.latest)
        parts = (self.offering, self.guarding, self.showing)
        self.looking_on = LookingOn(clock, settings, parts)

    @property
    def record(self) -> Recorder:
        return self._board.record

    # ------------------------------------------------------------------ what it hears

    def hears(self, notes: Mapping[str, str]) -> None:
        """What stands on the lease of another one."""
        self.pauses(is_paused=pause_of(notes) is not None)

    def stands_by(self) -> None:
        self._begin(Role.STANDING_BY)

    def looks(self) -> None:
        self.guarding.only_look()
        self._begin(Role.LOOKING)

    @contextmanager
    def leads(self) -> Iterator[None]:
        self.record.began_to_lead()
        self._begin(Role.LEADING)
        try:
            yield
        finally:
            self._begin(Role.STOPPING)

    def _begin(self, role: Role) -> None:
        self._role = role
        self.publish()

    def observes(self, observer: Observer) -> None:
        """Anew: what was known before is not known any more."""
        self._observer, self._migrator, self._is_synced = observer, None, False
        for name in observer.lags():
            self.record.watches(name)
        self.publish()

    def migrates(self, migrator: Migrator) -> None:
        self._migrator = migrator

    def is_synced(self) -> None:
        self._is_synced = True
        self.publish()

    def pauses(self, *, is_paused: bool) -> None:
        self._is_paused = is_paused
        self.publish()

    def passed(self, snapshot: Snapshot, decided: Plan, seconds: float) -> None:
        self.record.passed(seconds, well=True)
        self._last_pass = LastPass(
            ended_at=self._clock.now().timestamp(),
            nodes=len(snapshot.nodes),
            pods=len(snapshot.rows),
            classes=sum(each is not None for each in snapshot.classes),
            unreadable=len(snapshot.unreadable),
            planned=len(decided.moves),
            imbalance=_imbalance(decided),
            overloaded=self._overloaded(decided),
            refused=refusal_kinds.counted(decided.refusals),
        )
        self.publish()
        self.showing.passed(snapshot, decided, seconds)

    def wrote(self, record: Object) -> None:
        self.moves.wrote(record)
        self.showing.wrote(record)

    def ended(self, record: Object, outcome: Outcome) -> None:
        self.moves.ended(record, outcome)
        self.showing.ended(record)

    def pass_failed(self, seconds: float) -> None:
        self.record.passed(seconds, well=False)

    def _overloaded(self, decided: Plan) -> Mapping[str, int]:
        limits = self._settings.configuration.thresholds

        def is_above(loads: Mapping[str, float]) -> bool:
            return any(loads.get(name, 0.0) > limit for name, limit in limits.items())

        nodes: tuple[NodeLoad, ...] = decided.nodes
        return {
            NOW: sum(is_above(each.before) for each in nodes),
            PLANNED: sum(is_above(each.after) for each in nodes),
        }

    @contextmanager
    def may_be_called(self, fire: Callable[[str], None]) -> Iterator[None]:
        """By whoever serves, from its own thread, for an early pass."""
        loop = asyncio.get_running_loop()

        def call(reason: str) -> None:
            # A loop that has just ended has no more passes.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(fire, reason)

        self._board.call_for_a_pass = call
        try:
            yield
        finally:
            self._board.call_for_a_pass = lambda _: None

    # ------------------------------------------------------------------ what it tells

    def publish(self) -> None:
        role = Role.STOPPING if self._stop.is_set() else self._role
        refused = self._settings.refused
        self._board.publish(
            Now(
                role=role,
                is_synced=self._is_synced,
                interval_seconds=self._settings.configuration.rescheduling_interval_seconds,
                watches=self._watches(),
                moves=self._moves(),
                last_pass=self._last_pass,
                plans=self.plans.now if self._role is Role.LEADING else Plans(),
                paused=self._is_paused,
                configuration_error=refused.message if refused else "",
            )
        )

    def _watches(self) -> Mapping[str, WatchState]:
        if self._observer is None:
            return {}
        needed = plan.musts(self._settings.configuration.enabled_strategies)
        blind = {gap.source for gap in self._observer.gaps()}
        return {
            name: WatchState(is_needed=name in needed, is_blind=name in blind, lag_seconds=lag)
            for name, lag in self._observer.lags().items()
        }

    def _moves(self) -> MovesUnderWay:
        if self._migrator is None:
            return MovesUnderWay()
        figures, unfinished = self._migrator.figures, self._migrator.unfinished
        return MovesUnderWay(
            in_progress=figures.in_flight,
            ending=figures.ending,
            waiting=max(0, unfinished - figures.in_flight - figures.ending),
            allowed=figures.allowed,
            breaker_seconds=figures.paused_seconds,
        )

    async def keep_publishing(self) -> None:
        """For ever: who falls silent is taken to be stuck."""
        while True:
            self.publish()
            await self._clock.sleep(_EVERY_SECONDS)


def _imbalance(decided: Plan) -> Mapping[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for each in decided.imbalances:
        found[each.resource, NOW] = each.before / 100
        found[each.resource, PLANNED] = each.after / 100
    return found


@asynccontextmanager
async def publishing(  # noqa: PLR0913 - the last two are for few
    clock: Clock,
    in_force: Settings,
    stop: asyncio.Event,
    board: Board | None = None,
    connect: Connect | None = None,
    *,
    writes: bool = True,
    connect_as: ConnectAs | None = None,
) -> AsyncIterator[Publisher]:
    """Listens, from before the first request to the API server to the end of the block. Pods are
    bound by connections of their own, and so are certificates kept up that are ours; without
    `writes` they are only read. `connect_as`: for the users of the dashboard, by their tokens.

    Raises:
        CannotListen: a port is taken.
    """
    board = board or new_board()
    publisher = Publisher(clock, in_force, board, stop)
    configuration = in_force.configuration
    settings = configuration.serving
    doors = (
        settings.port,
        settings.debug_port,
        configuration.answered,
        configuration.guard.enabled,
        configuration.dashboard.enabled,
    )
    publisher.showing.connect = connect
    if not any(doors):
        yield publisher
        return
    gate = ApiGate(connect_as, clock, in_force) if connect_as is not None else None
    async with opened(
        configuration,
        publisher.guarding,
        clock,
        connect,
        writes=writes,
        views=publisher.showing.views,
        gate=gate,
    ) as open_to:
        with serving(settings, board, *open_to):
            keeping = asyncio.create_task(publisher.keep_publishing(), name="publish")
            try:
                yield publisher
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
