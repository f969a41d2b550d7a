"""What the stages may ask of a cluster: of a real API server, or of an embedded one."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from rescheduler.wire import Batch, Resource

Object = dict[str, Any]
"""A Kubernetes object as the API server sent it. Copies are made from these and never from typed
models, which drop the fields that a newer server knows and they do not."""


Whole = Callable[[Object], bool]
"""Told by the metadata of a pod, whether somebody looks at all of it. Of the others a server need
not hand on more than `sealed` keeps.
"""

Known = Callable[[str, str], Object | None]
"""Told by name and version of an object, the same if we have it: it need not be made again."""


class Event(NamedTuple):
    kind: str
    """ADDED, MODIFIED, DELETED or BOOKMARK; an ERROR is raised, never handed on."""
    object: Object


class Listing(NamedTuple):
    items: list[Object]
    version: str


class KubeApi(Protocol):
    """Reads are quorum reads. Every write names the UID of what it means, so that it is safe to
    repeat and can never hit a namesake; the caller re-reads after an error and decides anew.
    """

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object: ...

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]: ...

    async def listing(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        whole: Whole | None = None,
        known: Known | None = None,
    ) -> Listing:
        """The same, and the version that it is of, for a watch to go on from."""
        ...

    async def served(self, group_version: str) -> frozenset[str]:
        """The resources and subresources of a group that the server has; none, if it has no such
        group. Whoever may log in may ask.
        """
        ...

    def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        """A list in JSON as it comes, piece by piece: of kinds that cannot be watched and come
        without pages, so that all of it may be too much to hold.
        """
        ...

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        since: str = "",
        whole: Whole | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Events from that version on, else from now on, until the server ends the stream. Raises
        Expired when the version is too old.
        """
        ...

    def follow(
        self, resource: Resource, *, fields: str = "", since: str = ""
    ) -> AsyncGenerator[Batch, None]:
        """First everything there is, then what changes; with `since`, only what changed after it.

        Ends when the server ends the stream in order: the caller resumes at the last version.
        Raises Expired when it must begin anew, and forget what the unfinished listing said;
        Unavailable and Throttled when it may resume, or begin anew if it had no version yet;
        Forbidden, and NotFound when the kind is not served.
        """
        ...

    async def create(
        self, resource: Resource, namespace: str, body: Object, *, dry_run: bool = False
    ) -> Object: ...

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
        """Merges `change` into the object; a value of None removes a key. Its metadata may hold a
        resourceVersion: then it is refused if the object has changed since.
        """
        ...

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        """Refused if the object has another version by now than the body's resourceVersion."""
        ...

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str = "",
    ) -> None:
        """With a version: refused if the object has changed since."""
        ...

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None: ...
