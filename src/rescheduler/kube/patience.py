"""Reads that are repeated: passing faults are sat out here, in one place."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rescheduler.kube import errors

READ_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.4

T = TypeVar("T")


async def patiently(ask: Callable[[], Awaitable[T]], jitter: random.Random) -> T:
    """For reads only, which may be repeated without harm."""
    for attempt in range(1, READ_ATTEMPTS + 1):
        try:
            return await ask()
        except (errors.Unavailable, errors.Throttled) as problem:
            if attempt == READ_ATTEMPTS:
                raise
            pause = problem.retry_after_seconds or _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
            await asyncio.sleep(pause * jitter.uniform(1.0, 1.5))
    raise AssertionError("unreachable")
