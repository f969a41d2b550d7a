"""Where answers are worked out: not in the event loop, in which schedulers are answered, too."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from rescheduler.serve.dashboard.refusing import TOO_MANY, Refused

T = TypeVar("T")

_MOST_WAITING: Final = 64
_MOST_KEPT_BYTES: Final = 2**25
_MOST_KEPT: Final = 256


class Worker:
    """One thing after the other; who asks when too many wait is told so."""

    def __init__(self, name: str, most_waiting: int = _MOST_WAITING) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._most_waiting = most_waiting
        self._waiting = 0

    async def do(self, work: Callable[[], T]) -> T:
        """Raises Refused, and what the work does."""
        if self._waiting >= self._most_waiting:
            raise Refused(TOO_MANY, "too many answers are being worked out", way_out="ask again")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1

    def end(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Shared:
    """Answers by what was asked: the same one is worked out once, for all who ask."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Task[bytes]] = {}
        self._kept: OrderedDict[Hashable, tuple[bytes, float]] = OrderedDict()
        """Each with when it was there."""
        self._bytes = 0

    async def get(
        self,
        key: Hashable,
        worker: Worker,
        work: Callable[[], bytes],
        *,
        seconds: float = math.inf,
    ) -> bytes:
        """Not older than so many seconds; but what is under way is waited for, however long it
        takes: whoever asks again does not begin it anew. Raises what `work` does.
        """
        found = self._kept.get(key)
        if found is not None and time.monotonic() - found[1] <= seconds:
            self._kept.move_to_end(key)
            return found[0]
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.ensure_future(worker.do(work))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._keep(key, done))
        # Who gives up must not take it away from the others.
        return await asyncio.shield(task)

    def _keep(self, key: Hashable, done: "asyncio.Task[bytes]") -> None:
        self._under_way.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        if (before := self._kept.pop(key, None)) is not None:
            self._bytes -= len(before[0])
        self._kept[key] = done.result(), time.monotonic()
        self._bytes += len(done.result())
        while len(self._kept) > _MOST_KEPT or self._bytes > _MOST_KEPT_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1][0])
