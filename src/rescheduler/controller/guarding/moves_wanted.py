"""Moves that evictions ask for become PodMigrations, one each, whoever asks how often."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.controller.settings import Settings
from rescheduler.guard import Wanted
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.model import names, podmigration
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.wire import POD_MIGRATIONS

_MOST_WAITING: Final = 5_000
_AT_ONCE: Final = 16
_REFUSED_SECONDS: Final = 60.0
"""For which a refusal by the API server counts."""
_MOST_REFUSED: Final = 1_000
_LONGEST_USER: Final = 253


class MovesWanted:
    """Put by any thread; written by the event loop of the process."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock = clock
        self._settings = settings
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Wanted] = OrderedDict()
        """By UID of the pod."""
        self._refused: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._log = structlog.get_logger()

    def put(self, wanted: Wanted) -> bool:
        """From any thread. False: too many wait already, or nobody writes."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return False
        with self._lock:
            is_full = len(self._waiting) >= _MOST_WAITING and wanted.uid not in self._waiting
            if is_full:
                return False
            self._waiting[wanted.uid] = wanted
        loop.call_soon_threadsafe(self._news.set)
        return True

    def refused(self) -> Mapping[str, str]:
        """By UID of the pod: why no move of it can be asked for."""
        now = self._clock.monotonic()
        while self._refused and now - next(iter(self._refused.values()))[0] > _REFUSED_SECONDS:
            self._refused.popitem(last=False)
        return {uid: why for uid, (_, why) in self._refused.items()}

    async def write(self, kube: KubeApi) -> None:
        """For ever."""
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(_AT_ONCE):
                    tasks.create_task(self._write_one_by_one(kube))
        finally:
            self._loop = None

    async def _write_one_by_one(self, kube: KubeApi) -> None:
        while True:
            wanted = self._next()
            if wanted is None:
                await self._news.wait()
                self._news.clear()
            else:
                await self._ask(kube, wanted)

    def _next(self) -> Wanted | None:
        with self._lock:
            found = self._waiting.popitem(last=False)[1] if self._waiting else None
            if self._waiting:
                # Others of us may be waiting.
                self._news.set()
        return found

    async def _ask(self, kube: KubeApi, wanted: Wanted) -> None:
        """Whatever fails here is asked for again at the next eviction."""
        log = self._log.bind(pod=f"{wanted.namespace}/{wanted.pod}", evicted_by=wanted.user)
        body = record_of(wanted, self._settings)
        try:
            await kube.create(POD_MIGRATIONS, wanted.namespace, dict(body))
        except errors.AlreadyExists:
            return  # by another replica, or by ourselves, whose answer was lost
        except (errors.Unavailable, errors.Throttled) as problem:
            log.warning("move not asked for", problem=str(problem))
        except errors.KubeError as problem:
            log.warning("move cannot be asked for, so the eviction passes", problem=str(problem))
            self._refuse(wanted.uid, str(problem))
        else:
            log.info("move asked for, as it is evicted", migration=body["metadata"]["name"])

    def _refuse(self, uid: str, why: str) -> None:
        self._refused.pop(uid, None)
        self._refused[uid] = self._clock.monotonic(), why
        while len(self._refused) > _MOST_REFUSED:
            self._refused.popitem(last=False)


def record_of(wanted: Wanted, settings: Settings) -> Object:
    """Without a target, which is the planner's to choose. The pod may be recreated: that is what
    whoever evicts it asks for, and where it need not be, it is not.
    """
    user = wanted.user[:_LONGEST_USER]
    move = Move(
        namespace=wanted.namespace,
        pod=wanted.pod,
        uid=wanted.uid,
        source=wanted.node,
        target="",
        strategy=podmigration.MANUAL,
        reason=f"{user} evicts it from {wanted.node}",
        asked=True,
    )
    migration = settings.configuration.migration
    body = records.build(move, migration, attempt=wanted.attempt, may_recreate=True)
    body["metadata"]["annotations"] = {names.EVICTED_BY: user}
    return body
