"""Writes Events, beside all else: whoever tells something goes on at once."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import structlog

from rescheduler.clock import Clock
from rescheduler.controller.events.happenings import Happening
from rescheduler.controller.events.ledger import Ledger, body_of
from rescheduler.kube import KubeApi, errors
from rescheduler.wire import EVENTS

_MOST_WAITING: Final = 500
_PAUSE_SECONDS: Final = 0.05
"""Between two writes: at most twenty a second."""
_TROUBLE_SECONDS: Final = 5.0
_ENDING_SECONDS: Final = 2.0
"""For what is left to tell when all else has ended."""


class Tells(Protocol):
    def tell(self, happenings: Iterable[Happening]) -> None: ...


class _Silent:
    def tell(self, happenings: Iterable[Happening]) -> None:
        """Nobody reads it."""


silent: Final[Tells] = _Silent()


class Recorder:
    def __init__(self, kube: KubeApi, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._ledger = Ledger()
        self._waiting: deque[Happening] = deque()
        self._news = asyncio.Event()
        self._is_ending = False
        self._lost = 0
        self._said = ""
        self._log = structlog.get_logger()

    def tell(self, happenings: Iterable[Happening]) -> None:
        """What comes faster than it can be written is left out."""
        for each in happenings:
            if len(self._waiting) >= _MOST_WAITING:
                self._lost += 1
            else:
                self._waiting.append(each)
        self._news.set()

    def end(self) -> None:
        """What is told by now is written, and no more."""
        self._is_ending = True
        self._news.set()

    async def run(self) -> None:
        while self._waiting or not self._is_ending:
            await self._news.wait()
            self._news.clear()
            await self._write_all()

    async def _write_all(self) -> None:
        while self._waiting:
            happening = self._waiting.popleft()
            if self._ledger.admits(happening, self._clock.monotonic()):
                await self._clock.sleep(await self._write(happening))
        if self._lost:
            self._log.debug("events left out, as there were too many", events=self._lost)
            self._lost = 0

    async def _write(self, happening: Happening) -> float:
        """After how many seconds the next one may follow."""
        body = body_of(happening, self._clock.now())
        try:
            await self._kube.create(EVENTS, body["metadata"]["namespace"], body)
        except errors.KubeError as problem:
            self._ledger.forget(happening)
            return self._after(problem)
        return _PAUSE_SECONDS

    def _after(self, problem: errors.KubeError) -> float:
        if isinstance(problem, errors.Forbidden) and (said := str(problem)) != self._said:
            self._said = said
            self._log.warning("events cannot be written, see rbac.yaml", problem=said)
        passes = isinstance(problem, errors.Unavailable | errors.Throttled)
        return _TROUBLE_SECONDS if passes else _PAUSE_SECONDS


@asynccontextmanager
async def recording(kube: KubeApi, clock: Clock) -> AsyncIterator[Recorder]:
    """As long as the block lasts, and for what is left to tell a moment longer."""
    recorder = Recorder(kube, clock)
    writing = asyncio.create_task(recorder.run(), name="write events")
    try:
        yield recorder
    finally:
        recorder.end()
        await asyncio.wait([writing], timeout=_ENDING_SECONDS)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
