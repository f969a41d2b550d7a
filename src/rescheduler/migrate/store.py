"""All records of the cluster, followed by list and watch."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing

import structlog

from rescheduler.clock import Clock
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.namespaces import version_of
from rescheduler.model.objects import Object
from rescheduler.wire import POD_MIGRATIONS

Key = tuple[str, str]
"""Namespace and name."""

_PAUSE_SECONDS = 1.0


class NotInstalled(ReschedulerError):
    """The cluster does not know what a PodMigration is."""


class Store:
    def __init__(self, kube: KubeApi, clock: Clock, tell: Callable[[], None]) -> None:
        self._kube = kube
        self._clock = clock
        self._tell = tell
        self._records: dict[Key, Object] = {}
        self._unfinished: dict[Key, Object] = {}
        self._failed: dict[Key, Object] = {}
        """Of these, those that are not over, and those that failed: they are asked for often, and
        are few.
        """
        self._synced = asyncio.Event()
        self._problem: ReschedulerError | None = None
        self._said = ""

    async def synced(self) -> None:
        """Until all records have been listed.

        Raises:
            NotInstalled: the custom resource is not there.
        """
        await self._synced.wait()
        if self._problem:
            raise self._problem

    def all(self) -> Iterable[Object]:
        return self._records.values()

    def get(self, key: Key) -> Object | None:
        return self._records.get(key)

    def of_namespace(self, namespace: str) -> tuple[Object, ...]:
        return tuple(each for (of, _), each in self._records.items() if of == namespace)

    def of_pod(self, uid: str) -> list[Object]:
        """By attempt."""
        found = [each for each in self._records.values() if each["spec"]["pod"]["uid"] == uid]
        return sorted(found, key=records.attempt_of)

    def unfinished(self) -> list[Object]:
        """The oldest first."""
        found = self._unfinished.values()
        return sorted(found, key=lambda each: (each["metadata"]["creationTimestamp"], key_of(each)))

    def failed(self) -> Iterable[Object]:
        return self._failed.values()

    def learn(self, record: Object) -> None:
        """What we wrote ourselves, before the watch tells it."""
        if not self._is_readable(record):
            return
        known = self._records.get(key_of(record))
        is_same = known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]
        if not is_same or known is None or version_of(record) >= version_of(known):
            self._keep(record)
            self._tell()

    def _keep(self, record: Object) -> None:
        key = key_of(record)
        self._records[key] = record
        for kept, belongs in (
            (self._unfinished, records.is_unfinished(record)),
            (self._failed, records.phase_of(record) is records.Phase.FAILED),
        ):
            if belongs:
                kept[key] = record
            else:
                kept.pop(key, None)

    def _is_readable(self, record: Object) -> bool:
        """Of another version, or written by hand: not to be carried out, nor stumbled over."""
        try:
            records.standing_of(record)
            return bool(record["spec"]["pod"]["uid"] and record["spec"]["target"])
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            self._warn(f"leaves PodMigration {'/'.join(key_of(record))} alone: {problem!r}")
            return False

    def forget(self, record: Object) -> None:
        """It was deleted, before the watch tells it."""
        known = self._records.get(key_of(record))
        if known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]:
            del self._records[key_of(record)]
            self._unfinished.pop(key_of(record), None)
            self._failed.pop(key_of(record), None)
            self._tell()

    def has(self, record: Object) -> bool:
        known = self._records.get(key_of(record))
        return known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except errors.NotFound as problem:
                self._fail(
                    "the cluster does not know PodMigrations: install them with "
                    f"`kubectl apply -k manifests/rescheduler` ({problem})"
                )
            except errors.Forbidden as problem:
                self._fail(f"may not follow PodMigrations, see rbac.yaml: {problem}")
            except errors.KubeError as problem:
                self._warn(f"cannot follow PodMigrations: {problem}")
            await self._clock.sleep(_PAUSE_SECONDS)

    def _warn(self, message: str) -> None:
        if message != self._said:
            self._said = message
            structlog.get_logger().warning(message)

    def _fail(self, message: str) -> None:
        self._warn(message)
        if not self._synced.is_set():
            self._problem = NotInstalled(message)
            self._synced.set()

    async def _follow(self) -> None:
        before_it = {key: version_of(each) for key, each in self._records.items()}
        listing = await self._kube.listing(POD_MIGRATIONS)
        listed: dict[Key, Object] = {
            key_of(each): each for each in listing.items if self._is_readable(each)
        }
        for key, known in self._records.items():
            # Written while the list was on its way, which may show less.
            is_news = before_it.get(key) != version_of(known)
            if is_news and (key not in listed or version_of(known) > version_of(listed[key])):
                listed[key] = known
        self._records, self._unfinished, self._failed = {}, {}, {}
        for record in listed.values():
            self._keep(record)
        self._problem, self._said = None, ""
        self._synced.set()
        self._tell()
        # Listed anew when the server ends the watch, every few minutes: what it kept silent about
        # is seen then.
        async with aclosing(self._kube.watch(POD_MIGRATIONS, since=listing.version)) as events:
            async for event in events:
                if event.kind == "DELETED":
                    self.forget(event.object)
                elif event.kind != "BOOKMARK":
                    self.learn(event.object)


def key_of(record: Object) -> Key:
    return record["metadata"]["namespace"], record["metadata"]["name"]
