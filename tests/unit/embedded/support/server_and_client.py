"""An API server and one client of it, on virtual time."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TypeVar

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.client import Around, EmbeddedClient
from rescheduler.embedded.store import Store
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.kube import KubeApi, Object
from rescheduler.wire import NAMESPACES, PODS, Batch
from tests.unit.embedded.support.server import pod

T = TypeVar("T")


class ServerAndClient:
    def __init__(self, around: Around | None = None) -> None:
        self.clock = VirtualClock()
        self.store = Store()
        self.api = ApiServer(self.store, self.clock.now, random.Random(1))  # noqa: S311
        self.api.create(NAMESPACES, None, {"metadata": {"name": "default"}})
        self.client = EmbeddedClient(self.api, random.Random(2), name="tester", around=around)  # noqa: S311
        # What mypy holds against the protocol.
        self.kube: KubeApi = self.client

    def pod(self, name: str = "web", **spec: object) -> Object:
        return self.api.create(PODS, "default", pod(name, **spec))

    def set_phase(self, name: str, phase: str) -> None:
        change = {"status": {"phase": phase}}
        self.api.patch(PODS, "default", name, change, subresource="status")


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
