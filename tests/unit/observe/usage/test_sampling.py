"""Asking at intervals: no more often than needed; failures are told once, and end nothing."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from rescheduler.config import UsageSettings
from rescheduler.observe.usage import Choice, Placement, Sampler, UsageSource
from rescheduler.observe.usage.samples import Sample
from rescheduler.observe.usage.sources.requests import Requests
from rescheduler.prometheus import PrometheusError
from tests.unit.observe.usage.scenes import MOMENTS, START, Cluster, Pod, measured, placement

ONE_NODE = placement(["a"], [])
SETTINGS = UsageSettings(debounce=1, interval_seconds=30, window_seconds=300)


class ScriptedClock:
    """Time passes when somebody sleeps, and only then."""

    is_virtual = False

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
        self.reads = 0

    async def read(self) -> Sample:
        self.reads += 1
        answer = next(self._says, None)
        if answer is None:
            raise asyncio.CancelledError
        if isinstance(answer, Exception):
            raise answer
        return Sample(nodes=measured({"a": answer}, self._clock.time), findings=self.findings)


def sampler_of(
    source: UsageSource,
    clock: ScriptedClock,
    settings: UsageSettings = SETTINGS,
    *,
    place: Callable[[], Placement] = lambda: ONE_NODE,
    sample: Sample | None = None,
) -> Sampler:
    return Sampler(Choice(source=source, reason="", sample=sample), clock, settings, place)


async def run(*says: float | Exception) -> tuple[Sampler, ScriptedClock, list[tuple[str, str]]]:
    clock = ScriptedClock()
    sampler = sampler_of(Script(clock, says), clock)
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
    told = [line for line in logs if line[0] != "error"]
    assert told == [("warning", "usage cannot be measured")]
    usage = sampler.usage(ONE_NODE)
    assert usage.outage.startswith("prometheus has not answered for 4m: ")
    assert str(failure) in usage.outage

    sampler, _, logs = await run(100, *[failure] * 8, 200, 200, failure)
    told = [line for line in logs if line[0] != "error"]
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
    sampler = sampler_of(script, clock)
    with capture_logs() as logs:
        for findings in (
            {},
            {"missing label": "missing label: 3"},
            {"missing label": "missing label: 4", "warning": "partial"},
            {"warning": "partial"},
        ):
            script.findings = findings
            await sampler.sample()
            await clock.sleep(30)
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

    task = asyncio.create_task(sampler_of(Slow(), clock).run())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ---------------------------------------------------------------------- bugs


async def test_a_bug_is_told_with_its_trace_once_and_ends_nothing() -> None:
    clock = ScriptedClock()
    sampler = sampler_of(Script(clock, [KeyError("here"), KeyError("here"), 100.0]), clock)
    with capture_logs() as logs, suppress(asyncio.CancelledError):
        await sampler.run()
    (told,) = [line for line in logs if line["log_level"] == "error"]
    assert told["exc_info"]
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [100]


async def test_a_bug_in_what_is_made_of_an_answer_ends_nothing() -> None:
    clock = ScriptedClock()
    asked: list[float] = []

    def place() -> Placement:
        asked.append(clock.time)
        if len(asked) == 1:
            raise ZeroDivisionError("a bug")
        return ONE_NODE

    sampler = sampler_of(Script(clock, [100.0, 200.0]), clock, place=place)
    with capture_logs() as logs, suppress(asyncio.CancelledError):
        await sampler.run()
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("error", "usage cannot be measured: internal error, please report"),
        ("warning", "usage cannot be measured"),
        ("info", "usage is measured again"),
    ]
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [200]


# ---------------------------------------------------------------------- no more often than needed


class Held:
    """Answers when it is let."""

    name = "metrics-server"

    def __init__(self, clock: ScriptedClock) -> None:
        self._clock = clock
        self.reads = 0
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def read(self) -> Sample:
        self.reads += 1
        self.asked.set()
        await self.may_answer.wait()
        return Sample(nodes=measured({"a": 100}, self._clock.time))


async def test_the_sample_by_which_the_source_was_chosen_is_the_first() -> None:
    clock = ScriptedClock()
    script = Script(clock, [])
    first = Sample(nodes=measured({"a": 70}, START))
    sampler = sampler_of(script, clock, sample=first)
    await sampler.sample()
    assert script.reads == 0
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [70]


async def test_who_asks_while_it_is_asked_shares_the_answer() -> None:
    clock = ScriptedClock()
    source = Held(clock)
    sampler = sampler_of(source, clock)
    asking = [asyncio.create_task(sampler.sample()) for _ in range(3)]
    await source.asked.wait()
    source.may_answer.set()
    await asyncio.gather(*asking)
    assert source.reads == 1
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [100]


async def test_when_the_one_who_asks_gives_up_another_asks() -> None:
    clock = ScriptedClock()
    source = Held(clock)
    sampler = sampler_of(source, clock)
    one, other = (asyncio.create_task(sampler.sample()) for _ in range(2))
    await source.asked.wait()
    one.cancel()
    source.may_answer.set()
    await other
    assert source.reads == 2
    assert sampler.usage(ONE_NODE).node_cpu.tolist() == [100]


@pytest.mark.parametrize(
    ("interval", "age", "reads"), [(30, 0, 1), (30, 4.9, 1), (30, 5, 2), (1, 0.4, 1), (1, 0.5, 2)]
)
async def test_a_sample_of_this_moment_is_not_read_again(
    interval: float, age: float, reads: int
) -> None:
    clock = ScriptedClock()
    script = Script(clock, [100.0, 200.0])
    sampler = sampler_of(script, clock, UsageSettings(debounce=1, interval_seconds=interval))
    await sampler.sample()
    clock.time += age
    await sampler.sample()
    assert script.reads == reads


# ---------------------------------------------------------------------- where pods are meanwhile


class Measuring:
    """Tells of a cluster how it is, averaged over the last seconds."""

    name = "metrics-server"

    def __init__(self, cluster: Cluster, clock: ScriptedClock) -> None:
        self._cluster = cluster
        self._clock = clock

    async def read(self) -> Sample:
        return self._cluster.sample(self._clock.time, span=15)


@pytest.mark.parametrize("asked_every", [1, 2, 10, 20])
async def test_however_seldom_usage_is_asked_for_who_left_is_taken_out_of_no_later_sample(
    asked_every: int,
) -> None:
    clock = ScriptedClock()
    leaves, stays = Pod(name="web", node="a", cpu=300), Pod(name="rest", node="a", cpu=400)
    cluster = Cluster(nodes=["a"], pods=[leaves, stays])
    sampler = sampler_of(Measuring(cluster, clock), clock, UsageSettings(), place=cluster.placement)
    for _ in range(12):
        await sampler.sample()
        clock.time += 30
    assert sampler.usage(cluster.placement()).node_cpu.tolist() == [900]
    cluster.pods[0] = None
    for _ in range(asked_every):
        await sampler.sample()
        clock.time += 30
    assert sampler.usage(cluster.placement()).node_cpu.tolist() == [600]


async def test_while_nodes_are_not_seen_usage_is_unknown_and_nothing_is_forgotten() -> None:
    clock = ScriptedClock()
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300)])
    blind = replace(placement([], []), unseen="nodes")
    places = [cluster.placement()]
    source = Measuring(cluster, clock)
    sampler = sampler_of(source, clock, UsageSettings(), place=lambda: places[0])
    for _ in range(3):
        await sampler.sample()
        clock.time += 30
    assert sampler.usage(cluster.placement()).node_cpu.tolist() == [500]
    places[0] = blind
    usage = sampler.usage(blind)
    assert (usage.outage, usage.unknown_nodes) == ("nodes are not seen", {})
    await sampler.sample()
    usage = sampler.usage(cluster.placement())
    assert usage.node_cpu.tolist() == [500]
    assert usage.pod_measured.tolist() == [True]


async def test_before_nodes_are_seen_samples_wait_for_them() -> None:
    clock = ScriptedClock()
    cluster = Cluster(nodes=["a"], pods=[Pod(name="web", node="a", cpu=300)])
    blind = replace(placement([], []), unseen="nodes")
    sampler = sampler_of(Measuring(cluster, clock), clock, MOMENTS, place=lambda: blind)
    await sampler.sample()
    usage = sampler.usage(cluster.placement())
    assert usage.node_cpu.tolist() == [500]
    assert usage.pod_cpu.tolist() == [300]


async def test_where_requests_count_nobody_is_asked_who_is_where() -> None:
    """It is as long as the cluster is large, and nothing is learnt from it."""

    def nobody() -> Placement:
        raise AssertionError("it was asked for")

    clock = ScriptedClock()
    sampler = sampler_of(Requests(), clock, place=nobody)
    with capture_logs() as logs:
        await sampler.sample()
    assert (sampler.samples, logs) == (1, [])
    assert sampler.usage(
        placement(["a"], [Pod(name="web", node="a", asks=300)])
    ).node_cpu.tolist() == [300]
