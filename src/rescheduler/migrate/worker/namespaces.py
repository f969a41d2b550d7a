"""What the namespaces with migrations hold: kept by watches, and read live where it must be exact.

Many migrations of one namespace share its watches and its live reads. Namespaces without any cost
nothing.
"""

import asyncio
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar

from rescheduler.clock import Clock
from rescheduler.kube import (
    KubeApi,
    Object,
    ObjectNews,
    Pauses,
    Reflector,
    Relist,
    Whole,
    errors,
    follow_objects,
    is_brief,
)
from rescheduler.migrate.worker.view_building import READ_ONCE, WATCHED, Objects
from rescheduler.model import names
from rescheduler.model.objects import version_of
from rescheduler.wire import NODES, PODS, Resource

_PAUSES: Final = Pauses(first_seconds=1.0, longest_seconds=1.0, longest_refused_seconds=1.0)
"""What migrations have to see is read live meanwhile, which costs more than to ask for a watch."""

_NODE_SECONDS: Final = 2.0
_NODE_LIVE_SECONDS: Final = 0.2
"""For how long a node that was read counts as it was then; less for live looks."""

Listener = Callable[[Resource, Object], None]
T = TypeVar("T")


class Mirror(Reflector[ObjectNews]):
    """All objects of one kind in one namespace, as of the last event."""

    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        resource: Resource,
        namespace: str,
        whole: Whole | None = None,
    ) -> None:
        super().__init__(clock, resource.plural, _PAUSES, Relist.AFTER_TROUBLE)
        self.tell: Listener = lambda _resource, _changed: None
        """Called for each that is listed, and each that changes."""
        self.log = self.log.bind(namespace=namespace)
        self._kube = kube
        self._resource = resource
        self._namespace = namespace
        self._whole = whole
        self._objects: dict[str, Object] = {}

    @property
    def objects(self) -> Iterable[Object]:
        return self._objects.values()

    def _open(self, since: str) -> AsyncGenerator[ObjectNews, None]:
        return follow_objects(
            self._kube,
            self._resource,
            namespace=self._namespace,
            whole=self._whole,
            known=self.known,
            since=since,
        )

    def _take(self, news: ObjectNews) -> None:
        if news.complete:
            self._objects = {}
        for each in news.present:
            self.learn(each)
            self.tell(self._resource, each)
        for each in news.gone:
            if self._known(each) is not None:
                del self._objects[each["metadata"]["name"]]
            self.tell(self._resource, each)

    def learn(self, changed: Object) -> None:
        """What an event tells, or the answer to a write of ours that the watch has yet to tell."""
        metadata = changed["metadata"]
        known = self._known(changed)
        if known is not None and version_of(known) > version_of(changed):
            return
        # By far the largest part of it, and of no use to anybody here.
        metadata.pop("managedFields", None)
        self._objects[metadata["name"]] = changed

    def complete(self, found: Mapping[str, Any]) -> None:
        """All of what was not kept whole before somebody began to move it. It may be gone since it
        was read: who is not known here is not learnt by this.
        """
        known = self._known(found)
        if known is not None and is_brief(known):
            self.learn(dict(found))

    def known(self, name: str, version: str) -> Object | None:
        """Exactly as of this version: what is read live is not kept a second time."""
        found = self._objects.get(name)
        is_same = found is not None and found["metadata"]["resourceVersion"] == version
        return found if is_same else None

    def _known(self, found: Mapping[str, Any]) -> Object | None:
        """The same, not a namesake."""
        known = self._objects.get(found["metadata"]["name"])
        is_same = known is not None and known["metadata"]["uid"] == found["metadata"]["uid"]
        return known if is_same else None


class Shared(Generic[T]):
    """A read that callers share: each gets the result of one that was begun after it asked."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None

    async def read(self) -> T:
        if self._running is None or self._running.done():
            self._running = _watched_over(asyncio.create_task(self._begin()))
            return await asyncio.shield(self._running)
        # That one was begun before we asked, and may show less than we have to see.
        if self._next is None or self._next.done():
            self._next = _watched_over(asyncio.create_task(self._after(self._running)))
        return await asyncio.shield(self._next)

    async def _begin(self) -> T:
        try:
            return await self._read()
        finally:
            self._end()

    async def _after(self, before: asyncio.Task[T]) -> T:
        await asyncio.wait([before])
        self._running, self._next = self._next, None
        return await self._begin()

    def _end(self) -> None:
        """What was read is for those who asked; kept here, it would be there until the next."""
        if self._running is asyncio.current_task():
            self._running = None


def _watched_over(task: "asyncio.Task[T]") -> "asyncio.Task[T]":
    """When all who waited for it have gone, nobody wants to know how it failed."""
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class Namespace:
    def __init__(self, kube: KubeApi, clock: Clock, name: str) -> None:
        self.moving: Counter[str] = Counter()
        """UIDs of the pods that are moved here, once for each migration."""
        self.read_at = float("-inf")
        """When it was read live the last time, by whomever."""
        self._clock = clock
        self.listeners: dict[Listener, None] = {}
        """In the order in which they came, so that what is repeated comes out the same again."""
        self._mirrors = {
            each: Mirror(kube, clock, each, name, self._whole(each)) for each in WATCHED
        }
        self._lists = {
            each: Shared(partial(kube.listing, each, namespace=name, **self._as_kept(each)))
            for each in (*WATCHED, *READ_ONCE)
        }
        for mirror in self._mirrors.values():
            mirror.tell = self._tell
        self._tasks = [
            asyncio.create_task(mirror.run(), name=f"watch {each.plural} of {name}")
            for each, mirror in self._mirrors.items()
        ]

    def _as_kept(self, resource: Resource) -> dict[str, Any]:
        """How much is made of each, when a list is read live."""
        mirror = self._mirrors.get(resource)
        return {"whole": self._whole(resource), "known": mirror.known if mirror else None}

    def _whole(self, resource: Resource) -> Whole | None:
        return self._is_moved if resource == PODS else None

    def _is_moved(self, metadata: Object) -> bool:
        """Or is the copy of one that is. Of the thousands beside them little is ever looked at."""
        original = (metadata.get("annotations") or {}).get(names.ORIGINAL_POD)
        return metadata["uid"] in self.moving or original in self.moving

    def _tell(self, resource: Resource, changed: Object) -> None:
        for listener in tuple(self.listeners):
            listener(resource, changed)

    def mirrored(self) -> Objects | None:
        """What the watches tell; None while one of them is not open."""
        if not all(mirror.is_current for mirror in self._mirrors.values()):
            return None
        return {each: mirror.objects for each, mirror in self._mirrors.items()}

    async def read(self, *, all_of_it: bool) -> Objects:
        """Live; `all_of_it`: also what only the beginning of a migration depends on."""
        self.read_at = self._clock.monotonic()
        wanted = (*WATCHED, *READ_ONCE) if all_of_it else WATCHED
        with sees_or_waits():
            found = await asyncio.gather(*(self._lists[each].read() for each in wanted))
        return {each: listing.items for each, listing in zip(wanted, found, strict=True)}

    def learn(self, resource: Resource, changed: Object) -> None:
        self._mirrors[resource].learn(changed)

    def complete(self, pod: Mapping[str, Any]) -> None:
        self._mirrors[PODS].complete(pod)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Namespaces:
    def __init__(self, kube: KubeApi, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._open: dict[str, Namespace] = {}
        self._nodes: dict[str, tuple[float, Object | None]] = {}
        self._node_reads: dict[str, Shared[Object | None]] = {}

    @asynccontextmanager
    async def using(self, name: str, pod: str) -> AsyncIterator[Namespace]:
        """By the migration of the pod with this UID."""
        namespace = self._open.get(name)
        if namespace is None:
            namespace = self._open[name] = Namespace(self._kube, self._clock, name)
        namespace.moving[pod] += 1
        try:
            yield namespace
        finally:
            namespace.moving -= Counter((pod,))
            if not namespace.moving and self._open.get(name) is namespace:
                del self._open[name]
                if not self._open:
                    # Nobody asks for them any more, and nodes come and go.
                    self._nodes.clear()
                    self._node_reads.clear()
                await namespace.close()

    async def node(self, name: str, *, live: bool) -> Object | None:
        read_at, node = self._nodes.get(name, (float("-inf"), None))
        longest = _NODE_LIVE_SECONDS if live else _NODE_SECONDS
        if self._clock.monotonic() - read_at > longest:
            reads = self._node_reads.setdefault(name, Shared(partial(self._read_node, name)))
            node = await reads.read()
            self._nodes[name] = self._clock.monotonic(), node
        return node

    async def _read_node(self, name: str) -> Object | None:
        try:
            with sees_or_waits():
                return await self._kube.get(NODES, None, name)
        except errors.NotFound:
            return None


@contextmanager
def sees_or_waits() -> Iterator[None]:
    """Whoever may not look decides nothing: a refusal to be read is no refusal of an action. It is
    sat out like an outage, and left to the next run if it lasts.
    """
    try:
        yield
    except (errors.Forbidden, errors.Invalid) as problem:
        raise errors.Unavailable(str(problem), status=problem.status) from problem
