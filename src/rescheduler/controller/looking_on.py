"""What others are answered by, kept up to date on every replica, also while it stands by.

Whoever leads observes the cluster anyhow. Who stands by observes what is needed for the answers,
once for all of them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, Protocol

import structlog

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.settings import Settings
from rescheduler.errors import ReschedulerError
from rescheduler.model.usage_sources import REQUESTS
from rescheduler.observe import Observer, observing

_AGAIN_SECONDS: Final = 5.0
EVERY_SECONDS: Final = 1.0
_SHARE: Final = 0.1
"""Of the time of a processor that each may cost: on large clusters it is done less often."""


class Answering(Protocol):
    """Something that is published for whoever answers."""

    @property
    def is_on(self) -> bool: ...

    @property
    def needs(self) -> Collection[str]:
        """The resources that have to be observed for it."""
        ...

    @property
    def needs_usage(self) -> bool: ...

    @property
    def stands_by(self) -> bool:
        """It is also wanted while another leads."""
        ...

    async def keep_up(self, observer: Observer) -> None:
        """For ever, by an observer that has listed everything."""
        ...


class LookingOn:
    def __init__(self, clock: Clock, settings: Settings, parts: Sequence[Answering]) -> None:
        self._clock = clock
        self._settings = settings
        self._parts = parts
        self._standing_by: asyncio.Task[None] | None = None

    @property
    def needs(self) -> set[str]:
        """What has to be observed for those that are on."""
        return {name for each in self._parts if each.is_on for name in each.needs}

    @asynccontextmanager
    async def by(self, observer: Observer) -> AsyncIterator[None]:
        """As long as the block lasts, of an observer that has listed everything."""
        parts = [each for each in self._parts if each.is_on]
        if parts:
            # From now on that one knows as much.
            await self._end_standing_by()
        tasks = [asyncio.create_task(each.keep_up(observer), name="look on") for each in parts]
        try:
            yield
        finally:
            await _end(tasks)

    # ------------------------------------------------------------------ while another leads

    @asynccontextmanager
    async def standing_by(self, connect: Connect) -> AsyncIterator[None]:
        """Observes by itself, only what is needed: as long as the block lasts, or until somebody
        observes more.
        """
        parts = [each for each in self._parts if each.is_on and each.stands_by]
        if parts:
            looking = self._look_on(connect, parts)
            self._standing_by = asyncio.create_task(looking, name="look on, standing by")
        try:
            yield
        finally:
            await self._end_standing_by()

    async def _end_standing_by(self) -> None:
        task, self._standing_by = self._standing_by, None
        if task is not None:
            await _end([task])

    async def _look_on(self, connect: Connect, parts: Sequence[Answering]) -> None:
        log = structlog.get_logger()
        while True:
            try:
                await self._observe(connect, parts)
            except ReschedulerError as problem:
                log.warning("cluster not observed while standing by", problem=str(problem))
            except Exception:
                log.exception("cluster not observed: internal error, please report")
            await self._clock.sleep(_AGAIN_SECONDS)

    async def _observe(self, connect: Connect, parts: Sequence[Answering]) -> None:
        needs = {name for each in parts for name in each.needs}
        usage = self._usage(measured=any(each.needs_usage for each in parts))
        async with connect() as kube, observing(kube, self._clock, needs, usage) as observer:
            await observer.settled()
            await observer.measure()
            async with asyncio.TaskGroup() as tasks:
                for each in parts:
                    tasks.create_task(each.keep_up(observer))

    def _usage(self, *, measured: bool) -> UsageSettings:
        settings = self._settings.configuration.usage
        return settings if measured else replace(settings, source=REQUESTS)


async def again_and_again(clock: Clock, publish: Callable[[], None], name: str) -> None:
    """For ever, each second, unless that costs too much."""
    log = structlog.get_logger()
    while True:
        begun = clock.monotonic()
        try:
            publish()
        except Exception:
            # The last one grows old, and then nobody is refused by it.
            log.exception("not published: internal error, please report", what=name)
        took = clock.monotonic() - begun
        await clock.sleep(max(EVERY_SECONDS, took / _SHARE))


async def _end(tasks: "Sequence[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
