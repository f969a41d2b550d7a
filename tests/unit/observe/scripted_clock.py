"""Time as a script has it."""

import asyncio
from datetime import UTC, datetime


class ScriptedClock:
    """Time passes when somebody sleeps, or the script says so."""

    is_virtual = False

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self.time = start
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)
