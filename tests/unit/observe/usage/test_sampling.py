"""Asking at intervals: failures are told once, and end nothing."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from rescheduler.config import UsageSettings
from rescheduler.observe.usage import Sampler
from rescheduler.observe.usage.samples import Sample
from rescheduler.prometheus import PrometheusError
from tests.unit.observe.usage.scenes import START, measured, placement

ONE_NODE = placement(["a"], [])
SETTINGS = UsageSettings(debounce=1, interval_seconds=30, window_seconds=300)


class ScriptedClock:
    """Time passes when somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.time = START
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


class Script:
    """Says one thing after the other; then it is cancelled, as from outside."""

    name = "prometheus"

    def __init__(self, clock: ScriptedClock, says: Iterable[float | Exception]) -> None:
        self._clock = clock
        self._says = iter(says)
        self.findings: dict[str, str] = {}

    async def read(self) -> Sample:
        answer = next(self._says, None)
        if answer is None:
            raise asyncio.CancelledError
        if isinstance(answer, Exception):
            raise answer
        return Sample(nodes=measured({"a": answer}, self._clock.time), findings=self.findings)


async def run(*says: float | Exception) -> tuple[Sampler, ScriptedClock, list[tuple[str, str]]]:
    clock = ScriptedClock()
    sampler = Sampler(Script(clock, says), clock, SETTINGS)
    with capture_logs() as logs, suppress(asyncio.CancelledError):
        await sampler.run()
    return sampler, clock, [(line["log_level"], line["event"]) for line in logs]


async def test_it_asks_at_intervals() -> None:
    sampler, clock, logs = await run(100, 200, 300)
    assert clock.slept == [30, 30, 30]
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [200]
    assert logs == []


@pytest.mark.parametrize("failure", [PrometheusError("refused"), KeyError("a bug"), OSError()])
async def test_an_outage_and_its_end_are_told_once_each(failure: Exception) -> None:
    sampler, _, logs = await run(100, *[failure] * 8)
    told = [line for line in logs if line[0] != "debug"]
    assert told == [("warning", "usage cannot be measured")]
    usage = sampler.usage(ONE_NODE)
    assert usage.outage.startswith("prometheus has not answered for 4m: ")
    assert str(failure) in usage.outage

    sampler, _, logs = await run(100, *[failure] * 8, 200, 200, failure)
    told = [line for line in logs if line[0] != "debug"]
    assert told == [
        ("warning", "usage cannot be measured"),
        ("info", "usage is measured again"),
        ("warning", "usage cannot be measured"),
    ]
    # One failure is nothing yet.
    assert sampler.usage(ONE_NODE).outage == ""


async def test_what_is_wrong_with_answers_is_told_once() -> None:
    clock = ScriptedClock()
    script = Script(clock, [100.0] * 5)
    sampler = Sampler(script, clock, SETTINGS)
    with capture_logs() as logs:
        await sampler.sample()
        script.findings = {"missing label": "missing label: 3"}
        await sampler.sample()
        script.findings = {"missing label": "missing label: 4", "warning": "partial"}
        await sampler.sample()
        await sampler.sample()
    assert [line["problem"] for line in logs] == ["missing label: 3", "partial"]


async def test_it_ends_when_it_is_cancelled() -> None:
    clock = ScriptedClock()
    asked = asyncio.Event()

    class Slow:
        name = "metrics-server"

        async def read(self) -> Sample:
            asked.set()
            await asyncio.Event().wait()
            return Sample()

    task = asyncio.create_task(Sampler(Slow(), clock, SETTINGS).run())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
