"""`KubeApi` on a real API server: JSON over HTTP."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from rescheduler import __version__
from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube import errors
from rescheduler.kube.api import Event, KubeApi, Object, Resource
from rescheduler.kube.authentication import Login, log_in

# Longer than the 10 s that the server itself may spend retrying inside an eviction.
_REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=30, connect=10)
# The server ends a watch that long after it began; a connection silent for longer is dead.
_WATCH_SECONDS = 300
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10, sock_read=_WATCH_SECONDS + 15)
_PAGE = 500
_READ_ATTEMPTS = 5
_MERGE_PATCH = "application/merge-patch+json"
# A token file may be empty for the moment in which it is written anew.
_PASSING = (aiohttp.ClientError, ConnectionSettingsError, TimeoutError, OSError, ValueError)


@asynccontextmanager
async def connect(kubeconfig: str = "", context: str | None = None) -> AsyncIterator[KubeApi]:
    """The API server that the kubeconfig, the environment or the pod we run in names."""
    login = await log_in(kubeconfig, context)
    # Watches hold connections, so a limit would make requests wait behind them.
    connector = aiohttp.TCPConnector(limit=0)
    # A watch event is one line, and a pod with large annotations is a long one.
    async with aiohttp.ClientSession(
        connector=connector,
        read_bufsize=2**21,
        trust_env=True,
        headers={"User-Agent": f"kube-rescheduler/{__version__}"},
    ) as session:
        yield Client(session, login, lambda: log_in(kubeconfig, context))


class Client:
    def __init__(
        self,
        session: aiohttp.ClientSession,
        login: Login,
        renew: Callable[[], Awaitable[Login]],
    ) -> None:
        self._session = session
        self._login = login
        self._renew = renew
        self._renewing = asyncio.Lock()
        self._jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return await self._read(resource.path(namespace, name), {})

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]:
        # No resourceVersion: with 0 the server ignores the limit and sends everything at once.
        query = {"limit": str(_PAGE)} | ({"labelSelector": labels} if labels else {})
        for _ in range(_READ_ATTEMPTS):
            try:
                return [item async for item in self._pages(resource.path(namespace), query)]
            except errors.Expired:
                continue  # the version that the pages are of is no longer kept: begin anew
        raise errors.Unavailable(f"list of {resource.plural} expired {_READ_ATTEMPTS} times")

    async def _pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Object]:
        following = ""
        while True:
            page = await self._read(path, {**query, "continue": following} if following else query)
            for item in page["items"]:
                yield item
            following = page["metadata"].get("continue", "")
            if not following:
                return

    async def watch(
        self, resource: Resource, *, namespace: str | None = None
    ) -> AsyncIterator[Event]:
        path = resource.path(namespace)
        first = await self._read(path, {"limit": "1"})
        query = {
            "watch": "1",
            "resourceVersion": first["metadata"]["resourceVersion"],
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        # Compressed streams are flushed late by some servers; a watch is for hearing things early.
        try:
            headers = {"Accept-Encoding": "identity"} | await self._login.headers()
            async with self._open("GET", path, query, headers, _WATCH_TIMEOUT) as answer:
                if answer.status != 200:  # noqa: PLR2004
                    raise errors.from_answer(answer.status, answer.headers, await answer.read())
                async for line in answer.content:
                    yield _event(line)
        except _PASSING as problem:
            raise errors.Unavailable(f"watch of {path}: {_words(problem)}") from problem

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return await self._send("POST", resource.path(namespace), body)

    async def patch_metadata(
        self, resource: Resource, namespace: str, name: str, *, uid: str, change: Mapping[str, Any]
    ) -> Object:
        body = {"metadata": {**change, "uid": uid}}
        path = resource.path(namespace, name)
        return await self._send("PATCH", path, body, content_type=_MERGE_PATCH)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, resource_version: str
    ) -> None:
        exactly = {"uid": uid, "resourceVersion": resource_version}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": exactly}
        await self._send("DELETE", resource.path(namespace, name), options)

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None:
        options: Object = {"preconditions": {"uid": uid}, "gracePeriodSeconds": grace_seconds}
        if dry_run:
            options["dryRun"] = ["All"]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": options,
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
        await self._send("POST", path, eviction)

    async def _read(self, path: str, query: Mapping[str, str]) -> Object:
        """Reads may be repeated without harm, so passing faults are sat out here, in one place."""
        for attempt in range(1, _READ_ATTEMPTS + 1):
            try:
                return await self._send("GET", path, None, query=query)
            except (errors.Unavailable, errors.Throttled) as problem:
                if attempt == _READ_ATTEMPTS:
                    raise
                pause = problem.retry_after_seconds or 0.2 * 2**attempt
                await asyncio.sleep(pause * self._jitter.uniform(1.0, 1.5))
        raise AssertionError("unreachable")

    async def _send(
        self,
        method: str,
        path: str,
        body: Object | None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        try:
            used = self._login
            return await self._send_once(method, path, body, query or {}, content_type)
        except errors.Unauthorized:
            # A refused request had no effect, so even a write may be sent again with a new token.
            async with self._renewing:
                if self._login is used:
                    self._login = await self._log_in_again()
            return await self._send_again(method, path, body, query or {}, content_type)

    async def _send_again(
        self,
        method: str,
        path: str,
        body: Object | None,
        query: Mapping[str, str],
        content_type: str,
    ) -> Object:
        try:
            return await self._send_once(method, path, body, query, content_type)
        except errors.Unauthorized as problem:
            raise errors.Unauthorized(
                f"{self._login.server} does not accept our credentials ({problem}); "
                "check the user of the kubeconfig, or the service account",
                status=problem.status,
            ) from problem

    async def _log_in_again(self) -> Login:
        try:
            return await self._renew()
        except ConnectionSettingsError as problem:
            raise errors.Unavailable(f"cannot renew the login: {problem}") from problem

    async def _send_once(
        self,
        method: str,
        path: str,
        body: Object | None,
        query: Mapping[str, str],
        content_type: str,
    ) -> Object:
        data = None if body is None else json.dumps(body)
        try:
            headers = {"Accept": "application/json"} | await self._login.headers()
            if data is not None:
                headers["Content-Type"] = content_type
            async with self._open(method, path, query, headers, _REQUEST_TIMEOUT, data) as answer:
                content = await answer.read()
                if answer.status >= 400:  # noqa: PLR2004
                    raise errors.from_answer(answer.status, answer.headers, content)
                return json.loads(content)  # type: ignore[no-any-return]
        except aiohttp.ClientSSLError as problem:
            raise errors.Untrusted(f"{self._login.server}: {_words(problem)}") from problem
        except _PASSING as problem:
            raise errors.Unavailable(f"{method} {path}: {_words(problem)}") from problem

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        data: str | None = None,
    ) -> Any:  # noqa: ANN401 - aiohttp's private request context manager
        return self._session.request(
            method,
            self._login.server + path,
            params=query,
            headers=headers,
            data=data,
            timeout=timeout,
            proxy=self._login.proxy,
            # With the login, not the session: client certificates and authorities are renewed too.
            ssl=self._login.ssl_context,
            server_hostname=self._login.tls_server_name,
            # A redirect could carry the token elsewhere.
            allow_redirects=False,
        )


def _event(line: bytes) -> Event:
    event = json.loads(line)
    if event["type"] == "ERROR":
        status = event["object"]
        raise errors.from_answer(status.get("code", 500), {}, json.dumps(status).encode())
    return Event(event["type"], event["object"])


def _words(problem: Exception) -> str:
    # Some of these have no text of their own, a time-out among them.
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
