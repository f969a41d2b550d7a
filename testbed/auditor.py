"""Records what happens in a namespace: own credentials, own watches, and the audit log."""

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from testbed.api import Api, ApiError, Object
from testbed.audit import WATCHED_KINDS, Audit, Observation, Write
from testbed.instance import Instance

_CATCH_UP_SECONDS = 20.0
_LOOK_AGAIN_SECONDS = 0.02


Requests = Callable[[], Awaitable[Sequence[Write]]]
"""All that the process under test has asked so far, in the order of the answers."""


class Auditor:
    def __init__(self, api: Api, requests: Requests, namespace: str) -> None:
        self._api = api
        self._requests = requests
        self._namespace = namespace
        self._watches: list[asyncio.Task[None]] = []
        self._seen: list[Observation] = []
        self._latest: dict[str, dict[str, str]] = {kind: {} for kind in WATCHED_KINDS}
        self._began = 0
        self._changed = asyncio.Event()

    async def audit(self) -> Audit:
        """The history so far, complete; or the error by which one of the watches ended."""
        await self._catch_up()
        return Audit(
            history=tuple(sorted(self._seen, key=lambda seen: seen.version)),
            began=self._began,
            requests=tuple(await self._requests()),
        )

    async def begin(self) -> None:
        versions = {}
        for kind in WATCHED_KINDS:
            page = await self._api.list_page(kind, self._namespace)
            versions[kind] = page["metadata"]["resourceVersion"]
            for item in page["items"]:
                self._record(kind, "ADDED", item)
        # Versions of all kinds are of one sequence: the audit begins where the last list was taken.
        self._began = max(int(version) for version in versions.values())
        for kind, version in versions.items():
            watch = asyncio.create_task(self._follow(kind, version))
            watch.add_done_callback(lambda _: self._changed.set())
            self._watches.append(watch)

    async def end(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _follow(self, kind: str, version: str) -> None:
        async for event, item in self._api.watch(kind, self._namespace, version):
            assert event != "ERROR", item
            if event != "BOOKMARK":
                self._record(kind, event, item)
        raise AssertionError(f"the API server ended the auditor's watch of {kind}")

    def _check_watches(self) -> None:
        """A judge that has not seen everything must not judge."""
        for watch in self._watches:
            if watch.done():
                watch.result()

    def _record(self, kind: str, event: str, item: Object) -> None:
        metadata = item["metadata"]
        gone = event == "DELETED"
        version = metadata["resourceVersion"]
        self._seen.append(Observation(int(version), kind, metadata["uid"], None if gone else item))
        if gone:
            self._latest[kind].pop(metadata["uid"], None)
        else:
            self._latest[kind][metadata["uid"]] = version
        self._changed.set()

    async def _catch_up(self) -> None:
        """Until the watches have seen what a fresh list shows, for every kind."""
        async with asyncio.timeout(_CATCH_UP_SECONDS):
            for kind in WATCHED_KINDS:
                while True:
                    self._changed.clear()
                    self._check_watches()
                    fresh = await self._api.list(kind, self._namespace)
                    found = {
                        each["metadata"]["uid"]: each["metadata"]["resourceVersion"]
                        for each in fresh
                    }
                    if found == self._latest[kind]:
                        break
                    await self._changed.wait()
        self._check_watches()


class AuditLog:
    """Of a real API server. `credential` names the token whose requests are the process's own, and
    `since` the place in the file before which there are none: hundreds of tests share that file.
    """

    def __init__(self, api: Api, path: Path, namespace: str, credential: str, since: int) -> None:
        self._api = api
        self._path = path
        self._namespace = namespace
        self._credential = credential
        self._since = since

    async def requests(self) -> list[Write]:
        await self._is_written()
        return read_requests(self._path, self._credential, since=self._since)

    async def _is_written(self) -> None:
        """The server writes a line after it has answered. Once a later one is there, all are."""
        marker = f"marker-{secrets.token_hex(8)}"
        with self._path.open("rb") as log:
            log.seek(0, os.SEEK_END)
            with contextlib.suppress(ApiError):
                await self._api.delete("ConfigMap", self._namespace, marker)
            written = b""
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                while marker.encode() not in (written := written + log.read()):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)


@asynccontextmanager
async def auditing(
    instance: Instance, namespace: str, credential: str, *, since: int = 0
) -> AsyncIterator[Auditor]:
    async with Api(instance.url, instance.tokens["auditor"], instance.client_ssl()) as api:
        log = AuditLog(api, instance.audit_log, namespace, credential, since)
        auditor = Auditor(api, log.requests, namespace)
        try:
            await auditor.begin()
            yield auditor
        finally:
            await auditor.end()


def read_requests(audit_log: Path, credential: str, *, since: int = 0) -> list[Write]:
    """Every request made with one token, in the order in which the server answered."""
    found = []
    named = credential.encode()
    with audit_log.open("rb") as log:
        log.seek(since)
        for line in log:
            # Cheaper than decoding the lines of everybody else.
            if named in line:
                entry = json.loads(line)
                # What the server has at all, whoever may log in may ask.
                if credential in _credentials(entry) and "objectRef" in entry:
                    found.append(request_of(entry))
    return found


def _credentials(entry: dict[str, Any]) -> list[str]:
    extra = entry["user"].get("extra") or {}
    found: list[str] = extra.get("authentication.kubernetes.io/credential-id") or []
    return found


def request_of(entry: Mapping[str, Any]) -> Write:
    """From a line of the audit log."""
    target = entry.get("objectRef") or {}
    sent = entry.get("requestObject") or {}
    options = sent.get("deleteOptions") or sent
    named = (options.get("preconditions") or {}).get("uid")
    guard = named or (sent.get("metadata") or {}).get("uid")
    plain_create = entry["verb"] == "create" and not target.get("subresource")
    return Write(
        verb=entry["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=entry["responseStatus"]["code"],
        dry_run="dryRun=All" in entry["requestURI"] or options.get("dryRun") == ["All"],
        guarded=bool(guard) or plain_create,
        grace_seconds=options.get("gracePeriodSeconds"),
    )
