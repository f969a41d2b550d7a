"""`KubeApi` on the embedded API server, for one client: time passes, and things may go wrong.

What is asked takes effect a moment later, and the answer comes a moment after that. Everything
handed out is the client's own. Reads are repeated as those of a real connection are (`kube`).
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Final, TypeVar

import msgspec

from rescheduler.embedded.apiserver import ApiServer, refusals
from rescheduler.embedded.client.calls import Around, Call
from rescheduler.embedded.client.connection import Connection
from rescheduler.embedded.client.copies import Copies, own
from rescheduler.embedded.client.streams import Fields, Stream
from rescheduler.embedded.store import key_of
from rescheduler.kube import Event, Known, Listing, Object, Whole, bodies, brief
from rescheduler.kube.following import in_order
from rescheduler.kube.patience import patiently
from rescheduler.model import objects, selectors
from rescheduler.wire import PODS, SELF_SUBJECT_REVIEWS, Batch, Resource
from rescheduler.wire.envelopes import Frame
from rescheduler.wire.formats import GROUP, JSON, format_of

T = TypeVar("T")

_WATCH_SECONDS: Final = (285.0, 300.0)
"""A server ends a watch about so long after it began. The client of a real one asks for shorter
ones where it follows, as connections die unseen; there are none here, and a day is long.
"""
_PIECE: Final = 65_536
_FEW: Final = 1000

_encode = msgspec.json.Encoder().encode


class EmbeddedClient:
    def __init__(
        self,
        api: ApiServer,
        chance: random.Random,
        *,
        name: str = "",
        user: str = "",
        around: Around | None = None,
    ) -> None:
        """`user`: whom the API server takes it for."""
        self._api = api
        self._chance = chance
        self._user = user
        self._connection = Connection(chance, name=name, around=around)
        self._copies = Copies()
        self._open: dict[Stream, None] = {}

    @property
    def requests(self) -> Sequence[Call]:
        """What this client asked, with what was answered; of very much, the last of it."""
        return self._connection.requests

    def sever(self) -> None:
        """From now on nothing that it asks reaches the cluster, as if its process had been killed:
        calls fail, streams end.
        """
        self._connection.sever()
        for stream in list(self._open):
            stream.close()

    # ------------------------------------------------------------------ reading

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return await self._read(
            "get",
            resource,
            namespace,
            lambda: own(self._api.get(resource, namespace, name)),
            name=name,
        )

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]:
        wanted = selectors.parse(labels)
        listing = await self._read(
            "list", resource, namespace, lambda: self._listing(resource, namespace, wanted)
        )
        return listing.items

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        del known  # what it hands out it has made already
        everything = selectors.EVERYTHING
        found = await self._read(
            "list", resource, namespace, lambda: self._listing(resource, namespace, everything)
        )
        return found._replace(items=[_seen(each, whole) for each in found.items])

    def _listing(
        self, resource: Resource, namespace: str | None, wanted: selectors.Selector
    ) -> Listing:
        found = self._found(resource, namespace)
        if wanted.requirements:
            found = [each for each in found if wanted.matches(objects.labels(each))]
        store = self._api.store
        self._copies.forget(resource, beyond=2 * store.count(resource) + _FEW)
        return Listing(self._copies.of(resource, found), str(store.version))

    def _found(self, resource: Resource, namespace: str | None) -> Sequence[Object]:
        """In the order of their names, as etcd has them."""
        self._api.kind_of(resource)
        if namespace:
            return sorted(self._api.in_namespace(resource, namespace), key=key_of)
        return sorted(self._api.store.all(resource), key=key_of)

    async def _read(
        self,
        verb: str,
        resource: Resource,
        namespace: str | None,
        act: Callable[[], T],
        *,
        name: str = "",
    ) -> T:
        return await patiently(
            lambda: self._connection.ask(
                self._connection.call(verb, resource, namespace=namespace or "", name=name), act
            ),
            self._chance,
        )

    async def served(self, group_version: str) -> frozenset[str]:
        """At once: it is asked when a process starts, and nothing may come out otherwise for it."""
        return self._api.served(group_version)

    # ------------------------------------------------------------------ streams

    async def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        def opened() -> AsyncGenerator[bytes, None]:
            if self._api.metrics is None:
                raise refusals.not_served(resource)
            return _cut(self._api.metrics(resource))

        answer = await self._connection.ask(
            self._connection.call("list", resource), opened, is_stream=True
        )
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                self._connection.check()
                yield piece

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        call = self._connection.call("watch", resource, namespace=namespace or "")
        answer = await self._connection.ask(
            call,
            lambda: self._events(self._stream(resource, since, namespace=namespace)),
            is_stream=True,
        )
        async with aclosing(answer) as events:
            async for event in events:
                yield event._replace(object=_seen(event.object, whole))

    async def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        def opened() -> AsyncGenerator[Batch, None]:
            selected = Fields(fields) if fields else None
            stream = self._stream(resource, since, fields=selected)
            listed = [] if since else self._found(resource, None)
            if selected:
                listed = [each for each in listed if selected.match(each)]
            return self._batches(resource, stream, listed, since)

        answer = await self._connection.ask(
            self._connection.call("watch", resource), opened, is_stream=True
        )
        async with aclosing(answer) as batches:
            async for batch in batches:
                yield batch

    def _stream(
        self,
        resource: Resource,
        since: str,
        *,
        namespace: str | None = None,
        fields: Fields | None = None,
    ) -> Stream:
        self._api.kind_of(resource)
        store = self._api.store
        version = int(since) if since else store.version
        return Stream(
            store, resource, self._chance, since=version, namespace=namespace, fields=fields
        )

    @contextmanager
    def _listening(self, stream: Stream) -> Iterator[None]:
        self._connection.check()
        self._open[stream] = None
        try:
            yield
        finally:
            del self._open[stream]

    async def _events(self, stream: Stream) -> AsyncGenerator[Event, None]:
        seconds = self._chance.uniform(*_WATCH_SECONDS)
        with self._listening(stream):
            async with aclosing(stream.events(seconds)) as told:
                async for events in told:
                    for kind, item in events:
                        yield Event(kind, own(item))

    async def _batches(
        self, resource: Resource, stream: Stream, listed: Sequence[Object], since: str
    ) -> AsyncGenerator[Batch, None]:
        format_ = format_of(resource, JSON)
        version = since or stream.since
        with self._listening(stream):
            for begin in range(0, len(listed), GROUP):
                frames = [Frame("ADDED", _encode(each)) for each in listed[begin : begin + GROUP]]
                for batch in in_order(format_, frames):
                    yield batch._replace(version="")
                await self._connection.pause()
            # The first word: everything has come, or the server is there.
            yield Batch(version=version, complete=not since)
            seconds = self._chance.uniform(*_WATCH_SECONDS)
            async with aclosing(stream.events(seconds)) as told:
                async for events in told:
                    frames = [Frame(kind, _encode(item)) for kind, item in events]
                    for batch in in_order(format_, frames):
                        version = batch.version or version
                        yield batch._replace(version=version)

    # ------------------------------------------------------------------ writing

    async def create(
        self, resource: Resource, namespace: str, body: Object, *, dry_run: bool = False
    ) -> Object:
        if resource == SELF_SUBJECT_REVIEWS:
            return await self._who_asks(body)
        name = (body.get("metadata") or {}).get("name") or ""
        call = self._connection.call(
            "create", resource, namespace=namespace, name=name, body=body, dry_run=dry_run
        )
        return await self._write(
            call,
            lambda sent: own(self._api.create(resource, namespace or None, sent, dry_run=dry_run)),
        )

    async def _who_asks(self, body: Object) -> Object:
        """Kept by nobody."""
        call = self._connection.call("create", SELF_SUBJECT_REVIEWS, body=body)
        status = {"userInfo": {"username": self._user}}
        return await self._write(call, lambda sent: {**sent, "status": status})

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str,
        change: Mapping[str, Any],
        subresource: str = "",
    ) -> Object:
        body = {**change, "metadata": {**(change.get("metadata") or {}), "uid": uid}}
        call = self._connection.call(
            "patch",
            resource,
            namespace=namespace or "",
            name=name,
            body=body,
            subresource=subresource,
        )
        return await self._write(
            call,
            lambda sent: own(
                self._api.patch(resource, namespace, name, sent, subresource=subresource)
            ),
        )

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        call = self._connection.call("update", resource, namespace=namespace, name=name, body=body)
        return await self._write(call, lambda sent: own(self._api.replace(resource, sent)))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str = "",
    ) -> None:
        options = bodies.delete_options(uid=uid, resource_version=resource_version)
        call = self._connection.call(
            "delete", resource, namespace=namespace, name=name, body=options
        )
        await self._write(
            call,
            lambda _: self._api.delete(
                resource,
                namespace or None,
                name,
                uid=uid,
                resource_version=resource_version,
                propagation="",
            ),
        )

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None:
        body = bodies.eviction(
            namespace, pod, uid=uid, grace_seconds=grace_seconds, dry_run=dry_run
        )
        call = self._connection.call(
            "create",
            PODS,
            namespace=namespace,
            name=pod,
            body=body,
            subresource="eviction",
            dry_run=dry_run,
        )
        await self._write(
            call,
            lambda _: self._api.evict(
                namespace,
                pod,
                uid=uid,
                grace_seconds=grace_seconds,
                dry_run=dry_run,
                user=self._user,
            ),
        )

    async def _write(self, call: Call, act: Callable[[Object], T]) -> T:
        # Whoever stands around may have changed it on its way.
        return await self._connection.ask(call, lambda: act(call.body or {}))


def _seen(found: Object, whole: Whole | None) -> Object:
    """No more of it than a client of a real API server keeps: who would ask is found out here."""
    is_asked = whole is None or "spec" not in found or whole(found["metadata"])
    return found if is_asked else brief(found)


async def _cut(whole: bytes) -> AsyncGenerator[bytes, None]:
    for begin in range(0, len(whole), _PIECE):
        yield whole[begin : begin + _PIECE]
        await asyncio.sleep(0)
