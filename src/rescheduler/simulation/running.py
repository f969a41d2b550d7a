"""The product's own controller, at work on an embedded cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller import loop
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.loop import Repeatable
from rescheduler.controller.publishing import Publisher, new_board
from rescheduler.controller.settings import Settings
from rescheduler.embedded.apiserver import Webhook
from rescheduler.embedded.scheduler import Extender
from rescheduler.kube import KubeApi
from rescheduler.model.strategies import COST_OPTIMIZATION
from rescheduler.serve import Board
from rescheduler.simulation.configured import on_embedded
from rescheduler.simulation.extending import OwnExtender
from rescheduler.simulation.guarding import own_webhook
from rescheduler.simulation.web import Web

_STEPS: Final = 100
_STEPS_OF_PACKING: Final = 20_000
"""Of one search, where no time passes that could end it. Balancing gains little by more of them;
who wants the cheapest nodes needs many.
"""


class Cluster(Protocol):
    """As far as it takes one: `EmbeddedCluster` is one."""

    @property
    def clock(self) -> Clock: ...

    def connect(self) -> AbstractAsyncContextManager[KubeApi]: ...


class Controller:
    def __init__(
        self,
        working: "asyncio.Task[None]",
        stopping: asyncio.Event,
        extender: Extender | None = None,
        guard: Webhook | None = None,
    ) -> None:
        self._working = working
        self._stopping = stopping
        self.extender = extender
        """Whom a scheduler may ask; None: by its configuration it answers nobody."""
        self.guard = guard
        """The same for an API server, about evictions."""

    async def stop(self) -> None:
        """It begins nothing more, and has the time that it needs to end what it began."""
        self._stopping.set()
        await asyncio.wait([self._working])


@asynccontextmanager
async def running(
    cluster: Cluster,
    configuration: Configuration,
    *,
    connect: Connect | None = None,
    seed: int = 0,
    steps: int | None = None,
    web: Web | None = None,
) -> AsyncIterator[Controller]:
    """At work until the block ends, or it is stopped; then it comes to its orderly end. Should it
    end by an error, the block is cancelled and the error comes out of it. `connect`: another way in
    than the cluster's own. `web`: where people look on.
    """
    stopping = asyncio.Event()
    settings = Settings(on_embedded(configuration))
    board = new_board(cluster.clock)
    showing = web.showing(lambda: board.latest) if web is not None else None
    publisher = Publisher(cluster.clock, settings, board, on_demand=True, showing=showing)
    if steps is None:
        packs = COST_OPTIMIZATION in configuration.enabled_strategies
        steps = _STEPS_OF_PACKING if packs else _STEPS
    try:
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(
                loop.run(
                    connect or cluster.connect,
                    cluster.clock,
                    settings,
                    stopping,
                    repeatable=Repeatable(seed=seed, steps=steps, writes_plans=web is not None),
                    publisher=publisher,
                ),
                name="controller",
            )
            try:
                yield Controller(
                    working,
                    stopping,
                    _extender(board, publisher, cluster.clock, settings),
                    _guard(board, publisher, cluster.clock, settings),
                )
            finally:
                stopping.set()
    except BaseExceptionGroup as group:
        # Of the block itself, or of the controller, whose end cancelled the block.
        raise group.exceptions[0] from None


def _extender(
    board: Board, publisher: Publisher, clock: Clock, settings: Settings
) -> Extender | None:
    verbs = settings.configuration.answered
    return OwnExtender(board, publisher.offering, clock, verbs) if verbs else None


def _guard(board: Board, publisher: Publisher, clock: Clock, settings: Settings) -> Webhook | None:
    is_on = settings.configuration.guard.enabled
    return own_webhook(board, publisher.guarding, clock) if is_on else None
