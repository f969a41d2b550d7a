"""An orderly end: nothing more is begun, and what is nearly done has the time to end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

GRACE_SECONDS: Final = 20.0
"""For moves that are nearly done, when we are told to stop: less than the 30 s that a pod has."""

HEARING_SECONDS: Final = 0.5
"""Until whoever waits for a move has heard of its end."""


class Stops(Protocol):
    """As far as whoever ends needs the migrator."""

    async def stop(self, grace_seconds: float) -> None: ...


async def to_an_end(
    doing: Coroutine[Any, Any, None],
    migrator: Stops,
    *,
    may_write: Callable[[], bool],
    stop: Callable[[], object],
) -> None:
    """Does it, and then lets end what is nearly done: nobody may come soon to go on with it. So it
    does when it is cancelled in the middle, after a call of `stop`, which is to see to it that
    `doing` begins nothing more; until then it is left to hear what becomes of its moves.
    """
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait([task])
        if task.exception() is None:
            await migrator.stop(GRACE_SECONDS)
    except asyncio.CancelledError:
        # Whoever may not write any more can end nothing.
        if may_write():
            stop()
            await migrator.stop(GRACE_SECONDS)
            await asyncio.wait([task], timeout=HEARING_SECONDS)
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await task
