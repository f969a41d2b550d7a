"""What is minded beside the passes: that somebody wants them to end, or to rest."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from rescheduler.controller.passes import Passes
from rescheduler.controller.pausing import Pausing
from rescheduler.controller.plans_under_way import PlansUnderWay
from rescheduler.controller.triggers import Trigger


@asynccontextmanager
async def stopping_with(stop: asyncio.Event, passes: Passes) -> AsyncIterator[None]:
    """A search ends with us."""

    async def stop_passes() -> None:
        await stop.wait()
        passes.stop()

    async with _meanwhile(stop_passes()):
        yield


@asynccontextmanager
async def minding_pauses(
    pausing: Pausing, plans: PlansUnderWay, trigger: Trigger
) -> AsyncIterator[None]:
    """What is left of a plan is planned anew when a pause ends: the cluster is another then. One
    that somebody has approved is gone on with.
    """

    async def mind() -> None:
        while True:
            await pausing.paused()
            await plans.leave()
            await pausing.resumed()
            trigger.fire("resumed")

    async with _meanwhile(mind()):
        yield


@asynccontextmanager
async def _meanwhile(todo: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    doing = asyncio.create_task(todo)
    try:
        yield
    finally:
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)
