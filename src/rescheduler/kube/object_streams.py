"""Whole objects as a stream, for a reflector: all that there are, and then what changes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from rescheduler.kube.api import Known, KubeApi, Object, Whole
from rescheduler.wire import Resource


class ObjectNews(NamedTuple):
    present: Sequence[Object] = ()
    gone: Sequence[Object] = ()
    version: str = ""
    complete: bool = False
    """These are all that there are."""


async def follow_objects(
    kube: KubeApi,
    resource: Resource,
    *,
    namespace: str | None = None,
    whole: Whole | None = None,
    known: Known | None = None,
    since: str = "",
) -> AsyncGenerator[ObjectNews, None]:
    """As `KubeApi.follow` does it for views. Ends and raises as that does, but a server that has
    not come as far as `since` is not noticed: it tells nothing.
    """
    if not since:
        listing = await kube.listing(resource, namespace=namespace, whole=whole, known=known)
        since = listing.version
        yield ObjectNews(present=listing.items, version=since, complete=True)
    else:
        yield ObjectNews(version=since)
    watch = kube.watch(resource, namespace=namespace, since=since, whole=whole)
    async with aclosing(watch) as events:
        async for event in events:
            yield _news(event.kind, event.object)


def _news(kind: str, changed: Object) -> ObjectNews:
    version = changed["metadata"]["resourceVersion"]
    if kind == "BOOKMARK":
        return ObjectNews(version=version)
    if kind == "DELETED":
        return ObjectNews(gone=(changed,), version=version)
    return ObjectNews(present=(changed,), version=version)
