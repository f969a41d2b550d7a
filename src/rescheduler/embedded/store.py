"""What etcd and the watch cache are to a real API server: all objects, in the order of versions.

Objects in here are never changed, only replaced: whoever gets one may keep it, and must not write
to it. It knows no rules; `apiserver` does, and is the only one that writes here.
"""

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from rescheduler.kube import Object
from rescheduler.wire import Resource

_KEPT_CHANGES: Final = 20_000
"""Of which a watch may begin in the past."""


class Change(NamedTuple):
    version: int
    kind: str
    """ADDED, MODIFIED or DELETED."""
    resource: Resource
    object: Object
    """As it is now, or as it was when it went, with the version of its going."""
    before: Object | None
    """None for one that is new."""


Listener = Callable[[Change], None]
Key = tuple[str, str]
"""Namespace, empty for what has none, and name."""


class Index:
    """Objects of a kind by something that they have in common, always up to date."""

    def __init__(self, keys: Callable[[Object], Iterable[Hashable]]) -> None:
        self._keys = keys
        self._found: dict[Hashable, dict[Key, Object]] = {}

    def of(self, key: Hashable) -> Collection[Object]:
        """In the order in which they came."""
        return tuple(self._found.get(key, {}).values())

    def add(self, item: Object) -> None:
        for key in self._keys(item):
            self._found.setdefault(key, {})[key_of(item)] = item

    def take_out(self, item: Object) -> None:
        for key in self._keys(item):
            found = self._found.get(key, {})
            found.pop(key_of(item), None)
            if not found:
                self._found.pop(key, None)

    def replace(self, before: Object, after: Object) -> None:
        old, new = set(self._keys(before)), set(self._keys(after))
        for key in old & new:
            self._found[key][key_of(after)] = after
        if old != new:
            name = key_of(after)
            for key in old - new:
                self._found[key].pop(name, None)
                if not self._found[key]:
                    del self._found[key]
            for key in new - old:
                self._found.setdefault(key, {})[name] = after


class Store:
    def __init__(self) -> None:
        self.version = 1
        self._objects: dict[Resource, dict[Key, Object]] = {}
        self._listeners: dict[Resource | None, list[Listener]] = {}
        self._indexes: dict[Resource, list[Index]] = {}
        self._changes: deque[Change] = deque()
        self._known_since = 0

    # ------------------------------------------------------------------ read

    def find(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace or "", name))

    def all(self, resource: Resource, namespace: str | None = None) -> Iterator[Object]:
        """Of one namespace, or of all; in the order in which they came."""
        found = self._objects.get(resource, {})
        return (
            item for (where, _), item in tuple(found.items()) if not namespace or where == namespace
        )

    def count(self, resource: Resource) -> int:
        return len(self._objects.get(resource, {}))

    def changes_since(self, version: int, resource: Resource) -> list[Change] | None:
        """None: not all of them are kept any more."""
        if version < self._known_since:
            return None
        found = []
        # Mostly it is a few of the last ones.
        for each in reversed(self._changes):
            if each.version <= version:
                break
            if each.resource == resource:
                found.append(each)
        found.reverse()
        return found

    def index(self, resource: Resource, keys: Callable[[Object], Iterable[Hashable]]) -> Index:
        """One more way to find objects of this kind."""
        made = Index(keys)
        for item in self.all(resource):
            made.add(item)
        self._indexes.setdefault(resource, []).append(made)
        return made

    # ------------------------------------------------------------------ hear

    def listen(self, resource: Resource | None, listener: Listener) -> Callable[[], None]:
        """Calls it at each change of this kind, or of any, before the writer goes on; in the order
        in which they came to listen. A listener must not write: it notes what is to be done.
        Gives what ends it.
        """
        listeners = self._listeners.setdefault(resource, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    # ------------------------------------------------------------------ write

    def put(self, resource: Resource, item: Object) -> Object:
        """New, or in the place of the one of that name. Gives it with its version. `item` belongs
        to the store from now on.
        """
        self.version += 1
        item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        kept, key = self._objects.setdefault(resource, {}), key_of(item)
        before = kept.get(key)
        kept[key] = item
        for index in self._indexes.get(resource, ()):
            if before is None:
                index.add(item)
            else:
                index.replace(before, item)
        kind = "ADDED" if before is None else "MODIFIED"
        self._tell(Change(self.version, kind, resource, item, before))
        return item

    def remove(self, resource: Resource, namespace: str | None, name: str) -> Object:
        self.version += 1
        before = self._objects[resource].pop((namespace or "", name))
        for index in self._indexes.get(resource, ()):
            index.take_out(before)
        last = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.version)}}
        self._tell(Change(self.version, "DELETED", resource, last, before))
        return last

    def forget_changes(self) -> None:
        """As a compaction does: nobody may begin in the past any more."""
        self._changes.clear()
        self._known_since = self.version

    def _tell(self, change: Change) -> None:
        if len(self._changes) == _KEPT_CHANGES:
            self._known_since = self._changes.popleft().version
        self._changes.append(change)
        for listener in (
            *self._listeners.get(change.resource, ()),
            *self._listeners.get(None, ()),
        ):
            listener(change)


def key_of(item: Object) -> Key:
    metadata = item["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
