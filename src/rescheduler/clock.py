"""Time, handed in to whoever acts, so that a simulated cluster can run on its own."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final, Protocol


class Clock(Protocol):
    @property
    def is_virtual(self) -> bool:
        """No time passes while somebody computes, so nobody needs a thread of its own."""
        ...

    def monotonic(self) -> float:
        """Seconds for measuring durations; never goes back."""
        ...

    def now(self) -> datetime: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    is_virtual: Final = False

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
