"""The observer: follows what is asked for, says when it cannot, and measures beside it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from rescheduler.config import UsageSettings
from rescheduler.kube import KubeApi, errors
from rescheduler.model.usage import Usage
from rescheduler.observe import Observer, observing
from rescheduler.wire import NODE_METRICS, NODES, PODS, Batch, Resource, from_json
from tests.unit.observe.state.server import node, pod
from tests.unit.observe.usage.scenes import START

REQUESTS = UsageSettings(source="requests")
AUTO = UsageSettings(debounce=1)

Word = Batch | asyncio.Event | errors.KubeError
"""News, something to wait for, or the end of the stream."""


class SlowClock:
    """Time passes when the test says so."""

    is_virtual = False

    def __init__(self) -> None:
        self.time = START
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep(self, seconds: float) -> None:
        sleeper = self.time + seconds, asyncio.Event()
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    async def wait(self, seconds: float) -> None:
        """Wakes who sleeps, each at its time."""
        end = self.time + seconds
        await turns()
        while due := [each for each in self._sleepers if each[0] <= end]:
            self.time, alarm = min(due, key=lambda each: each[0])
            alarm.set()
            await turns()
        self.time = end


async def turns() -> None:
    """Until everybody has done what can be done without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


class Server:
    """Streams by kind, one after the other; the last one stays open."""

    def __init__(self, clock: SlowClock, **streams: Iterable[list[Word]]) -> None:
        self._clock = clock
        self._streams = {plural: iter(each) for plural, each in streams.items()}
        self.followed: list[tuple[str, str]] = []
        """Kind and fields, each time that a stream was asked for."""
        self.measured = 0
        self.may_measure = asyncio.Event()
        self.may_measure.set()

    async def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        del since
        self.followed.append((resource.plural, fields))
        stream = next(self._streams.get(resource.plural, iter([])), [Batch(complete=True)])
        for word in stream:
            if isinstance(word, Batch):
                yield word
            elif isinstance(word, asyncio.Event):
                await word.wait()
            else:
                raise word
        await asyncio.get_running_loop().create_future()

    async def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        if resource == NODE_METRICS:
            self.measured += 1
            await self.may_measure.wait()
        metrics = {
            "metadata": {"name": "a"},
            "timestamp": self._clock.now().isoformat(),
            "window": "15s",
            "usage": {"cpu": "500m", "memory": "1Gi"},
        }
        items = [metrics] if resource == NODE_METRICS else []
        yield json.dumps({"items": items}, separators=(",", ":")).encode()


def listed(resource: Resource, *raws: dict[str, Any]) -> Batch:
    views = [from_json(resource, raw) for raw in raws]
    return Batch(present=views, version="10", complete=True)


def kube(server: Server) -> KubeApi:
    return cast("KubeApi", server)


async def settle(observer: Observer, clock: SlowClock) -> None:
    settling = asyncio.create_task(observer.settled())
    await clock.wait(1)
    assert settling.done()
    await settling


def usage_of(observer: Observer) -> Usage:
    usage = observer.with_usage(observer.snapshot()).usage
    assert usage is not None
    return usage


# ---------------------------------------------------------------------- what is followed


async def test_only_what_is_asked_for_is_followed_and_only_once() -> None:
    clock = SlowClock()
    server = Server(clock, pods=[[listed(PODS, pod("web", "a"))]])
    async with observing(kube(server), clock, ("nodes", "pods"), REQUESTS) as observer:
        await settle(observer, clock)
        running = "status.phase!=Succeeded,status.phase!=Failed"
        assert sorted(server.followed) == [("nodes", ""), ("pods", running)]
        observer.want(["pods", "jobs", "jobs"])
        await settle(observer, clock)
        assert server.followed[2:] == [("jobs", "")]
        assert observer.gaps() == ()
        assert [each.name for each in observer.snapshot().pods_of([0])] == ["web"]


async def test_what_is_not_listed_yet_is_a_gap_and_not_settled() -> None:
    clock, comes = SlowClock(), asyncio.Event()
    server = Server(clock, jobs=[[comes, Batch(complete=True)]])
    async with observing(kube(server), clock, ["nodes"], REQUESTS) as observer:
        await settle(observer, clock)
        observer.want(["jobs"])
        waiting = asyncio.create_task(observer.settled())
        await clock.wait(3600)
        assert not waiting.done()  # slow, and no problem
        assert [gap.source for gap in observer.gaps()] == ["jobs"]
        comes.set()
        await clock.wait(1)
        await waiting
        assert observer.gaps() == ()


# ---------------------------------------------------------------------- when it cannot be


async def test_a_listing_that_stands_still_is_told_after_a_while() -> None:
    clock = SlowClock()
    down: list[Word] = [errors.Unavailable("connection refused")]
    server = Server(clock, pods=[down] * 100)
    async with observing(kube(server), clock, ("nodes", "pods"), REQUESTS) as observer:
        waiting = asyncio.create_task(observer.settled(patience_seconds=20))
        await clock.wait(19)
        assert not waiting.done()
        await clock.wait(2)
        with pytest.raises(errors.Unavailable, match="connection refused"):
            await waiting


async def test_a_listing_that_fails_for_a_while_only_is_awaited() -> None:
    clock = SlowClock()
    server = Server(clock, pods=[[errors.Unavailable("refused")], [listed(PODS)]])
    async with observing(kube(server), clock, ("nodes", "pods"), REQUESTS) as observer:
        waiting = asyncio.create_task(observer.settled(patience_seconds=20))
        await clock.wait(3)
        assert waiting.done()
        await waiting


@pytest.mark.parametrize("problem", [errors.Unauthorized("who?"), errors.Untrusted("not him")])
async def test_what_waiting_does_not_help_against_is_told_at_once(
    problem: errors.KubeError,
) -> None:
    clock = SlowClock()
    server = Server(clock, pods=[[problem]] * 100)
    async with observing(kube(server), clock, ("nodes", "pods"), REQUESTS) as observer:
        with pytest.raises(type(problem), match=str(problem)):
            await settle(observer, clock)


async def test_what_is_not_to_be_had_is_settled_and_a_gap() -> None:
    clock = SlowClock()
    server = Server(clock, jobs=[[errors.Forbidden("no")]] * 100)
    async with observing(kube(server), clock, ("nodes", "jobs"), REQUESTS) as observer:
        await settle(observer, clock)
        assert [(gap.source, gap.forbidden) for gap in observer.gaps()] == [("jobs", True)]


# ---------------------------------------------------------------------- usage


async def test_nothing_waits_until_it_is_decided_who_measures() -> None:
    clock = SlowClock()
    server = Server(clock, nodes=[[listed(NODES, node("a"))]])
    server.may_measure.clear()
    async with observing(kube(server), clock, ("nodes", "pods"), AUTO) as observer:
        await settle(observer, clock)
        why = "it is not decided yet who measures it"
        usage = usage_of(observer)
        assert (usage.source, usage.outage, usage.unknown_nodes) == ("auto", why, {0: why})
        measuring = asyncio.create_task(observer.measure())
        await turns()
        assert not measuring.done()
        server.may_measure.set()
        await measuring
        assert (usage_of(observer).source, usage_of(observer).node_cpu.tolist()) == (
            "metrics-server",
            [500],
        )


async def test_one_pass_reads_the_figures_once() -> None:
    """To choose, to begin and to measure are one and the same sample."""
    clock = SlowClock()
    server = Server(clock, nodes=[[listed(NODES, node("a"))]])
    with capture_logs() as logs:
        async with observing(kube(server), clock, ("nodes", "pods"), AUTO) as observer:
            await settle(observer, clock)
            await asyncio.gather(observer.measure(), observer.measure())
            await observer.measure()
            assert usage_of(observer).node_cpu.tolist() == [500]
            assert server.measured == 1
            await clock.wait(30)
            assert server.measured == 2
    assert [line["source"] for line in logs if line["event"] == "usage is measured by"] == [
        "metrics-server"
    ]


@pytest.mark.parametrize("refusal", [errors.Forbidden("no"), errors.NotFound("none")])
async def test_one_refusal_of_nodes_makes_usage_unknown_and_forgets_nothing(
    refusal: errors.KubeError,
) -> None:
    clock, strikes = SlowClock(), asyncio.Event()
    there = listed(NODES, node("a"))
    server = Server(clock, nodes=[[there, strikes, refusal], [there]])
    settings = UsageSettings()
    async with observing(kube(server), clock, ("nodes", "pods"), settings) as observer:
        await settle(observer, clock)
        await clock.wait(60)
        assert usage_of(observer).node_cpu.tolist() == [500]
        strikes.set()
        await turns()
        assert observer.snapshot().nodes == ()
        assert usage_of(observer).outage == "nodes are not seen"
        await clock.wait(30)
        assert len(observer.snapshot().nodes) == 1
        assert usage_of(observer).node_cpu.tolist() == [500]
