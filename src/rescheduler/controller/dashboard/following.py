"""PodMigrations and ReschedulePlans, whole, for as long as somebody looks.

The stages have their own, of which whoever stands by or only plans has none.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, ObjectNews, Pauses, Reflector, Relist, errors, follow_objects
from rescheduler.model.objects import Object
from rescheduler.wire import Resource

_PAUSES: Final = Pauses(first_seconds=1.0, longest_seconds=10.0, longest_refused_seconds=60.0)


class Followed(Reflector[ObjectNews]):
    """All objects of a kind, by namespace and name: replaced as a whole with each change."""

    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        resource: Resource,
        hear: Callable[[Object], None],
        namespace: str | None = None,
    ) -> None:
        super().__init__(clock, resource.plural, _PAUSES, Relist.AFTER_TROUBLE)
        self._kube = kube
        self._resource = resource
        self._namespace = namespace
        self.what = resource.plural
        self._tell = hear
        self._known: dict[tuple[str, str], Object] = {}
        self._shown: Mapping[tuple[str, str], Object] | None = None

    def all(self) -> Mapping[tuple[str, str], Object]:
        if self._shown is None:
            self._shown = dict(self._known)
        return self._shown

    def _open(self, since: str) -> AsyncGenerator[ObjectNews, None]:
        return follow_objects(self._kube, self._resource, namespace=self._namespace, since=since)

    def _take(self, news: ObjectNews) -> None:
        if news.complete:
            self._known = {_key(each): each for each in news.present}
        for each in news.gone:
            self._known.pop(_key(each), None)
        for each in news.present:
            self._known[_key(each)] = _lean(each)
            self._tell(each)
        if news.complete or news.gone or news.present:
            self._shown = None

    def _forget_all(self) -> None:
        self._known, self._shown = {}, None

    def _tell_refusal(self, problem: errors.KubeError) -> None:
        log = structlog.get_logger()
        log.warning(
            "kind not shown by the dashboard", kind=self._resource.plural, problem=str(problem)
        )


def _key(found: Object) -> tuple[str, str]:
    return str(found["metadata"].get("namespace") or ""), str(found["metadata"]["name"])


def _lean(found: Object) -> Object:
    metadata = {key: each for key, each in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": metadata}


@asynccontextmanager
async def following(*followed: Followed) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each.run(), name="follow for the dashboard") for each in followed]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
