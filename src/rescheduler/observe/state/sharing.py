"""Values that are handed out for nothing: who writes after that works on a copy of his own."""

from typing import Generic, Protocol, Self, TypeVar


class Copyable(Protocol):
    """Arrays, lists, dicts and sets are."""

    def copy(self) -> Self: ...


T = TypeVar("T", bound=Copyable)


class CopyOnWrite(Generic[T]):
    """What was shared never changes again, so a snapshot costs a reference, however large it is."""

    __slots__ = ("_shared", "value")

    def __init__(self, value: T) -> None:
        self.value = value
        """For reading only: to write, ask for `own()`."""
        self._shared = False

    def share(self) -> T:
        self._shared = True
        return self.value

    def own(self) -> T:
        """To be asked for before every write, and not to be kept beyond it."""
        if self._shared:
            self.value = self.value.copy()
            self._shared = False
        return self.value

    def replace(self, value: T) -> None:
        self.value = value
        self._shared = False
