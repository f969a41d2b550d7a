"""The garbage collector: what nobody owns any more goes.

Follows pkg/controller/garbagecollector. An object whose owners are all gone is deleted; one that
still has an owner only loses its references to those that are gone. A namesake of an owner, with
another UID, is not the owner. An owner that is deleted in the foreground waits for its dependents,
and one that orphans them lets go of them first.
"""

import contextlib
import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rescheduler.embedded import kinds
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.apiserver.deleting import FOREGROUND, ORPHAN
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model.objects import is_terminating, owners
from rescheduler.wire import Resource

Reference = Mapping[str, Any]


class _Sorted(NamedTuple):
    solid: list[Reference]
    dangling: list[Reference]
    waiting: list[Reference]
    """To owners that wait for their dependents to go."""


class GarbageCollector:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._queues = {
            kind.resource: Queue(
                f"garbage of {kind.name}", functools.partial(self._sync, kind.resource), chance
            )
            for kind in kinds.KINDS
        }
        self._dependents: Final = {
            kind.resource: api.store.index(kind.resource, _owner_uids) for kind in kinds.KINDS
        }
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        self._endings = [self._api.store.listen(None, self._heard)]
        for kind in kinds.KINDS:
            for item in self._api.store.all(kind.resource):
                if _is_held(item) or self._lacks_an_owner(item):
                    self._queues[kind.resource].add(key_of(item))

    def end(self) -> None:
        for end in self._endings:
            end()
        for queue in self._queues.values():
            queue.end()

    # ------------------------------------------------------------------ hearing

    def _heard(self, change: Change) -> None:
        item, before = change.object, change.before
        if change.kind == "DELETED":
            self._look_at_dependents(item)
            self._look_at_waiting(item, owners(item))
            return
        now = item["metadata"]
        was = before["metadata"] if before else {}
        references, were = now.get("ownerReferences"), was.get("ownerReferences")
        if references != were:
            if self._lacks_an_owner(item):
                self._queues[change.resource].add(key_of(item))
            self._look_at_waiting(item, were or ())
        if _is_held(item) and (
            "deletionTimestamp" not in was or now.get("finalizers") != was.get("finalizers")
        ):
            self._look_at_dependents(item)
            self._queues[change.resource].add(key_of(item))

    def _look_at_dependents(self, item: Object) -> None:
        for resource, dependent in self._dependents_of(item):
            self._queues[resource].add(key_of(dependent))

    def _look_at_waiting(self, item: Object, references: Iterable[Reference]) -> None:
        for reference in references:
            owner = self._owner(item, reference)
            if owner is not None and _waits_for_dependents(owner):
                self._queues[kinds.BY_NAME[reference["kind"]].resource].add(key_of(owner))

    # ------------------------------------------------------------------ acting

    def _sync(self, resource: Resource, key: Key) -> None:
        item = self._api.store.find(resource, *key)
        if item is None:
            return
        if is_terminating(item):
            if ORPHAN in _finalizers(item):
                self._orphan_dependents(resource, item)
            elif FOREGROUND in _finalizers(item):
                self._wait_for_dependents(resource, item)
            return
        references = list(owners(item))
        if not references:
            return
        found = self._sorted(item, references)
        if found.solid:
            if found.dangling or found.waiting:
                self._write_owners(resource, item, found.solid)
        elif found.waiting and (below := list(self._dependents_of(item))):
            if any(_waits_for_dependents(each) for _, each in below):
                # Else each could wait for the other, for ever.
                free = [{**each, "blockOwnerDeletion": False} for each in references]
                item = self._write_owners(resource, item, free)
            self._delete(resource, item, "Foreground")
        else:
            self._delete(resource, item, _own_way(item))

    def _orphan_dependents(self, resource: Resource, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for kind, dependent in self._dependents_of(owner):
            others = [each for each in owners(dependent) if each["uid"] != uid]
            with contextlib.suppress(errors.NotFound):
                self._write_owners(kind, dependent, others)
        self._remove_finalizer(resource, owner, ORPHAN)

    def _wait_for_dependents(self, resource: Resource, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        blocking = [
            (kind, dependent)
            for kind, dependent in self._dependents_of(owner)
            if any(
                each["uid"] == uid and each.get("blockOwnerDeletion") for each in owners(dependent)
            )
        ]
        if not blocking:
            self._remove_finalizer(resource, owner, FOREGROUND)
        for kind, dependent in blocking:
            if not is_terminating(dependent):
                self._queues[kind].add(key_of(dependent))

    def _delete(self, resource: Resource, item: Object, propagation: str) -> None:
        metadata = item["metadata"]
        with contextlib.suppress(errors.NotFound):
            self._api.delete(
                resource,
                metadata.get("namespace"),
                metadata["name"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
                propagation=propagation,
            )

    def _write_owners(
        self, resource: Resource, item: Object, references: Sequence[Reference]
    ) -> Object:
        return self._patch(resource, item, {"ownerReferences": references or None})

    def _remove_finalizer(self, resource: Resource, item: Object, finalizer: str) -> None:
        others = [each for each in _finalizers(item) if each != finalizer]
        self._patch(resource, item, {"finalizers": others or None})

    def _patch(self, resource: Resource, item: Object, change: Mapping[str, Any]) -> Object:
        metadata = item["metadata"]
        return self._api.patch(
            resource,
            metadata.get("namespace"),
            metadata["name"],
            {"metadata": {"uid": metadata["uid"], **change}},
        )

    # ------------------------------------------------------------------ finding

    def _dependents_of(self, owner: Object) -> Iterable[tuple[Resource, Object]]:
        uid = owner["metadata"]["uid"]
        for resource, index in self._dependents.items():
            for dependent in index.of(uid):
                yield resource, dependent

    def _lacks_an_owner(self, item: Object) -> bool:
        return any(self._is_dangling(item, each) for each in owners(item))

    def _sorted(self, item: Object, references: Iterable[Reference]) -> _Sorted:
        found = _Sorted([], [], [])
        for each in references:
            owner = self._owner(item, each)
            if self._is_dangling(item, each):
                found.dangling.append(each)
            elif owner is not None and _waits_for_dependents(owner):
                found.waiting.append(each)
            else:
                found.solid.append(each)
        return found

    def _is_dangling(self, item: Object, reference: Reference) -> bool:
        kind = kinds.BY_NAME.get(reference["kind"])
        if kind is None or kind.resource.group_version != reference["apiVersion"]:
            # Of a kind that nobody serves: the real one cannot tell either, and leaves it.
            return False
        if kind.namespaced and not item["metadata"].get("namespace"):
            # Nothing that is nowhere can belong to something that is somewhere.
            return False
        return self._owner(item, reference) is None

    def _owner(self, item: Object, reference: Reference) -> Object | None:
        kind = kinds.BY_NAME.get(reference["kind"])
        if kind is None:
            return None
        namespace = item["metadata"].get("namespace") if kind.namespaced else None
        found = self._api.store.find(kind.resource, namespace, reference["name"])
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None


def _owner_uids(item: Object) -> Iterable[str]:
    return [each["uid"] for each in owners(item)]


def _finalizers(item: Object) -> list[str]:
    return item["metadata"].get("finalizers") or []


def _is_held(item: Object) -> bool:
    """Deleted, and not gone until we have seen to its dependents."""
    held = _finalizers(item)
    return bool(held) and is_terminating(item) and (FOREGROUND in held or ORPHAN in held)


def _waits_for_dependents(item: Object) -> bool:
    return is_terminating(item) and FOREGROUND in _finalizers(item)


def _own_way(item: Object) -> str:
    if ORPHAN in _finalizers(item):
        return "Orphan"
    return "Foreground" if FOREGROUND in _finalizers(item) else "Background"
