"""Everything there is of a kind, and then what changes: lists and watches.

The server is asked for protobuf and for a list that comes as a watch (WatchList); where it has
neither, for JSON and for pages. What it refused once it is not asked for again; a list that failed
as a watch is asked for in pages the next time.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Any

import aiohttp

from rescheduler.kube import errors
from rescheduler.kube.transport import Transport
from rescheduler.wire import NODE_METRICS, POD_METRICS, Batch, Resource, protobuf
from rescheduler.wire.envelopes import Buffer, Frame
from rescheduler.wire.formats import GROUP, JSON, NAMELESS, PROTOBUF, Format, ListHead, format_of
from rescheduler.wire.schema import kind_of

_CONNECT_SECONDS = 10.0
_EVERYTHING_HAS_COME = "k8s.io/initial-events-end"
_PRESENT = frozenset({"ADDED", "MODIFIED"})
# From one look at a stream of changes to the next. The first change is heard at once; of a thousand
# in a second, each by itself, most of the work would be to wake up for it.
_GATHER_SECONDS = 0.05
# Of servers that do not know what we ask for, or have it turned off.
_REFUSALS = frozenset({400, 405, 422})


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How the server is asked; all but tests take it as it is."""

    protobuf: bool = protobuf.IS_FAST
    watch_list: bool = True
    watch_seconds: float = 40.0
    """The server ends a watch about that long after it began, so that a dead one is noticed."""
    silence_seconds: float = 10.0
    """A connection that is silent for so much longer is dead."""
    listing_seconds: int = 600
    """How long a list that comes as a watch may take."""
    page: int = 2000
    json_page: int = 500

    def timeout(self) -> aiohttp.ClientTimeout:
        silence = self.watch_seconds * (1 + _JITTER) + self.silence_seconds
        return aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=silence)


# Watches that began together shall not all end together.
_JITTER = 0.12


class Following:
    def __init__(self, transport: Transport, manner: Manner) -> None:
        self._transport = transport
        self._manner = manner
        self._json_only: set[Resource] = set()
        # Of figures there is no watch, and mostly no permission for one.
        self._pages_only: set[Resource] = {NODE_METRICS, POD_METRICS}
        self._pages_next: set[Resource] = set()

    async def follow(
        self, resource: Resource, fields: str, since: str
    ) -> AsyncGenerator[Batch, None]:
        selected = {"fieldSelector": fields} if fields else {}
        if not since:
            async with aclosing(self._everything(resource, selected)) as batches:
                async for batch in batches:
                    since = batch.version
                    yield batch
        async with aclosing(self._changes(resource, selected, since)) as batches:
            async for batch in batches:
                yield batch

    # ------------------------------------------------------------------ what there is

    async def _everything(
        self, resource: Resource, selected: Mapping[str, str]
    ) -> AsyncGenerator[Batch, None]:
        if self._manner.watch_list and resource not in self._pages_only | self._pages_next:
            has_begun = False
            try:
                async with aclosing(self._watch_list(resource, selected)) as batches:
                    async for batch in batches:
                        has_begun = True
                        yield batch
            except errors.Invalid as problem:
                if has_begun or problem.status not in _REFUSALS:
                    raise
                self._pages_only.add(resource)
            except errors.Unavailable:
                # It may send what there is, and never say that this was all.
                self._pages_next.add(resource)
                raise
            else:
                return
        async with aclosing(self._pages(resource, selected)) as batches:
            async for batch in batches:
                if batch.complete:
                    self._pages_next.discard(resource)
                yield batch

    async def _watch_list(
        self, resource: Resource, selected: Mapping[str, str]
    ) -> AsyncGenerator[Batch, None]:
        query = {
            **selected,
            "watch": "1",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._manner.listing_seconds),
        }
        async with aclosing(self._events(resource, query)) as events:
            gathered: list[Frame] = []
            async for format_, frames in events:
                gathered += frames
                if len(gathered) < GROUP and not any(each.type not in _PRESENT for each in frames):
                    continue
                for batch in in_order(format_, gathered):
                    # The version of a single object says nothing before all have come.
                    yield batch if batch.complete else batch._replace(version="")
                    if batch.complete:
                        # The next watch begins where this ends, and is not as long.
                        return
                gathered = []
        raise errors.Unavailable(f"the list of {resource.plural} ended before it was complete")

    async def _pages(
        self, resource: Resource, selected: Mapping[str, str]
    ) -> AsyncGenerator[Batch, None]:
        upcoming: _Page | None = _Page(self, resource, selected, "")
        current = upcoming
        try:
            while upcoming:
                current = upcoming
                following = await current.following()
                # While this one is read and decoded, the server works on the next.
                upcoming = _Page(self, resource, selected, following) if following else None
                format_, body = await current.whole()
                for group in format_.page(body):
                    if group.views or group.malformed:
                        yield Batch(group.views, malformed=group.malformed)
                    # Others have their turn, the next page among them.
                    await asyncio.sleep(0)
                if not upcoming:
                    yield Batch(version=_head_of(format_, body).version, complete=True)
        except ValueError as problem:
            raise errors.Unavailable(f"list of {resource.plural}: {problem}") from problem
        finally:
            for page in (current, upcoming):
                if page:
                    page.cancel()

    async def read_page(
        self, resource: Resource, selected: Mapping[str, str], token: str, head: "_Head"
    ) -> tuple[Format, Buffer]:
        size = self._manner.page if self._wants_protobuf(resource) else self._manner.json_page
        # No resourceVersion: with 0 the server ignores the limit and sends everything at once.
        query = {**selected, "limit": str(size)} | ({"continue": token} if token else {})
        # Of such a list kube-apiserver 1.36 sends the first page only, and says that it is all.
        if "metadata.namespace" in selected.get("fieldSelector", ""):
            del query["limit"]

        async def read() -> tuple[Format, Buffer]:
            body = bytearray()
            async with self._stream(resource, query) as answer:
                format_ = self._format(resource, answer)
                async for chunk in answer.content.iter_any():
                    body += chunk
                    if not head.done() and (found := format_.head(body)):
                        head.set_result(found)
            return format_, body

        format_, body = await self._transport.patiently(read)
        # The attempt that told of the next page may have failed, and this be of another time: that
        # page does not go on where this one ends.
        if head.done() and head.result().following != _head_of(format_, body).following:
            raise errors.Unavailable(f"the list of {resource.plural} changed while it was read")
        return format_, body

    # ------------------------------------------------------------------ what changes

    async def _changes(
        self, resource: Resource, selected: Mapping[str, str], since: str
    ) -> AsyncGenerator[Batch, None]:
        around = self._transport.jitter.uniform(1 - _JITTER, 1 + _JITTER)
        query = {
            **selected,
            "watch": "1",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(self._manner.watch_seconds * around))),
        }
        heard = ""
        async with aclosing(self._events(resource, query, gather=True)) as events:
            async for format_, frames in events:
                if not frames:
                    # Not an event, but a word: the server has taken the request, and is there.
                    yield Batch(version=heard or since)
                for batch in in_order(format_, frames):
                    # One in which nothing could be read has none of its own.
                    heard = batch.version or heard
                    yield batch._replace(version=heard or since)
        if not heard:
            await self._check_is_not_ahead(resource, since)

    async def _check_is_not_ahead(self, resource: Resource, version: str) -> None:
        """Raises Expired when the server has not come as far as the version.

        Its store may have been restored from a backup. A watch from such a version hears nothing,
        not even the bookmark that every other one ends with, and ends in order.
        """
        query = {"limit": "1", "resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        async with self._stream(resource, query) as answer:
            await answer.read()

    async def _events(
        self, resource: Resource, query: Mapping[str, str], *, gather: bool = False
    ) -> AsyncGenerator[tuple[Format, Sequence[Frame]], None]:
        async with self._stream(resource, query, ";stream=watch") as answer:
            format_ = self._format(resource, answer)
            yield format_, ()
            async for chunk in answer.content.iter_any():
                yield format_, format_.events(chunk)
                if gather:
                    await _let_gather(answer)
            if not format_.is_between_events:
                raise errors.Unavailable(f"watch of {resource.plural}: cut in the middle of one")

    def _stream(
        self, resource: Resource, query: Mapping[str, str], kind: str = ""
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """`kind`: of the media types, as parameter."""
        headers, timeout = self._headers(resource, kind), self._manner.timeout()
        return self._transport.stream(
            resource.path(), query=query, headers=headers, timeout=timeout
        )

    # ------------------------------------------------------------------ formats

    def _wants_protobuf(self, resource: Resource) -> bool:
        is_refused = resource in self._json_only
        return self._manner.protobuf and kind_of(resource).protobuf and not is_refused

    def _headers(self, resource: Resource, stream: str) -> dict[str, str]:
        types = [PROTOBUF + stream] if self._wants_protobuf(resource) else []
        return {
            "Accept": ",".join([*types, JSON + stream]),
            # Inside a cluster, compressing costs more than sending; and compressed streams are
            # flushed late by some servers, while a watch is for hearing things early.
            "Accept-Encoding": "identity",
        }

    def _format(self, resource: Resource, answer: aiohttp.ClientResponse) -> Format:
        content_type = answer.headers.get("Content-Type", "")
        if not content_type.startswith(PROTOBUF):
            self._json_only.add(resource)
        return format_of(resource, content_type)


async def _let_gather(answer: aiohttp.ClientResponse) -> None:
    """What comes meanwhile is decrypted and read at once."""
    transport = answer.connection.transport if answer.connection else None
    if not isinstance(transport, asyncio.Transport) or not transport.is_reading():
        return  # all of it has come, or more than enough waits here
    transport.pause_reading()
    try:
        await asyncio.sleep(_GATHER_SECONDS)
    finally:
        transport.resume_reading()


_Head = asyncio.Future[ListHead]


class _Page:
    """One page on its way; where the next one is, is known before all of it is here."""

    def __init__(
        self, owner: Following, resource: Resource, selected: Mapping[str, str], token: str
    ) -> None:
        self._head: _Head = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(
            owner.read_page(resource, selected, token, self._head), name=f"page {resource.plural}"
        )

    async def following(self) -> str:
        either: set[asyncio.Future[Any]] = {self._head, self._reading}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._head.done():
            return self._head.result().following
        return _head_of(*self._reading.result()).following

    async def whole(self) -> tuple[Format, Buffer]:
        return await self._reading

    def cancel(self) -> None:
        """One that has failed by now is not reported either: asyncio takes it as retrieved."""
        self._reading.cancel()


def _head_of(format_: Format, body: Buffer) -> ListHead:
    return format_.head(body) or format_.whole_head(body)


def in_order(format_: Format, frames: Sequence[Frame]) -> Iterator[Batch]:
    """The events in their order, as few batches as that allows."""
    run: list[bytes] = []
    is_present = True
    for frame in frames:
        if frame.type == "ERROR":
            if run:
                yield from _run(format_, run, is_present=is_present)
            raise errors.from_event(_status(format_, frame))
        is_bookmark = frame.type == "BOOKMARK"
        if run and (is_bookmark or is_present != (frame.type in _PRESENT)):
            yield from _run(format_, run, is_present=is_present)
            run = []
        if is_bookmark:
            yield _bookmark(format_, frame)
        else:
            is_present = frame.type in _PRESENT
            run.append(frame.object)
    if run:
        yield from _run(format_, run, is_present=is_present)


def _status(format_: Format, frame: Frame) -> Mapping[str, Any]:
    try:
        return format_.status(frame.object)
    except ValueError:
        return {}


def _run(format_: Format, objects: list[bytes], *, is_present: bool) -> Iterator[Batch]:
    together = _batch(format_, objects, is_present=is_present)
    if not together.malformed or len(objects) == 1:
        yield together
        return
    # An object may be among them twice, malformed and mended: which was first is told by batches.
    for each in objects:
        yield _batch(format_, [each], is_present=is_present)


def _batch(format_: Format, objects: list[bytes], *, is_present: bool) -> Batch:
    views, malformed = format_.group(objects)
    version = views[-1].metadata.resourceVersion if len(views) else ""
    if is_present:
        return Batch(present=views, malformed=malformed, version=version)
    if any(each.name.endswith(NAMELESS) for each in malformed):
        raise errors.Expired("something is gone whose name cannot be read: only a list tells what")
    malformed = [each._replace(gone=True) for each in malformed]
    return Batch(gone=views, malformed=malformed, version=version)


def _bookmark(format_: Format, frame: Frame) -> Batch:
    views, malformed = format_.group([frame.object])
    if malformed:
        raise errors.Unavailable(f"a bookmark that cannot be read: {malformed[0].problem}")
    view = views[0]
    is_end = view.metadata.annotations.get(_EVERYTHING_HAS_COME) == "true"
    return Batch(version=view.metadata.resourceVersion, complete=is_end)
