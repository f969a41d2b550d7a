"""Wakes a migration when something in its namespace changed. A hint only: decisions read anew."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, errors
from rescheduler.wire import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    Resource,
)

_WATCHED = (PODS, ENDPOINT_SLICES, REPLICA_SETS, DEPLOYMENTS, POD_DISRUPTION_BUDGETS)
# Also after a clean end: a proxy may close every stream at once.
_PAUSE_BETWEEN_WATCHES_SECONDS = 1.0


class Changes:
    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def forget(self) -> None:
        """Before reading: what changes from now on is news."""
        self._changed.clear()

    def signal(self) -> None:
        self._changed.set()

    async def wait(self, at_most_seconds: float) -> None:
        """Until something changes, or the time is over: a watch can be silently dead."""
        try:
            await asyncio.wait_for(self._changed.wait(), at_most_seconds)
        except TimeoutError:
            return


@asynccontextmanager
async def watching(kube: KubeApi, clock: Clock, namespace: str) -> AsyncIterator[Changes]:
    changes = Changes()
    watches = [
        asyncio.create_task(_follow(kube, clock, each, namespace, changes)) for each in _WATCHED
    ]
    try:
        yield changes
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def _follow(
    kube: KubeApi, clock: Clock, resource: Resource, namespace: str, changes: Changes
) -> None:
    while True:
        try:
            async for event in kube.watch(resource, namespace=namespace):
                if event.kind != "BOOKMARK":
                    changes.signal()
        except errors.KubeError:
            pass  # whatever was missed meanwhile, a fresh read finds it
        changes.signal()
        await clock.sleep(_PAUSE_BETWEEN_WATCHES_SECONDS)
