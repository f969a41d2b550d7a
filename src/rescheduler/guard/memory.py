"""What this replica remembers of evictions: since when they are held, and whom it let go. Pure.

The records of moves say most of it to every replica. This is what they cannot say: what was held
before there was a record, or when there can be none, and what was released a moment ago.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

MOST: Final = 20_000
"""Pods that are remembered: beyond that evictions pass."""
_MOST_RELEASED: Final = 64
"""Of one workload."""


class Moment(NamedTuple):
    """Now, by both clocks."""

    wall: float
    """Seconds since 1970: records of other replicas say when they were made."""
    monotonic: float


@dataclass(slots=True)
class Held:
    first: float
    last: float
    """Of the evictions that were held; when they stop, the next is another eviction."""
    patience: float
    name: str
    """namespace/name"""
    asked: float = float("-inf")
    is_released: bool = False
    predecessor: float | None = None
    """Since when the one was held that had its name before."""


class Released(NamedTuple):
    at: float
    siblings: int
    """Pods that its workload had, itself included."""
    until: float


class Memory:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: OrderedDict[str, Held] = OrderedDict()
        """By UID, those held last at the end."""
        self._uids: dict[str, str] = {}
        """Of these, by name."""
        self._released: OrderedDict[str, dict[str, Released]] = OrderedDict()
        """By UID of the owner, and of the pod."""

    def __len__(self) -> int:
        return len(self._held)

    # ------------------------------------------------------------------ held

    def of(self, uid: str, now: float) -> Held | None:
        found = self._held.get(uid)
        if found is None or not _is_over(found, now):
            return found
        self.forget(uid)
        return None

    def gone(self, name: str, uid_now: str, now: float) -> Held | None:
        """A pod of that name that was held, if it is not the one that has it now. Once."""
        uid = self._uids.get(name, "")
        if not uid or uid == uid_now:
            return None
        found = self.of(uid, now)
        self.forget(uid)
        return found

    def hold(self, uid: str, name: str, patience: float, now: float) -> Held | None:
        """None: there is no room to remember it."""
        found = self.of(uid, now)
        if found is None:
            self._forget_old(now)
            if len(self._held) >= self._most:
                return None
            found = self._held[uid] = Held(now, now, patience, name)
            self._uids[name] = uid
        found.last, found.patience, found.is_released = now, patience, False
        self._held.move_to_end(uid)
        return found

    def forget(self, uid: str) -> None:
        found = self._held.pop(uid, None)
        if found is not None and self._uids.get(found.name) == uid:
            del self._uids[found.name]

    def not_asked(self, uid: str) -> None:
        """What was wanted could not be passed on: it is wanted again at the next eviction."""
        if uid in self._held:
            self._held[uid].asked = float("-inf")

    def _forget_old(self, now: float) -> None:
        while self._held:
            uid, oldest = next(iter(self._held.items()))
            if not _is_over(oldest, now):
                return
            self.forget(uid)

    # ------------------------------------------------------------------ released

    def release(self, owner: str, uid: str, released: Released) -> None:
        of_owner = self._released.setdefault(owner, {})
        self._released.move_to_end(owner)
        of_owner[uid] = released
        while len(of_owner) > _MOST_RELEASED:
            del of_owner[next(iter(of_owner))]
        while len(self._released) > self._most:
            self._released.popitem(last=False)

    def released(self, owner: str, now: float) -> Iterator[tuple[str, Released]]:
        """Of this workload, by UID."""
        found = self._released.get(owner, {})
        for uid, each in list(found.items()):
            if each.until < now:
                self.is_back(owner, uid)
            else:
                yield uid, each

    def is_back(self, owner: str, uid: str) -> None:
        """It is not missed any more, or never went."""
        found = self._released.get(owner, {})
        found.pop(uid, None)
        if not found:
            self._released.pop(owner, None)


def _is_over(held: Held, now: float) -> bool:
    """Nobody has asked for so long that whoever does now is another one."""
    return now - held.last > 2 * held.patience
