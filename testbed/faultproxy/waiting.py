"""Waiting for conditions and looking after tasks."""

import asyncio
from collections.abc import Callable, Coroutine


class Pulse:
    """Wakes everyone who waits for a condition, whenever something has changed."""

    def __init__(self) -> None:
        self._beat = asyncio.Event()

    def beat(self) -> None:
        self._beat.set()
        self._beat = asyncio.Event()

    async def until(self, condition: Callable[[], bool], within: float, meaning: str) -> None:
        try:
            async with asyncio.timeout(within):
                while not condition():
                    await self._beat.wait()
        except TimeoutError:
            raise TimeoutError(f"not within {within} s: {meaning}") from None


class Tasks:
    """Keeps hold of running tasks, so that none is lost and all can be ended."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def end(self) -> None:
        self.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
