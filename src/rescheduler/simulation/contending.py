"""One contender's day: the product with one configuration, or nobody, on one cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from rescheduler.config import Configuration
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import START, VirtualClock
from rescheduler.kube import KubeApi
from rescheduler.simulation.described import Described
from rescheduler.simulation.faulty import Fault, plant
from rescheduler.simulation.filling import fill
from rescheduler.simulation.happenings import Happening, happen
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.measuring import Figures, Measuring
from rescheduler.simulation.rude_drains import Drain
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import HOUR, Scenario
from rescheduler.simulation.web import Look, Web

_TOLD_SECONDS: Final = 0.25 * HOUR

_PACE: Final = 300.0
"""Where people look: a day takes about five minutes."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a contender's day is to be seen while it plays."""

    url: str
    token: str
    """By which plans can be changed there."""


Progress = Callable[[float | Shown], None]
"""Told the share of the day that is over, and where it is to be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    name: str
    configuration: Configuration | None
    """None: nobody moves anything, and a scheduler is answered nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What all contenders have in common."""

    described: Described
    scenario: Scenario
    happenings: tuple[Happening, ...] = ()
    seed: int = 0
    hours: float = 24.0
    threshold_percent: float = 80.0
    start_seconds: tuple[float, float] = (2.0, 20.0)
    """How long pods take to become Ready that do not say so themselves."""
    faults: tuple[Fault, ...] = ()
    port: int | None = None
    """Of the page on which it is shown while it plays; 0: the first that is free from 8080 on;
    None: it is not shown.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    contender: str
    figures: Figures
    drains: tuple[Drain, ...] = ()
    """By outsiders, in the order in which they began."""
    refused: tuple[str, ...] = field(default=())
    """Objects that the embedded cluster would not have, each with its reason."""


def simulate(contender: Contender, day: Day, progress: Progress = lambda _: None) -> Outcome:
    pace = _PACE if _is_shown(contender, day) else 0.0
    return virtual_time.run(_simulate(contender, day, progress), pace=pace)


def _is_shown(contender: Contender, day: Day) -> bool:
    """Of nobody at work there is nothing to be seen."""
    return day.port is not None and contender.configuration is not None


async def _simulate(contender: Contender, day: Day, progress: Progress) -> Outcome:
    loads = ScenarioLoads(day.described, day.scenario, seed=day.seed, start=START)
    cluster = EmbeddedCluster(
        seed=day.seed,
        clock=VirtualClock(START),
        loads=loads,
        start_seconds=day.start_seconds,
    )
    filled = fill(cluster, day.described)
    around = plant(cluster.api, day.faults, cluster.chance)

    @asynccontextmanager
    async def connect() -> AsyncIterator[KubeApi]:
        yield cluster.client(around=around)

    async with cluster, AsyncExitStack() as stack:
        measuring = Measuring(cluster, loads, threshold_percent=day.threshold_percent)
        if contender.configuration is not None:
            settings = contender.configuration
            web = _web(cluster, contender, day, progress)
            if web is not None:
                await stack.enter_async_context(web.open())
            controller = await stack.enter_async_context(
                running(cluster, settings, connect=connect, seed=day.seed, web=web)
            )
            cluster.extend_scheduler(controller.extender)
            cluster.review_evictions(controller.guard)
        drains: list[Drain] = []
        beside = [
            asyncio.create_task(measuring.run(), name="measure"),
            asyncio.create_task(happen(cluster.api, day.happenings, drains), name="happenings"),
        ]
        try:
            await _pass(day.hours * HOUR, progress, beside)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        figures = measuring.figures()
    return Outcome(
        contender=contender.name,
        figures=figures,
        drains=tuple(drains),
        refused=tuple(filled.refused),
    )


def _web(
    cluster: EmbeddedCluster, contender: Contender, day: Day, progress: Progress
) -> Web | None:
    if contender.configuration is None or not _is_shown(contender, day):
        return None
    look = Look(
        port=day.port or None, told=lambda url, token: progress(Shown(url=url, token=token))
    )
    web = Web(cluster, contender.configuration, look)
    web.tell(1, f"rescheduler simulate: {contender.name}, {day.hours:g} hours")
    return web


async def _pass(seconds: float, progress: Progress, beside: list["asyncio.Task[None]"]) -> None:
    """So much time. Raises what ends what goes on beside."""
    passed = 0.0
    while passed < seconds:
        step = min(_TOLD_SECONDS, seconds - passed)
        await asyncio.sleep(step)
        passed += step
        progress(passed / seconds)
        for task in beside:
            if task.done():
                task.result()
