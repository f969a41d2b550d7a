"""Reads that migrations share, and mirrors that never go back in time."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec

from rescheduler.clock import SystemClock
from rescheduler.kube import Event, Known, KubeApi, Listing, Whole, sealed
from rescheduler.migrate.worker.namespaces import Mirror, Namespaces, Shared
from rescheduler.migrate.worker.view_building import WATCHED
from rescheduler.model import names
from rescheduler.wire import PODS, Resource


async def test_who_asks_while_a_read_is_under_way_gets_a_later_one() -> None:
    begun, may_end = [0], asyncio.Event()

    async def read() -> int:
        begun[0] += 1
        number = begun[0]
        await may_end.wait()
        return number

    shared = Shared(read)
    first = asyncio.create_task(shared.read())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    late = [asyncio.create_task(shared.read()) for _ in range(5)]
    await asyncio.sleep(0)
    may_end.set()
    assert await first == 1
    assert await asyncio.gather(*late) == [2] * 5
    assert begun == [2]


async def test_a_read_that_failed_is_not_the_answer_to_the_next() -> None:
    answers: list[Any] = [OSError("no"), 7]

    async def read() -> int:
        answer = answers.pop(0)
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    shared = Shared(read)
    first, second = asyncio.create_task(shared.read()), asyncio.create_task(shared.read())
    found = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(found[0], OSError)
    assert found[1] == 7


def pod(version: int, uid: str = "u", **status: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "metadata": {"name": "web", "uid": uid, "resourceVersion": str(version)},
        "status": status,
    }


class Server:
    """Says what the test has put into its mouth."""

    def __init__(self, *events: Event) -> None:
        self._events = events

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        del resource, namespace, whole, known
        return Listing([pod(5)], "5")

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        del resource, namespace, since, whole
        for event in self._events:
            yield event
        await asyncio.Event().wait()


async def mirrored(*events: Event, learnt: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    mirror = Mirror(cast("KubeApi", Server(*events)), SystemClock(), PODS, "shop")
    heard = asyncio.Event()
    count = [0]

    def tell(_: Resource, __: object) -> None:
        count[0] += 1
        if learnt is not None and count[0] == 1:
            mirror.learn(learnt)
        if count[0] == 1 + len(events):
            heard.set()

    mirror.tell = tell
    task = asyncio.create_task(mirror.run())
    await heard.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return list(mirror.objects)


async def test_what_we_wrote_ourselves_is_known_before_the_watch_tells_it() -> None:
    assert await mirrored(learnt=pod(9)) == [pod(9)]


async def test_an_event_that_is_older_than_what_is_known_changes_nothing() -> None:
    older = Event("MODIFIED", pod(7, phase="Pending"))
    assert await mirrored(older, learnt=pod(9)) == [pod(9)]


async def test_the_end_of_a_namesake_does_not_remove_its_successor() -> None:
    assert await mirrored(Event("DELETED", pod(8)), learnt=pod(7, uid="new")) == [pod(7, uid="new")]
    assert await mirrored(Event("DELETED", pod(8))) == []


# ---------------------------------------------------------------------- what is kept of a pod


def brief(pod: dict[str, Any]) -> dict[str, Any]:
    parts = msgspec.json.decode(msgspec.json.encode(pod), type=sealed.Parts)
    return sealed.Reader(lambda _: False).read(parts)


def mirror_of(*known: dict[str, Any]) -> Mirror:
    mirror = Mirror(cast("KubeApi", Server()), SystemClock(), PODS, "shop")
    for each in known:
        mirror.learn(each)
    return mirror


def test_what_was_kept_in_brief_is_completed_by_what_is_read() -> None:
    mirror = mirror_of(brief(pod(5)))
    mirror.complete(pod(5, podIP="10.0.0.1"))
    assert list(mirror.objects) == [pod(5, podIP="10.0.0.1")]


def test_what_is_read_neither_brings_back_nor_outdates_what_the_watch_told() -> None:
    for known in ([], [brief(pod(7))], [brief(pod(4, uid="new"))], [pod(5, phase="Running")]):
        mirror = mirror_of(*known)
        mirror.complete(pod(5, podIP="10.0.0.1"))
        assert list(mirror.objects) == known


def test_what_is_read_live_is_the_same_object_if_it_has_not_changed() -> None:
    here = pod(5)
    mirror = mirror_of(here)
    assert mirror.known("web", "5") is here
    assert mirror.known("web", "6") is None
    assert mirror.known("db", "5") is None


class Asked(Server):
    """Remembers which pods are to be whole."""

    def __init__(self) -> None:
        super().__init__()
        self.whole: Whole | None = None
        self.known: set[Resource] = set()

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        if resource == PODS:
            self.whole = whole
        else:
            assert whole is None
        if known is not None:
            self.known.add(resource)
        return await super().listing(resource, namespace=namespace)


async def test_pods_that_are_moved_and_their_copies_are_kept_whole() -> None:
    server = Asked()
    namespaces = Namespaces(cast("KubeApi", server), SystemClock())
    copy = {"uid": "c", "annotations": {names.ORIGINAL_POD: "second"}}
    async with namespaces.using("shop", "first") as namespace:
        await namespace.read(all_of_it=True)
        whole = server.whole
        assert whole is not None
        assert whole({"uid": "first"})
        async with namespaces.using("shop", "second"), namespaces.using("shop", "second"):
            assert whole(copy)
        assert not whole(copy)
        assert not whole({"uid": "c"})
        assert server.known == set(WATCHED)
