"""Records by what they say, so that nobody has to look through all of them. Pure."""

from collections.abc import Callable, Iterable

from rescheduler.migrate.record.lines import Key
from rescheduler.model.objects import Object


class Index:
    def __init__(self, value_of: Callable[[Object], str]) -> None:
        """Those of which the value is empty are not in it."""
        self._value_of = value_of
        self._values: dict[Key, str] = {}
        self._found: dict[str, dict[Key, Object]] = {}

    def put(self, key: Key, record: Object) -> None:
        value = self._value_of(record)
        if self._values.get(key) != value:
            self.remove(key)
        if value:
            self._values[key] = value
            self._found.setdefault(value, {})[key] = record

    def remove(self, key: Key) -> None:
        value = self._values.pop(key, "")
        if value:
            del self._found[value][key]
            if not self._found[value]:
                del self._found[value]

    def get(self, value: str) -> Iterable[Object]:
        return self._found.get(value, {}).values()
