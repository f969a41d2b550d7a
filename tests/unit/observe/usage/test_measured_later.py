"""For `auto`, who measures may answer only when we run: it takes over then, and keeps it."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

import numpy as np
from structlog.testing import capture_logs

from rescheduler.config import UsageSettings
from rescheduler.observe.usage import Choice, Sampler, UsageSource
from rescheduler.observe.usage.choosing import best_of
from rescheduler.observe.usage.samples import Sample
from rescheduler.observe.usage.sources.metrics_server import NoFigures
from rescheduler.observe.usage.sources.requests import Requests
from tests.unit.observe.scripted_clock import ScriptedClock
from tests.unit.observe.usage.scenes import START, Pod, measured, placement

PLACE = placement(["a"], [Pod(name="web", node="a", asks=300)])
SETTINGS = UsageSettings(interval_seconds=30, window_seconds=300, debounce=3)
NOT_YET = NoFigures("no figure of any node")


class Later:
    """Says nothing, then figures; and, if it is to, nothing again."""

    def __init__(
        self, name: str, clock: ScriptedClock, *, since: float, until: float = float("inf")
    ) -> None:
        self.name = name
        self._clock = clock
        self._answers = (START + since, START + until)
        self.asked: list[float] = []

    async def read(self) -> Sample:
        now = self._clock.time
        self.asked.append(now - START)
        if not self._answers[0] <= now < self._answers[1]:
            raise NOT_YET
        return Sample(nodes=measured({"a": 2000}, now))


class Until:
    """A clock that cancels who sleeps when a time has come."""

    def __init__(self, clock: ScriptedClock, seconds: float) -> None:
        self._clock = clock
        self._end = START + seconds
        self.is_virtual = False
        self.monotonic, self.now = clock.monotonic, clock.now

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._clock.time >= self._end:
            raise asyncio.CancelledError


async def run_for(
    seconds: float, clock: ScriptedClock, sources: Iterable[UsageSource]
) -> tuple[Sampler, list[Mapping[str, object]]]:
    with capture_logs() as logs:
        choice = await best_of({each.name: each for each in sources})
        sampler = Sampler(choice, Until(clock, seconds), SETTINGS, lambda: PLACE)
        with suppress(asyncio.CancelledError):
            await sampler.run()
    return sampler, [line for line in logs if line["event"] == "usage is measured by"]


async def test_who_answers_later_takes_over_by_samples_of_its_own_only() -> None:
    clock = ScriptedClock(START)
    server = Later("metrics-server", clock, since=60)
    sampler, _ = await run_for(90, clock, [server])
    usage = sampler.usage(PLACE)
    assert (usage.source, usage.node_cpu.tolist()) == ("requests", [300])

    clock = ScriptedClock(START)
    sampler, told = await run_for(120, clock, [Later("metrics-server", clock, since=60)])
    usage = sampler.usage(PLACE)
    assert usage.source == "metrics-server"
    assert np.isnan(usage.node_cpu).all()
    assert usage.unknown_nodes == {0: "only 1 of 3 samples are there"}
    assert [line["source"] for line in told] == ["requests", "metrics-server"]
    because = "metrics-server answers with figures by now; before, requests counted"
    assert told[-1]["because"] == because

    clock = ScriptedClock(START)
    sampler, told = await run_for(180, clock, [Later("metrics-server", clock, since=60)])
    usage = sampler.usage(PLACE)
    assert (usage.unknown_nodes, usage.node_cpu.tolist()) == ({}, [2000])
    assert len(told) == 2
    # Who waits for news hears of each: by requests 0 to 60 s, by its own 90 to 150.
    assert sampler.samples == 6


async def test_it_is_asked_less_and_less_often_while_it_says_nothing() -> None:
    clock = ScriptedClock(START)
    server = Later("metrics-server", clock, since=float("inf"))
    _, told = await run_for(1500, clock, [server])
    assert server.asked == [0, 30, 90, 210, 450, 750, 1050, 1350]
    assert [line["source"] for line in told] == ["requests"]


async def test_who_stops_answering_is_replaced_by_no_lesser_one() -> None:
    clock = ScriptedClock(START)
    server = Later("metrics-server", clock, since=60, until=200)
    sampler, told = await run_for(900, clock, [server])
    usage = sampler.usage(PLACE)
    assert usage.source == "metrics-server"
    assert usage.outage.startswith("metrics-server has not answered for 11m30s: ")
    assert len(told) == 2


async def test_the_best_takes_over_in_the_end_from_whoever_is_there() -> None:
    clock = ScriptedClock(START)
    best = Later("prometheus", clock, since=300, until=600)
    good = Later("metrics-server", clock, since=60)
    _, told = await run_for(1200, clock, [best, good])
    assert [line["source"] for line in told] == ["requests", "metrics-server", "prometheus"]
    asked_last = good.asked[-1]
    assert asked_last < best.asked[-1] == 1170


async def test_a_bug_in_who_is_asked_again_ends_nothing_and_is_told_once() -> None:
    clock = ScriptedClock(START)

    class Broken(Later):
        async def read(self) -> Sample:
            await super().read()
            raise ZeroDivisionError("a bug")

    choice = Choice(
        source=Requests(), reason="", rather={"x": Broken("metrics-server", clock, since=0)}
    )
    with capture_logs() as logs:
        sampler = Sampler(choice, Until(clock, 300), SETTINGS, lambda: PLACE)
        with suppress(asyncio.CancelledError):
            await sampler.run()
    assert sampler.usage(PLACE).node_cpu.tolist() == [300]
    assert [line["log_level"] for line in logs] == ["info", "error"]
