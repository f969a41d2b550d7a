"""Streams as an API server opens and loses them, told in advance; time passes as they say."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

from rescheduler.kube import KubeApi
from rescheduler.observe.following import Follower
from rescheduler.observe.state import ClusterState
from rescheduler.wire import PODS, Batch, Resource, from_json
from tests.unit.observe.scripted_clock import ScriptedClock
from tests.unit.observe.state.server import pod


@dataclass(frozen=True)
class After:
    """Seconds that pass between two words."""

    seconds: float


Word = Batch | After | Exception
Stream = Iterable[Word]


def listed(*names: str, version: str = "10") -> list[Word]:
    return [present(*names, version=""), Batch(version=version, complete=True)]


def present(*names: str, version: str) -> Batch:
    return Batch(present=[from_json(PODS, pod(name)) for name in names], version=version)


def gone(*names: str, version: str) -> Batch:
    return Batch(gone=[from_json(PODS, pod(name)) for name in names], version=version)


class Script:
    """Streams, one after the other; the last one stays open. Each step waits to be asked for."""

    def __init__(self, clock: ScriptedClock, streams: Iterable[Stream]) -> None:
        self._clock = clock
        self._streams = iter(streams)
        self.asked: list[str] = []
        """The versions from which streams were asked for."""
        self.opened_at: list[float] = []
        self.is_over = asyncio.Event()

    async def follow(
        self, _: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        assert fields == "some"
        self.asked.append(since)
        self.opened_at.append(self._clock.time)
        stream = next(self._streams, None)
        if stream is None:
            self.is_over.set()
            await asyncio.get_running_loop().create_future()
        for word in stream or ():
            if isinstance(word, After):
                self._clock.time += word.seconds
            elif isinstance(word, Batch):
                yield word
                await asyncio.sleep(0)
            else:
                raise word


@dataclass(frozen=True)
class Scene:
    follower: Follower
    script: Script
    clock: ScriptedClock
    state: ClusterState

    def reason(self) -> str:
        gap = self.follower.gap()
        return gap.reason if gap else ""

    def pods(self) -> list[str]:
        snapshot = self.state.snapshot()
        return [each.name for each in snapshot.pods_of(snapshot.rows)]

    async def until_over(self) -> None:
        async with asyncio.timeout(10):
            await self.script.is_over.wait()


class AtLeast(random.Random):
    """No jitter: the shortest pause there is."""

    def uniform(self, a: float, _: float) -> float:
        return a


@asynccontextmanager
async def following(
    *streams: Stream, resource: Resource = PODS, jitter: random.Random | None = None
) -> AsyncIterator[Scene]:
    clock = ScriptedClock()
    script = Script(clock, streams)
    state = ClusterState()
    follower = Follower(
        cast("KubeApi", script), clock, state, resource, jitter=jitter or AtLeast(), fields="some"
    )
    task = asyncio.create_task(follower.run())
    try:
        yield Scene(follower, script, clock, state)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
