"""What is heard of changes: watches, and everything that there is and then what changes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from rescheduler.embedded.client import Call
from rescheduler.embedded.virtual_time import run
from rescheduler.kube import Event, errors
from rescheduler.observe.sources import fields_of
from rescheduler.wire import NAMESPACES, NODES, PODS, Batch, Resource
from tests.unit.embedded.support.server import pod
from tests.unit.embedded.support.server_and_client import (
    ServerAndClient,
    gather,
    listen,
    names,
)

# ---------------------------------------------------------------------- watching


def _words(events: list[Event]) -> list[tuple[str, str]]:
    return [(each.kind, each.object["metadata"].get("name", "")) for each in events]


async def test_a_watch_tells_what_changes_in_order(both: ServerAndClient) -> None:
    both.pod("before")
    watching = asyncio.create_task(gather(both.kube.watch(PODS, namespace="default"), 10))
    await asyncio.sleep(1)
    both.pod("a")
    both.api.bind("default", "a", "n1")
    both.api.create(NODES, None, {"metadata": {"name": "n1"}})
    await asyncio.sleep(1)
    both.api.delete(PODS, "default", "before")
    assert _words(await watching) == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "before"),
        ("DELETED", "before"),
    ]


async def test_a_watch_goes_on_where_a_list_ended(both: ServerAndClient) -> None:
    listing = await both.kube.listing(PODS)
    both.pod("a")
    both.pod("b")
    events = await gather(both.kube.watch(PODS, since=listing.version), 1)
    assert _words(events) == [("ADDED", "a"), ("ADDED", "b")]
    version = events[0].object["metadata"]["resourceVersion"]
    events = await gather(both.kube.watch(PODS, since=version), 1)
    assert _words(events) == [("ADDED", "b")]
    events[0].object["metadata"]["labels"].clear()
    assert both.api.get(PODS, "default", "b")["metadata"]["labels"] == {"app": "web"}


async def test_a_watch_is_of_one_namespace(both: ServerAndClient) -> None:
    both.api.create(NAMESPACES, None, {"metadata": {"name": "other"}})
    listing = await both.kube.listing(PODS, namespace="other")
    both.pod("a")
    both.api.create(PODS, "other", pod("b"))
    events = await gather(both.kube.watch(PODS, namespace="other", since=listing.version), 1)
    assert _words(events) == [("ADDED", "b")]


async def test_the_server_ends_a_watch_with_a_bookmark(both: ServerAndClient) -> None:
    both.pod("a")
    events = await gather(both.kube.watch(PODS), 1000)
    assert _words(events) == [("BOOKMARK", "")]
    assert events[0].object["metadata"]["resourceVersion"] == str(both.store.version)
    assert asyncio.get_running_loop().time() < 310


async def test_what_is_not_kept_any_more_cannot_be_watched(both: ServerAndClient) -> None:
    version = str(both.store.version)
    both.pod("a")
    both.store.forget_changes()
    with pytest.raises(errors.Expired):
        await gather(both.kube.watch(PODS, since=version), 1)
    with pytest.raises(errors.Expired):
        await gather(both.kube.follow(PODS, since=version), 1)
    # Nor can what has not happened yet: the store may have been restored from a backup.
    with pytest.raises(errors.Expired):
        await gather(both.kube.watch(PODS, since="1000000"), 1)


async def test_kinds_lag_each_other(both: ServerAndClient) -> None:
    heard: list[str] = []

    async def hear(resource: Resource) -> None:
        async with aclosing(both.kube.watch(resource)) as events:
            async for event in events:
                heard.append(event.object["metadata"].get("name", ""))  # noqa: PERF401

    listening = [asyncio.create_task(hear(each)) for each in (PODS, NODES)]
    await asyncio.sleep(1)
    for number in range(50):
        both.api.create(NODES, None, {"metadata": {"name": f"node-{number}"}})
        both.pod(f"pod-{number}")
        await asyncio.sleep(1)
    await asyncio.gather(*listening)
    for kind in ("node", "pod"):
        of_kind = [each for each in heard if each.startswith(kind)]
        assert of_kind == [f"{kind}-{number}" for number in range(50)]
    first = [heard[index] for index in range(0, 100, 2)]
    assert {each.partition("-")[0] for each in first} == {"node", "pod"}


async def test_whoever_stops_listening_leaves_nothing_behind(both: ServerAndClient) -> None:
    for _ in range(3):
        await gather(both.kube.watch(PODS), 1)
        await gather(both.kube.follow(PODS), 1)
    assert not any(both.store._listeners.values())  # noqa: SLF001
    assert not both.client._open  # noqa: SLF001


# ---------------------------------------------------------------------- following


async def test_first_everything_and_then_what_changes(both: ServerAndClient) -> None:
    for number in range(600):
        both.pod(f"p{number:03}")
    following = asyncio.create_task(gather(both.kube.follow(PODS), 10))
    await asyncio.sleep(5)
    both.pod("new")
    both.api.delete(PODS, "default", "p000")
    batches = await following
    ends = [index for index, each in enumerate(batches) if each.complete]
    assert len(ends) == 1
    listed, later = batches[: ends[0] + 1], batches[ends[0] + 1 :]
    assert [len(each.present) for each in listed] == [256, 256, 88, 0]
    # Nobody may resume before everything has come.
    assert [bool(each.version) for each in listed] == [False, False, False, True]
    assert names(later) == [("present", ["new", "p000"]), ("gone", ["p000"])]
    assert later[-1].version == str(both.store.version)
    assert not any(each.malformed for each in batches)


async def test_who_resumes_hears_what_it_missed(both: ServerAndClient) -> None:
    both.pod("a")
    batches = await gather(both.kube.follow(PODS), 1)
    version = batches[-1].version
    both.pod("b")
    batches = await gather(both.kube.follow(PODS, since=version), 1)
    # First the word that the server is there.
    assert (batches[0].version, len(batches[0].present)) == (version, 0)
    assert not any(each.complete for each in batches)
    assert names(batches) == [("present", ["b"])]


async def test_who_leaves_the_selection_is_gone(both: ServerAndClient) -> None:
    for name in ("a", "b", "c"):
        both.pod(name)
    both.set_phase("b", "Failed")
    fields = fields_of(PODS)
    assert fields
    following = asyncio.create_task(gather(both.kube.follow(PODS, fields=fields), 10))
    await asyncio.sleep(1)
    both.set_phase("a", "Succeeded")
    await asyncio.sleep(1)
    # Of who is outside, nothing is heard.
    both.api.patch(PODS, "default", "a", {"metadata": {"labels": {"x": "y"}}})
    both.api.delete(PODS, "default", "b")
    await asyncio.sleep(1)
    both.set_phase("a", "Running")
    batches = await following
    assert names(batches) == [
        ("present", ["a", "c"]),
        ("gone", ["a"]),
        ("present", ["a"]),
    ]
    versions = [int(each.version) for each in batches if each.version]
    assert versions == sorted(versions)


async def test_the_server_ends_what_is_followed(both: ServerAndClient) -> None:
    batches = await gather(both.kube.follow(NODES), 1000)
    assert 280 < asyncio.get_running_loop().time() < 310
    assert batches[-1].version == str(both.store.version)
    assert not batches[-1].complete


async def test_what_is_not_served_cannot_be_followed(both: ServerAndClient) -> None:
    with pytest.raises(errors.NotFound):
        await gather(both.kube.follow(Resource("example.com/v1", "widgets")), 1)


def test_streams_go_through_whoever_stands_around() -> None:
    async def around(call: Call, go_on: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        assert call.verb == "watch"
        stream = await go_on()

        async def cut() -> AsyncGenerator[Batch, None]:
            async with aclosing(stream) as batches:
                async for batch in batches:
                    yield batch
                    raise errors.Unavailable("cut")

        return cut()

    async def main() -> None:
        both = ServerAndClient(around)
        both.pod()
        heard: list[Batch] = []
        with pytest.raises(errors.Unavailable):
            await listen(both.kube.follow(PODS), heard)
        assert names(heard) == [("present", ["web"])]
        assert not any(both.store._listeners.values())  # noqa: SLF001

    run(main())
