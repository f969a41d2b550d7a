"""Of records, beside carrying them out: old ones go, failed ones are asked for again."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.record import aftermath
from rescheduler.migrate.record.requesting import Requests
from rescheduler.migrate.record.store import Store
from rescheduler.model.objects import Object
from rescheduler.wire import POD_MIGRATIONS

_TIDY_SECONDS: Final = 60.0
_TRY_AGAIN_SECONDS: Final = 2.0


class Upkeep:
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        configuration: Configuration,
        *,
        store: Store,
        requests: Requests,
        jitter: random.Random,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._scope = configuration.scope
        self._settings = configuration.migration
        self._store = store
        self._requests = requests
        self._jitter = jitter

    async def tidy_up(self) -> None:
        """For ever."""
        await self._store.synced()
        while True:
            now = self._clock.now()
            for record in self._ours(
                aftermath.outdated(self._store.all(), self._settings.retention, now)
            ):
                await self._delete(record)
            await self._clock.sleep(_TIDY_SECONDS)

    async def try_again(self, is_stopping: Callable[[], bool]) -> None:
        """Until none is to begin any more."""
        await self._store.synced()
        while True:
            # Hardly ever one: this is looked at often, and has to cost little.
            in_vain = any(map(aftermath.is_asked_in_vain, self._store.failed()))
            found = list(self._ours(self._store.all())) if in_vain else []
            for record in aftermath.due(found, self._settings.retry, self._clock.now()):
                if is_stopping():
                    return
                with suppress(errors.KubeError):  # tried again below
                    self._store.learn(await self._requests.create(records.again(record)))
            await self._clock.sleep(_TRY_AGAIN_SECONDS * self._jitter.uniform(1.0, 1.5))

    def _ours(self, found: Iterable[Object]) -> Iterator[Object]:
        return (each for each in found if self._scope.covers(each["metadata"]["namespace"]))

    async def _delete(self, record: Object) -> None:
        metadata = record["metadata"]
        try:
            await self._kube.delete(
                POD_MIGRATIONS,
                metadata["namespace"],
                metadata["name"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except errors.KubeError as problem:
            structlog.get_logger().debug(
                "old PodMigration could not be deleted",
                migration=metadata["name"],
                problem=str(problem),
            )
