"""Watches: what changes of one kind, told a moment later and in order."""

import asyncio
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, Final

from rescheduler.embedded.apiserver import refusals
from rescheduler.embedded.store import Change, Store
from rescheduler.kube import Object, errors
from rescheduler.wire import Resource

_LEAST_LAG_SECONDS: Final = 0.002
_MOST_LAG_SECONDS: Final = 0.03
"""Between a change and the word of it. Each stream has its own: kinds lag each other."""
_OPERATORS: Final = ("!=", "==", "=")

Event = tuple[str, Object]
"""ADDED, MODIFIED, DELETED or BOOKMARK, and the object, which is the store's own."""


class Fields:
    """A field selector: `status.phase!=Failed,spec.nodeName=a`."""

    def __init__(self, text: str) -> None:
        self._wanted = [_term(each) for each in text.split(",") if each]

    def match(self, item: Object) -> bool:
        return all((_at(item, path) == value) == is_equal for path, is_equal, value in self._wanted)


def _term(text: str) -> tuple[list[str], bool, str]:
    for operator in _OPERATORS:
        path, found, value = text.partition(operator)
        if found:
            return path.split("."), operator != "!=", value
    raise refusals.bad_request(
        f"Unable to find \"{text}\" as a field selector: invalid selector: '{text}'; can't "
        f"understand '{text}'"
    )


def _at(item: Object, path: list[str]) -> str:
    found: Any = item
    for each in path:
        found = (found or {}).get(each)
    return "" if found is None else str(found)


class Stream:
    """From a version on, until it is ended or its time is over."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        chance: random.Random,
        *,
        since: int,
        namespace: str | None = None,
        fields: Fields | None = None,
    ) -> None:
        """Raises Expired when what has happened since is not known any more."""
        self._store = store
        self._resource = resource
        self._since = since
        self._missed()
        self._chance = chance
        self._namespace = namespace
        self._fields = fields
        self._pending: list[Change] = []
        self._timer: asyncio.TimerHandle | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._ended = False

    @property
    def since(self) -> str:
        return str(self._since)

    def _missed(self) -> list[Change]:
        since, latest = self._since, self._store.version
        missed = self._store.changes_since(since, self._resource)
        if missed is None:
            raise errors.Expired(f"too old resource version: {since} ({latest})", status=410)
        if since > latest:
            words = f"Too large resource version: {since}, current: {latest}"
            raise errors.Expired(words, status=504)
        return missed

    async def events(self, seconds: float) -> AsyncGenerator[Sequence[Event], None]:
        """What is heard together, for so long. The last is a bookmark, as it is of a server that
        ends a watch in order.
        """
        loop = asyncio.get_running_loop()
        over = loop.time() + seconds
        # Not before somebody listens: an answer that is lost leaves nothing behind.
        for change in self._missed():
            self._hear(change)
        stop = self._store.listen(self._resource, self._hear)
        try:
            while not self._ended and (left := over - loop.time()) > 0:
                if await self._comes(left) and not self._ended:
                    changes, self._pending = self._pending, []
                    if told := list(self._told(changes)):
                        yield told
            if not self._ended:
                # All that is still under way is younger than what was told.
                yield [bookmark(self._resource, self._until())]
        finally:
            stop()
            self.close()

    def _until(self) -> int:
        return self._pending[0].version - 1 if self._pending else self._store.version

    async def _comes(self, seconds: float) -> bool:
        """Something has arrived, within so many seconds."""
        loop = asyncio.get_running_loop()
        self._arrival = arrival = loop.create_future()
        if self._pending and self._timer is None:
            self._set_out()
        timer = loop.call_later(seconds, _arrive, arrival)
        try:
            await arrival
        finally:
            timer.cancel()
            self._arrival = None
        return bool(self._pending) and self._timer is None

    def _hear(self, change: Change) -> None:
        if self._namespace and change.object["metadata"].get("namespace") != self._namespace:
            return
        self._pending.append(change)
        if self._timer is None and self._arrival is not None:
            self._set_out()

    def _set_out(self) -> None:
        lag = self._chance.uniform(_LEAST_LAG_SECONDS, _MOST_LAG_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(lag, self._arrived)

    def _arrived(self) -> None:
        self._timer = None
        if self._arrival is not None:
            _arrive(self._arrival)

    def _told(self, changes: Sequence[Change]) -> Iterator[Event]:
        for change in changes:
            if self._fields is None:
                yield change.kind, change.object
                continue
            was_there = change.before is not None and self._fields.match(change.before)
            is_there = change.kind != "DELETED" and self._fields.match(change.object)
            if is_there:
                yield "MODIFIED" if was_there else "ADDED", change.object
            elif was_there and change.before is not None:
                # As it was when it was last there, and when it went.
                version = {"resourceVersion": str(change.version)}
                gone = {**change.before, "metadata": {**change.before["metadata"], **version}}
                yield "DELETED", gone

    def close(self) -> None:
        """Nothing more is heard; whoever waits is told that it is over."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        if self._arrival is not None:
            _arrive(self._arrival)


def _arrive(arrival: "asyncio.Future[None]") -> None:
    if not arrival.done():
        arrival.set_result(None)


def bookmark(resource: Resource, version: int) -> Event:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    group_version = resource.group_version
    return "BOOKMARK", {"apiVersion": group_version, "metadata": metadata}
