"""An API server and one door to it, on virtual time."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TypeVar

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.door import Around, Door
from rescheduler.embedded.store import Store
from rescheduler.embedded.virtual_time import VirtualClock, run
from rescheduler.kube import KubeApi, Object
from rescheduler.wire import NAMESPACES, PODS, Batch
from tests.unit.embedded.server import pod

T = TypeVar("T")


class Place:
    def __init__(self, around: Around | None = None) -> None:
        self.clock = VirtualClock()
        self.store = Store()
        self.api = ApiServer(self.store, self.clock.now, random.Random(1))  # noqa: S311
        self.api.create(NAMESPACES, None, {"metadata": {"name": "default"}})
        self.door = Door(self.api, random.Random(2), client="tester", around=around)  # noqa: S311
        # What mypy holds against the protocol.
        self.kube: KubeApi = self.door

    def pod(self, name: str = "web", **spec: object) -> Object:
        return self.api.create(PODS, "default", pod(name, **spec))

    def set_phase(self, name: str, phase: str) -> None:
        change = {"status": {"phase": phase}}
        self.api.patch(PODS, "default", name, change, subresource="status")


def on_virtual_time(test: Callable[[Place], Awaitable[None]]) -> Callable[[], None]:
    def runs() -> None:
        async def main() -> None:
            await test(Place())

        run(main())

    runs.__name__ = test.__name__
    return runs


async def listen(stream: AsyncGenerator[T, None], heard: list[T]) -> None:
    async with aclosing(stream) as items:
        async for item in items:
            heard.append(item)  # noqa: PERF401 - one by one, as it may be cut off


async def gather(stream: AsyncGenerator[T, None], seconds: float) -> list[T]:
    """What is heard in so many seconds."""
    heard: list[T] = []
    with suppress(TimeoutError):
        await asyncio.wait_for(listen(stream, heard), seconds)
    return heard


def names(batches: list[Batch]) -> list[tuple[str, list[str]]]:
    found = []
    for each in batches:
        if len(each.present):
            found.append(("present", [view.metadata.name for view in each.present]))
        if len(each.gone):
            found.append(("gone", [view.metadata.name for view in each.gone]))
    return found
