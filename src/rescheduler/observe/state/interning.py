"""Numbers for things that many rows have in common."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast

from rescheduler.observe.state.sharing import CopyOnWrite

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Interner(Generic[K, V]):
    """Gives equal keys one number, and takes it back when its last user is gone: a cluster that
    changes for months does not grow for months.
    """

    def __init__(self, on_release: Callable[[V], None] = lambda _: None) -> None:
        self._numbers: dict[K, int] = {}
        self._keys: list[K | None] = []
        self._uses: list[int] = []
        self._free: list[int] = []
        self._on_release = on_release
        self.values: CopyOnWrite[list[V | None]] = CopyOnWrite([])
        """By number; None where a number is free."""

    def __len__(self) -> int:
        return len(self._numbers)

    def find(self, key: K) -> int | None:
        return self._numbers.get(key)

    def use(self, key: K, make: Callable[[], V]) -> int:
        """The number of the key, with one user more. `make` is asked only for a new one, and may
        raise: then nothing has changed.
        """
        number = self._numbers.get(key)
        if number is not None:
            self._uses[number] += 1
            return number
        value = make()
        if self._free:
            number = self._free.pop()
            self.values.own()[number] = value
            self._keys[number], self._uses[number] = key, 1
        else:
            number = len(self._keys)
            self.values.own().append(value)
            self._keys.append(key)
            self._uses.append(1)
        self._numbers[key] = number
        return number

    def use_again(self, number: int) -> int:
        self._uses[number] += 1
        return number

    def release(self, number: int) -> None:
        self._uses[number] -= 1
        if self._uses[number]:
            return
        values = self.values.own()
        # A number that was in use has both.
        key, value = cast("K", self._keys[number]), cast("V", values[number])
        del self._numbers[key]
        self._keys[number], values[number] = None, None
        self._free.append(number)
        self._on_release(value)

    def value(self, number: int) -> V:
        """Of a number in use."""
        return cast("V", self.values.value[number])
