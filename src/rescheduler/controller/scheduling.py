"""What a scheduler is answered by, kept up to date on every replica, also while it stands by."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.node_table import NEEDED, TableMaker, rules_of
from rescheduler.controller.settings import Settings
from rescheduler.errors import ReschedulerError
from rescheduler.observe import Observer, observing
from rescheduler.schedule import Offer
from rescheduler.serve import Board

_EVERY_SECONDS: Final = 1.0
_SHARE: Final = 0.1
"""Of the time of a processor that tables may cost: on large clusters there are fewer."""
_AGAIN_SECONDS: Final = 5.0


class Offering:
    """Makes a table each second of what is observed, and publishes it."""

    def __init__(
        self, board: Board, clock: Clock, settings: Settings, *, on_demand: bool = False
    ) -> None:
        """On demand: when `renew` is called, by whoever is about to answer. On virtual time a table
        each second would be most of the work of a day on which few ask.
        """
        self._board = board
        self._clock = clock
        self._settings = settings
        self._on_demand = on_demand
        self._seen: tuple[Observer, TableMaker] | None = None
        self._standing_by: asyncio.Task[None] | None = None

    @property
    def is_on(self) -> bool:
        return bool(self._settings.configuration.answered)

    @asynccontextmanager
    async def by(self, observer: Observer) -> AsyncIterator[None]:
        """As long as the block lasts, of an observer that has listed everything."""
        if not self.is_on:
            yield
            return
        # From now on that one knows as much.
        await self._end_standing_by()
        keeping = self._wait_for_demand(observer) if self._on_demand else self._keep_up(observer)
        task = asyncio.create_task(keeping, name="offer nodes")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _keep_up(self, observer: Observer) -> None:
        maker = TableMaker()
        log = structlog.get_logger()
        while True:
            begun = self._clock.monotonic()
            try:
                self._publish(observer, maker)
            except Exception:
                # The last table grows old, and then every node passes.
                log.exception("table of nodes not made: internal error, please report")
            took = self._clock.monotonic() - begun
            await self._clock.sleep(max(_EVERY_SECONDS, took / _SHARE))

    async def _wait_for_demand(self, observer: Observer) -> None:
        self._seen = observer, TableMaker()
        try:
            await asyncio.Event().wait()
        finally:
            self._seen = None

    def renew(self) -> None:
        """Where tables are made on demand: unless the last is as new as one that is kept up."""
        offer = self._board.offer
        now = self._clock.monotonic()
        is_new = offer is not None and now - offer.table.taken_at < _EVERY_SECONDS
        if self._seen is not None and not is_new:
            self._publish(*self._seen)

    def _publish(self, observer: Observer, maker: TableMaker) -> None:
        if {gap.source for gap in observer.gaps()} & {"nodes", "pods"}:
            return
        snapshot = observer.with_usage(observer.snapshot())
        configuration = self._settings.configuration
        table = maker.make(snapshot, configuration, self._clock.monotonic())
        self._board.publish_offer(Offer(table, rules_of(configuration)))

    # ------------------------------------------------------------------ while another leads

    @asynccontextmanager
    async def standing_by(self, connect: Connect) -> AsyncIterator[None]:
        """Observes by itself, only what the table needs: as long as the block lasts, or until
        somebody observes more.
        """
        if self.is_on and not self._on_demand:
            looking = self._look_on(connect)
            self._standing_by = asyncio.create_task(looking, name="offer nodes, standing by")
        try:
            yield
        finally:
            await self._end_standing_by()

    async def _end_standing_by(self) -> None:
        task, self._standing_by = self._standing_by, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _look_on(self, connect: Connect) -> None:
        log = structlog.get_logger()
        while True:
            try:
                async with (
                    connect() as kube,
                    observing(
                        kube, self._clock, NEEDED, self._settings.configuration.usage
                    ) as observer,
                ):
                    await observer.settled()
                    await observer.measure()
                    await self._keep_up(observer)
            except ReschedulerError as problem:
                log.warning("cluster not observed for the scheduler", problem=str(problem))
            except Exception:
                log.exception("cluster not observed: internal error, please report")
            await self._clock.sleep(_AGAIN_SECONDS)
