"""The dashboard of a cluster in this process, also while no controller is at work on it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from rescheduler.clock import Clock
from rescheduler.controller.dashboard.asking import questions
from rescheduler.controller.dashboard.showing import Showing
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.settings import Settings
from rescheduler.model.usage_sources import AUTO, METRICS_SERVER
from rescheduler.observe import Observer, observing
from rescheduler.serve.dashboard.access import Gate
from rescheduler.serve.dashboard.door import DashboardDoor
from rescheduler.serve.serving import showing_people

_AGAIN_SECONDS: Final = 5.0


@asynccontextmanager
async def shown_beside(
    connect: Connect,
    clock: Clock,
    settings: Settings,
    showing: Showing,
    gate: Gate | None = None,
    *,
    tries: int = 1,
) -> AsyncIterator[int]:
    """As long as the block lasts; gives the port: so many are tried. Raises CannotListen."""
    showing.always, showing.connect = True, connect
    configuration = settings.configuration
    usage = configuration.usage
    if usage.source == AUTO:
        # What answers best is asked once, and here at a time when there is no node yet.
        usage = replace(usage, source=METRICS_SERVER)
    door = DashboardDoor(
        settings=configuration.dashboard, views=showing.views, questions=questions(), gate=gate
    )
    with showing_people(door, tries) as port:
        async with (
            connect() as kube,
            observing(kube, clock, showing.needs, usage) as observer,
        ):
            keeping = asyncio.create_task(_keep_up(observer, clock, showing), name="show")
            try:
                yield port
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)


async def _keep_up(observer: Observer, clock: Clock, showing: Showing) -> None:
    await observer.settled()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_measure(observer, clock))
        tasks.create_task(showing.keep_up(observer))


async def _measure(observer: Observer, clock: Clock) -> None:
    """Until there is something to be measured: the cluster may have no node yet."""
    while True:
        await observer.measure()
        measured = observer.with_usage(observer.snapshot()).measured
        if measured is not None and not measured.outage:
            return
        await clock.sleep(_AGAIN_SECONDS)
