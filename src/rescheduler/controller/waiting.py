"""Waits for whichever comes first."""

import asyncio
from collections.abc import Awaitable


async def first_of(*conditions: Awaitable[object]) -> None:
    """Until one of them is done, whose error is raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in conditions]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def unless_stopped(doing: Awaitable[object], stop: asyncio.Event) -> bool:
    """False: it was not waited for any longer."""
    task = asyncio.ensure_future(doing)
    try:
        await first_of(stop.wait(), asyncio.wait([task]))
        if not task.done():
            return False
        task.result()
        return True
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
