"""`KubeApi` on a real API server: JSON over HTTP."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from rescheduler import __version__
from rescheduler.kube import bodies, errors
from rescheduler.kube.api import Event, KubeApi, Listing, Object
from rescheduler.kube.authentication import log_in
from rescheduler.kube.connector import Connector
from rescheduler.kube.following import Following, Manner
from rescheduler.kube.patience import READ_ATTEMPTS
from rescheduler.kube.transport import Transport
from rescheduler.wire import Batch, Resource

# The server ends a watch that long after it began; a connection silent for longer is dead.
_WATCH_SECONDS = 300
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10, sock_read=_WATCH_SECONDS + 15)
_PIECES_TIMEOUT = aiohttp.ClientTimeout(total=20, connect=10)
_PAGE = 500
_MERGE_PATCH = "application/merge-patch+json"


@asynccontextmanager
async def connect(
    kubeconfig: str = "", context: str | None = None, *, manner: Manner | None = None
) -> AsyncIterator[KubeApi]:
    """The API server that the kubeconfig, the environment or the pod we run in names."""
    login = await log_in(kubeconfig, context)
    # Watches hold connections, so a limit would make requests wait behind them.
    connector = Connector(limit=0)
    # A watch event is one line, and a pod with large annotations is a long one.
    async with aiohttp.ClientSession(
        connector=connector,
        read_bufsize=2**21,
        trust_env=True,
        headers={"User-Agent": f"kube-rescheduler/{__version__}"},
    ) as session:
        transport = Transport(session, login, lambda: log_in(kubeconfig, context))
        yield Client(transport, manner or Manner())


class Client:
    def __init__(self, transport: Transport, manner: Manner) -> None:
        self._transport = transport
        self._following = Following(transport, manner)

    def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        return self._following.follow(resource, fields, since)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return await self._read(resource.path(namespace, name), {})

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]:
        return (await self._whole(resource, namespace, labels)).items

    async def listing(self, resource: Resource, *, namespace: str | None = None) -> Listing:
        return await self._whole(resource, namespace, "")

    async def _whole(self, resource: Resource, namespace: str | None, labels: str) -> Listing:
        # No resourceVersion: with 0 the server ignores the limit and sends everything at once.
        query = {"limit": str(_PAGE)} | ({"labelSelector": labels} if labels else {})
        for _ in range(READ_ATTEMPTS):
            try:
                return await self._pages(resource.path(namespace), query)
            except errors.Expired:
                continue  # the version that the pages are of is no longer kept: begin anew
        raise errors.Unavailable(f"list of {resource.plural} expired {READ_ATTEMPTS} times")

    async def _pages(self, path: str, query: Mapping[str, str]) -> Listing:
        items: list[Object] = []
        following = ""
        while True:
            page = await self._read(path, {**query, "continue": following} if following else query)
            items += page["items"]
            following = page["metadata"].get("continue", "")
            if not following:
                return Listing(items, page["metadata"]["resourceVersion"])

    async def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        async with self._transport.stream(
            resource.path(), query={}, headers=headers, timeout=_PIECES_TIMEOUT
        ) as answer:
            async for piece in answer.content.iter_any():
                yield piece

    async def watch(
        self, resource: Resource, *, namespace: str | None = None, since: str = ""
    ) -> AsyncGenerator[Event, None]:
        path = resource.path(namespace)
        if not since:
            since = (await self._read(path, {"limit": "1"}))["metadata"]["resourceVersion"]
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
            async for line in answer.content:
                yield _event(line)

    async def create(
        self, resource: Resource, namespace: str, body: Object, *, dry_run: bool = False
    ) -> Object:
        query = {"dryRun": "All"} if dry_run else {}
        return await self._send("POST", resource.path(namespace), body, query=query)

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
        path = resource.path(namespace, name) + (f"/{subresource}" if subresource else "")
        return await self._send("PATCH", path, body, content_type=_MERGE_PATCH)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return await self._send("PUT", resource.path(namespace, name), body)

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
        await self._send("DELETE", resource.path(namespace, name), options)

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None:
        eviction = bodies.eviction(
            namespace, pod, uid=uid, grace_seconds=grace_seconds, dry_run=dry_run
        )
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
        await self._send("POST", path, eviction)

    async def _read(self, path: str, query: Mapping[str, str]) -> Object:
        return await self._transport.patiently(lambda: self._send("GET", path, None, query=query))

    async def _send(
        self,
        method: str,
        path: str,
        body: Object | None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        data = None if body is None else json.dumps(body)
        return await self._transport.request(
            method, path, query=query or {}, headers=headers, data=data
        )


def _event(line: bytes) -> Event:
    event = json.loads(line)
    if event["type"] == "ERROR":
        status = event["object"]
        raise errors.from_answer(status.get("code", 500), {}, json.dumps(status).encode())
    return Event(event["type"], event["object"])
