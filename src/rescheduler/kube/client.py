"""`KubeApi` on a real API server: JSON over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

from rescheduler import __version__
from rescheduler.kube import bodies, errors, sealed
from rescheduler.kube.api import Event, Known, KubeApi, Listing, Object, Whole
from rescheduler.kube.authentication import Login, log_in
from rescheduler.kube.following import Following, Manner
from rescheduler.kube.patience import READ_ATTEMPTS
from rescheduler.kube.telling import Heard, nobody
from rescheduler.kube.transport import Transport
from rescheduler.wire import (
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    RESCHEDULE_PLANS,
    SERVICES,
    STATEFUL_SETS,
    Batch,
    Resource,
)

# The server ends a watch that long after it began; a connection silent for longer is dead.
_WATCH_SECONDS = 300
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10, sock_read=_WATCH_SECONDS + 15)
_PIECES_TIMEOUT = aiohttp.ClientTimeout(total=20, connect=10)
# Of pods a megabyte or two.
_PAGE = 200
_PAGES_OF = {RESCHEDULE_PLANS: 10}
"""Where a single object may have the weight of hundreds of others: what is read at once is decoded
at once, and nothing else happens meanwhile.
"""
_PAGES_AT_ONCE = 4
"""Ten namespaces may be read at the same time, eleven kinds in each: all at once, they would take
more memory than all that we know, and a connection each.
"""
_MERGE_PATCH = "application/merge-patch+json"
_ACCEPT = {"Accept": "application/json"}
_SEALED = frozenset(
    {
        PODS,
        REPLICA_SETS,
        DEPLOYMENTS,
        STATEFUL_SETS,
        DAEMON_SETS,
        JOBS,
        SERVICES,
        ENDPOINT_SLICES,
        POD_DISRUPTION_BUDGETS,
        NETWORK_POLICIES,
        PERSISTENT_VOLUME_CLAIMS,
    }
)
"""What is listed and watched in a namespace: hundreds or thousands, of which few are looked at
beyond their metadata.
"""

T = TypeVar("T")

_decode_anything: Callable[[bytes], Any] = msgspec.json.Decoder().decode


@asynccontextmanager
async def connect(
    kubeconfig: str = "",
    context: str | None = None,
    *,
    manner: Manner | None = None,
    heard: Heard = nobody,
    token: str = "",
) -> AsyncIterator[KubeApi]:
    """The API server that the kubeconfig, the environment or the pod we run in names. `heard` is
    told of each request. With a token it is asked as whoever has that, and never as ourselves.
    """

    async def log_in_as_wanted() -> Login:
        ours = await log_in(kubeconfig, context)
        return ours.of_somebody_else(token) if token else ours

    login = await log_in_as_wanted()
    # Watches hold connections, so a limit would make requests wait behind them.
    connector = Connector(limit=0)
    # A watch event is one line, and a pod with large annotations is a long one.
    async with aiohttp.ClientSession(
        connector=connector,
        read_bufsize=2**21,
        trust_env=True,
        headers={"User-Agent": f"kube-rescheduler/{__version__}"},
    ) as session:
        transport = Transport(session, login, log_in_as_wanted, heard)
        yield Client(transport, manner or Manner())


class Connector(aiohttp.TCPConnector):
    """Hangs up at once where an answer is given up.

    aiohttp would take leave by the rules of TLS, and wait until the server does so, too. One that
    has fallen silent never does: the connection would outlive our session, and the loop as well.
    """

    def _release(
        self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False
    ) -> None:
        is_given_up = should_close or protocol.should_close
        if is_given_up:
            protocol.abort()
        super()._release(key, protocol, should_close=is_given_up)


class Client:
    def __init__(self, transport: Transport, manner: Manner) -> None:
        self._transport = transport
        self._following = Following(transport, manner)
        self._turns = asyncio.Semaphore(_PAGES_AT_ONCE)

    def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        return self._following.follow(resource, fields, since)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return await self._read(path_of(resource, namespace, name), {}, _decode)

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]:
        return (await self._listing(resource, namespace, labels)).items

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        return await self._listing(resource, namespace, "", whole, known)

    async def _listing(
        self,
        resource: Resource,
        namespace: str | None,
        labels: str,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        # No resourceVersion: with 0 the server ignores the limit and sends everything at once.
        limit = _PAGES_OF.get(resource, _PAGE)
        query = {"limit": str(limit)} | ({"labelSelector": labels} if labels else {})
        for _ in range(READ_ATTEMPTS):
            try:
                pages = sealed.Pages(whole, known) if resource in _SEALED else _Pages()
                return await self._pages(path_of(resource, namespace), query, pages)
            except errors.Expired:
                continue  # the version that the pages are of is no longer kept: begin anew
        raise errors.Unavailable(f"list of {resource.plural} expired {READ_ATTEMPTS} times")

    async def _pages(
        self, path: str, query: Mapping[str, str], pages: "sealed.Pages | _Pages"
    ) -> Listing:
        following = ""
        while True:
            wanted = {**query, "continue": following} if following else query
            following = await self._read(path, wanted, pages.add, self._turns)
            if not following:
                return pages.listing()

    async def served(self, group_version: str) -> frozenset[str]:
        path = f"/{'api' if group_version == 'v1' else 'apis'}/{group_version}"
        try:
            found = await self._read(path, {}, _decode)
        except errors.NotFound:
            return frozenset()
        return frozenset(each["name"] for each in found["resources"])

    async def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        async with self._transport.stream(
            resource.path(), query={}, headers=headers, timeout=_PIECES_TIMEOUT
        ) as answer:
            async for piece in answer.content.iter_any():
                yield piece

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        path = path_of(resource, namespace)
        if not since:
            first = await self._read(path, {"limit": "1"}, _decode)
            since = first["metadata"]["resourceVersion"]
        query = {
            "watch": "1",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        # Compressed streams are flushed late by some servers; a watch is for hearing things early.
        headers = {"Accept-Encoding": "identity"}
        async with self._transport.stream(
            path, query=query, headers=headers, timeout=_WATCH_TIMEOUT
        ) as answer:
            is_sealed = resource in _SEALED
            async for line in answer.content:
                yield _told(sealed.event(line, whole) if is_sealed else _event(line))

    async def create(
        self, resource: Resource, namespace: str, body: Object, *, dry_run: bool = False
    ) -> Object:
        query = {"dryRun": "All"} if dry_run else {}
        return await self._send("POST", path_of(resource, namespace), body, query=query)

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
        path = path_of(resource, namespace, name) + (f"/{subresource}" if subresource else "")
        return await self._send("PATCH", path, body, content_type=_MERGE_PATCH)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return await self._send("PUT", path_of(resource, namespace, name), body)

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
        await self._send("DELETE", path_of(resource, namespace, name), options)

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None:
        eviction = bodies.eviction(
            namespace, pod, uid=uid, grace_seconds=grace_seconds, dry_run=dry_run
        )
        path = f"{path_of(PODS, namespace, pod)}/eviction"
        await self._send("POST", path, eviction)

    async def _read(
        self,
        path: str,
        query: Mapping[str, str],
        decode: Callable[[bytes], T],
        turns: AbstractAsyncContextManager[None] | None = None,
    ) -> T:
        async def ask() -> T:
            async with turns or nullcontext():
                return await self._transport.request(
                    "GET", path, query=query, headers=_ACCEPT, decode=decode
                )

        return await self._transport.patiently(ask)

    async def _send(
        self,
        method: str,
        path: str,
        body: Object,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        headers = {**_ACCEPT, "Content-Type": content_type}
        return await self._transport.request(
            method, path, query=query or {}, headers=headers, data=json.dumps(body), decode=_decode
        )


_ELSEWHERE: Final = frozenset("/%?#\\")
"""What leads elsewhere in an address. A slash does so however it is written, as API servers look at
the address when it is decoded. No name has any of them.
"""


def path_of(resource: Resource, namespace: str | None, name: str | None = None) -> str:
    """What people typed is one part of it, and no more.

    Raises:
        NotFound: it would be the address of something else, as of all that are there.
    """
    for part in (namespace or "any", "any" if name is None else name):
        if part in ("", ".", "..") or _ELSEWHERE & {*part}:
            raise errors.NotFound(f'{resource.plural} "{name or part}" not found', status=404)
    return resource.path(namespace, name)


class _Pages:
    """The pages of one list, in order."""

    def __init__(self) -> None:
        self._items: list[Object] = []
        self._version = ""

    def add(self, body: bytes) -> str:
        """The token of the page that follows; empty: this was the last."""
        page = _decode(body)
        self._items += page["items"]
        self._version = page["metadata"]["resourceVersion"]
        return page["metadata"].get("continue") or ""

    def listing(self) -> Listing:
        return Listing(self._items, self._version)


def _decode(body: bytes) -> Object:
    return dict(_decode_anything(body))


def _told(event: Event) -> Event:
    if event.kind == "ERROR":
        status = event.object
        raise errors.from_answer(status.get("code", 500), {}, json.dumps(status).encode())
    return event


def _event(line: bytes) -> Event:
    found = _decode(line)
    return Event(found["type"], found["object"])
