"""Probes of running replicas, all the time, as a kubelet asks; only more often."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

EVERY_SECONDS = 0.05
PATIENCE_SECONDS = 60
"""Far longer than a kubelet has: how long an answer took is printed, and decides nothing."""
PATHS = ("/healthz", "/readyz")
REFUSED = 0


@dataclass(slots=True)
class Answers:
    """To one path of one replica, from the first one on."""

    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def in_words(self) -> str:
        worst = 1000 * max(self.seconds, default=0.0)
        return f"{len(self.statuses)} answers, worst after {worst:.0f} ms"


class Probes:
    def __init__(self, session: aiohttp.ClientSession, ports: Mapping[str, int]) -> None:
        self.answers = {(name, path): Answers() for name in ports for path in PATHS}
        self._session = session
        self._news = asyncio.Event()
        self._asking = {
            key: asyncio.create_task(self._ask(ports[key[0]], key)) for key in self.answers
        }

    async def answered_again(self) -> None:
        """By all that are still asked, to something that was asked from now on."""
        # The next answer may be to what was asked before.
        wanted = {key: len(self.answers[key].statuses) + 2 for key in self._asking}
        async with asyncio.timeout(2 * PATIENCE_SECONDS):
            while any(len(self.answers[key].statuses) < least for key, least in wanted.items()):
                self._news.clear()
                await self._news.wait()

    async def leave(self, name: str) -> None:
        """Whatever becomes of that replica from now on."""
        left = [self._asking.pop((name, path)) for path in PATHS]
        await _end(left)

    async def end(self) -> None:
        await _end(list(self._asking.values()))

    async def _ask(self, port: int, key: tuple[str, str]) -> None:
        found, url = self.answers[key], f"http://127.0.0.1:{port}{key[1]}"
        while True:
            begun = time.monotonic()
            status = await self._status(url)
            if found.statuses or status != REFUSED:  # at first it is starting
                found.statuses.append(status)
                found.seconds.append(time.monotonic() - begun)
                self._news.set()
            await asyncio.sleep(EVERY_SECONDS)

    async def _status(self, url: str) -> int:
        try:
            async with self._session.get(url) as answer:
                await answer.read()
                return answer.status
        except aiohttp.ClientConnectionError:
            return REFUSED


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    for each in found:
        if isinstance(each, Exception):
            raise each


@asynccontextmanager
async def probing(ports: Mapping[str, int]) -> AsyncIterator[Probes]:
    limit = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with aiohttp.ClientSession(timeout=limit) as session:
        probes = Probes(session, ports)
        try:
            yield probes
        finally:
            await probes.end()
