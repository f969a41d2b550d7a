"""What a client is handed is its own, whatever it does with it."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rescheduler.embedded.store import Key, key_of
from rescheduler.kube import Object
from rescheduler.wire import POD_MIGRATIONS, RESCHEDULE_PLANS, Resource

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


def own(item: Object) -> Object:
    """A copy that is the client's. By way of JSON, which is the quickest."""
    return dict(_decode(_encode(item)))


class Copies:
    """A client's copies of what it lists. Most of it has not changed since it was listed last, and
    copying it again would be most of the work of a simulation: then what is inside is shared by
    the client's lists, and by nobody else.
    """

    def __init__(self) -> None:
        self._known: dict[Resource, dict[Key, tuple[Object, Object]]] = {}

    def of(self, resource: Resource, items: Iterable[Object]) -> list[Object]:
        known = self._known.setdefault(resource, {})
        made = []
        for item in items:
            key = key_of(item)
            last = known.get(key)
            # The store replaces an object that changes.
            if last is None or last[0] is not item:
                last = known[key] = (item, _listed(resource, item))
            copy = last[1]
            made.append({**copy, "metadata": {**copy["metadata"]}})
        return made

    def forget(self, resource: Resource, *, beyond: int) -> None:
        """When so many more are known than there are, as most of them are gone by now."""
        if len(self._known.get(resource, ())) > beyond:
            del self._known[resource]


def _listed(resource: Resource, item: Object) -> Object:
    copy = own(item)
    if resource not in (POD_MIGRATIONS, RESCHEDULE_PLANS):
        # In a list of them, objects of the server's own kinds do not say what they are.
        copy.pop("apiVersion", None)
        copy.pop("kind", None)
    return copy
