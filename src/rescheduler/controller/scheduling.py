"""What a scheduler is answered by, published each second."""

import asyncio
from functools import partial
from typing import Final

from rescheduler.clock import Clock
from rescheduler.controller.looking_on import EVERY_SECONDS, again_and_again
from rescheduler.controller.node_table import NEEDED, TableMaker, rules_of
from rescheduler.controller.settings import Settings
from rescheduler.observe import Observer
from rescheduler.schedule import Offer
from rescheduler.serve import Board


class Offering:
    """Makes a table each second of what is observed, and publishes it."""

    needs: Final = NEEDED
    needs_usage: Final = True

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

    @property
    def is_on(self) -> bool:
        return bool(self._settings.configuration.answered)

    @property
    def stands_by(self) -> bool:
        return not self._on_demand

    async def keep_up(self, observer: Observer) -> None:
        if self._on_demand:
            await self._wait_for_demand(observer)
        publish = partial(self._publish, observer, TableMaker())
        await again_and_again(self._clock, publish, "table of nodes")

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
        is_new = offer is not None and now - offer.table.taken_at < EVERY_SECONDS
        if self._seen is not None and not is_new:
            self._publish(*self._seen)

    def _publish(self, observer: Observer, maker: TableMaker) -> None:
        if {gap.source for gap in observer.gaps()} & {"nodes", "pods"}:
            return
        snapshot = observer.with_usage(observer.snapshot())
        configuration = self._settings.configuration
        table = maker.make(snapshot, configuration, self._clock.monotonic())
        self._board.publish_offer(Offer(table, rules_of(configuration)))
