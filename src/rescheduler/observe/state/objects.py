"""All kinds but nodes and pods: few enough to be kept one by one, reduced to what we read."""

from collections.abc import Mapping

from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Key
from rescheduler.observe.state.sharing import CopyOnWrite


def key_of(raw: Object) -> Key:
    return raw["metadata"].get("namespace", ""), raw["metadata"]["name"]


class ObjectTable:
    def __init__(self) -> None:
        self._objects: CopyOnWrite[dict[Key, Object]] = CopyOnWrite({})
        self._unheard: set[Key] | None = None

    def __len__(self) -> int:
        return len(self._objects.value)

    def put(self, raw: Object) -> None:
        key = key_of(raw)
        self._objects.own()[key] = raw
        if self._unheard is not None:
            self._unheard.discard(key)

    def remove(self, key: Key) -> None:
        if key in self._objects.value:
            del self._objects.own()[key]

    def begin_listing(self) -> None:
        self._unheard = set(self._objects.value)

    def end_listing(self) -> None:
        for key in self._unheard or ():
            self.remove(key)
        self._unheard = None

    def share(self) -> Mapping[Key, Object]:
        return self._objects.share()
