"""A KubeApi that writes only as long as we lead."""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from rescheduler.kube import Event, Known, KubeApi, Listing, Object, Whole, errors
from rescheduler.leading.leadership import Leadership
from rescheduler.wire import Batch, Resource

T = TypeVar("T")


class Fenced:
    """Reads pass, and so do dry runs. A write is refused with NotLeading, and not sent, when
    somebody else may lead; one that is unanswered when the lease lapses is given up, for it may
    still wait for its connection, and would come when another leads.
    """

    def __init__(self, kube: KubeApi, leadership: Leadership) -> None:
        self._kube = kube
        self._leadership = leadership

    # ------------------------------------------------------------------ reads

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return await self._kube.get(resource, namespace, name)

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]:
        return await self._kube.list(resource, namespace=namespace, labels=labels)

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        return await self._kube.listing(resource, namespace=namespace, whole=whole, known=known)

    async def served(self, group_version: str) -> frozenset[str]:
        return await self._kube.served(group_version)

    def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        return self._kube.pieces(resource)

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        return self._kube.watch(resource, namespace=namespace, since=since, whole=whole)

    def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        return self._kube.follow(resource, fields=fields, since=since)

    # ------------------------------------------------------------------ writes

    async def create(
        self, resource: Resource, namespace: str, body: Object, *, dry_run: bool = False
    ) -> Object:
        if dry_run:
            return await self._kube.create(resource, namespace, body, dry_run=True)
        return await self._write(lambda: self._kube.create(resource, namespace, body))

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
        return await self._write(
            lambda: self._kube.patch(
                resource, namespace, name, uid=uid, change=change, subresource=subresource
            )
        )

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return await self._write(lambda: self._kube.replace(resource, namespace, name, body))

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, resource_version: str = ""
    ) -> None:
        await self._write(
            lambda: self._kube.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version
            )
        )

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None:
        if dry_run:
            await self._kube.evict(
                namespace, pod, uid=uid, grace_seconds=grace_seconds, dry_run=True
            )
            return
        await self._write(
            lambda: self._kube.evict(namespace, pod, uid=uid, grace_seconds=grace_seconds)
        )

    async def _write(self, send: Callable[[], Awaitable[T]]) -> T:
        sending = asyncio.create_task(self._send(send))
        try:
            while not await self._is_done(sending):
                if not self._leadership.may_write():
                    raise errors.Unavailable("the lease was lost before the write was answered")
            return sending.result()
        finally:
            if not sending.done():
                await _end(sending)

    async def _send(self, send: Callable[[], Awaitable[T]]) -> T:
        # In the same step as the sending: nothing else gets its turn in between.
        if not self._leadership.may_write():
            raise errors.NotLeading("not sent: the lease is lost, and another may lead by now")
        return await send()

    async def _is_done(self, sending: asyncio.Task[T]) -> bool:
        left = self._leadership.seconds_left()
        # The lease is renewed time and again, and then there is more time than was left at first.
        await asyncio.wait([sending], timeout=None if math.isinf(left) else left)
        return sending.done()


async def _end(sending: asyncio.Task[Any]) -> None:
    sending.cancel()
    await asyncio.wait([sending])
    if not sending.cancelled():
        # Or asyncio complains that nobody has looked at it.
        sending.exception()
