"""Whole objects by list and watch: when a stream is resumed, and when all is listed anew."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rescheduler.kube import (
    Event,
    Known,
    KubeApi,
    Listing,
    ObjectNews,
    Pauses,
    Reflector,
    Relist,
    Whole,
    errors,
    follow_objects,
)
from rescheduler.wire import PODS, Resource
from tests.unit.observe.scripted_clock import ScriptedClock
from tests.unit.observe.streams import After

CUT = errors.Unavailable("cut")
PAUSES = Pauses(first_seconds=1.0, longest_seconds=1.0, longest_refused_seconds=1.0)

Word = Event | After | Exception


def pod(name: str, version: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def added(name: str, version: str) -> Event:
    return Event("ADDED", pod(name, version))


def bookmark(version: str) -> Event:
    return Event("BOOKMARK", {"metadata": {"resourceVersion": version}})


@dataclass
class Server:
    """Lists what there is, and then tells what the test has put into its mouth."""

    clock: ScriptedClock
    watches: list[list[Word]]
    listings: list[Exception] = field(default_factory=list)
    """What the first ones fail by."""
    asked: list[str] = field(default_factory=list)
    """`list`, or the version from which a watch was asked for."""
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def listing(
        self,
        _: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        del namespace, whole, known
        self.asked.append("list")
        if self.listings:
            raise self.listings.pop(0)
        return Listing([pod("a", "5")], "5")

    async def watch(
        self,
        _: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        del namespace, whole
        self.asked.append(since)
        if not self.watches:
            self.is_over.set()
            await asyncio.Event().wait()
        for word in self.watches.pop(0):
            if isinstance(word, After):
                self.clock.time += word.seconds
            elif isinstance(word, Event):
                yield word
            else:
                raise word


class Kept(Reflector[ObjectNews]):
    def __init__(self, server: Server, relist: Relist) -> None:
        super().__init__(server.clock, "pods", PAUSES, relist)
        self.names: set[str] = set()
        self._server = server

    def _open(self, since: str) -> AsyncGenerator[ObjectNews, None]:
        return follow_objects(cast("KubeApi", self._server), PODS, since=since)

    def _take(self, news: ObjectNews) -> None:
        if news.complete:
            self.names.clear()
        self.names |= {each["metadata"]["name"] for each in news.present}
        self.names -= {each["metadata"]["name"] for each in news.gone}


@asynccontextmanager
async def keeping(
    relist: Relist, *watches: Iterable[Word], listings: Iterable[Exception] = ()
) -> AsyncIterator[tuple[Kept, Server]]:
    """At the end of all of these watches."""
    server = Server(ScriptedClock(), [list(each) for each in watches], list(listings))
    kept = Kept(server, relist)
    running = asyncio.create_task(kept.run())
    try:
        async with asyncio.timeout(10):
            await server.is_over.wait()
        yield kept, server
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_what_is_listed_and_what_changes_is_kept() -> None:
    gone = Event("DELETED", pod("a", "7"))
    words: list[Word] = [added("b", "6"), gone, bookmark("9"), After(40)]
    async with keeping(Relist.AFTER_TROUBLE, words) as (kept, server):
        assert kept.names == {"b"}
        assert kept.is_current
        # Ended in order, it is resumed at once, where the bookmark says.
        assert server.asked == ["list", "5", "9"]
        assert server.clock.slept == []


@pytest.mark.parametrize(
    ("relist", "asked"),
    [
        (Relist.WHEN_EXPIRED, ["list", "5", "6"]),
        (Relist.AFTER_TROUBLE, ["list", "5", "list", "5"]),
        (Relist.ALWAYS, ["list", "5", "list", "5"]),
    ],
)
async def test_after_an_error(relist: Relist, asked: list[str]) -> None:
    async with keeping(relist, [added("b", "6"), After(9), CUT]) as (kept, server):
        assert server.asked == asked
        assert server.clock.slept == [1.0]
        assert kept.names == ({"a"} if "list" in asked[1:] else {"a", "b"})


@pytest.mark.parametrize(
    ("relist", "asked"),
    [
        (Relist.WHEN_EXPIRED, ["list", "5", "6"]),
        (Relist.AFTER_TROUBLE, ["list", "5", "6"]),
        (Relist.ALWAYS, ["list", "5", "list", "5"]),
    ],
)
async def test_after_an_end_in_order(relist: Relist, asked: list[str]) -> None:
    async with keeping(relist, [added("b", "6"), After(40)]) as (_, server):
        assert server.asked == asked
        assert server.clock.slept == []


async def test_a_stream_that_told_nothing_is_not_resumed_for_ever() -> None:
    resumed_in_silence: list[Word] = [After(40)]
    async with keeping(Relist.AFTER_TROUBLE, [added("b", "6"), After(40)], resumed_in_silence) as (
        kept,
        server,
    ):
        assert server.asked == ["list", "5", "6", "list", "5"]
        assert kept.names == {"a"}


async def test_the_version_is_too_old() -> None:
    too_old: list[Word] = [errors.Expired("too old")]
    async with keeping(Relist.AFTER_TROUBLE, [bookmark("6"), After(40)], too_old) as (_, server):
        assert server.asked == ["list", "5", "6", "list", "5"]


async def test_streams_that_end_at_once_are_not_asked_for_without_a_pause() -> None:
    short = [added("b", "6")]
    async with keeping(Relist.AFTER_TROUBLE, short, short, short) as (_, server):
        assert server.clock.slept == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("refusal", [errors.Forbidden("no"), errors.NotFound("404")])
async def test_what_is_refused_is_asked_for_again(refusal: errors.KubeError) -> None:
    async with keeping(Relist.AFTER_TROUBLE, listings=[refusal] * 3) as (kept, server):
        assert server.asked == ["list"] * 4 + ["5"]
        assert server.clock.slept == [1.0] * 3
        assert kept.is_current


async def test_is_not_current_while_a_stream_is_lost() -> None:
    listings_fail = [CUT] * 2
    server = Server(ScriptedClock(), [[After(9), CUT]])
    kept = Kept(server, Relist.AFTER_TROUBLE)
    said: list[str] = []

    async def listing(*_: object, **__: object) -> Listing:
        said.append(kept.doubt())
        if len(said) in (2, 3):
            raise listings_fail.pop()
        return Listing([pod("a", "5")], "5")

    server.listing = listing  # type: ignore[method-assign]
    running = asyncio.create_task(kept.run())
    async with asyncio.timeout(10):
        await server.is_over.wait()
    assert kept.is_current
    assert said == ["pods are not listed yet", *["pods are being listed anew: cut"] * 3]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
