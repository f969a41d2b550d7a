"""Whether we may act, asked by the main loop and answered by the thread of the election."""

import asyncio
import math
from collections.abc import Callable
from threading import Lock

from rescheduler.leading.deciding import Term
from rescheduler.leading.notes import Notes


class Deadline:
    """Until when we lead, unless the lease is renewed. Once it has passed it cannot be moved: who
    was told no must not be told yes afterwards.
    """

    def __init__(self, end: float, boottime: Callable[[], float]) -> None:
        self._end = end
        self._boottime = boottime
        # Asked in one thread and moved in another; without it, the two might disagree.
        self._lock = Lock()

    def has_passed(self) -> bool:
        with self._lock:
            return self._has_passed()

    def move(self, end: float) -> bool:
        """False: too late."""
        with self._lock:
            if self._has_passed():
                return False
            self._end = max(self._end, end)
            return True

    def pass_now(self) -> None:
        with self._lock:
            self._end = -math.inf

    def seconds_left(self) -> float:
        with self._lock:
            return 0.0 if self._has_passed() else self._end - self._boottime()

    def _has_passed(self) -> bool:
        if self._boottime() >= self._end:
            self._end = -math.inf
            return True
        return False


class Leadership:
    """Ours, until it is lost: then it does not come back."""

    def __init__(
        self,
        term: Term,
        deadline: Deadline,
        lost: asyncio.Future[str],
        notes: Notes | None = None,
    ) -> None:
        self.term = term
        self.notes = notes or Notes()
        self._deadline = deadline
        self._lost = lost

    def may_write(self) -> bool:
        """Whether nobody else can lead at this moment. May be asked in any thread; ask immediately
        before each write.
        """
        return not self._deadline.has_passed()

    def seconds_left(self) -> float:
        """For which we may write if the lease is not renewed meanwhile; 0 when we may not."""
        return self._deadline.seconds_left()

    async def lost(self) -> str:
        """Waits until it is lost, and says why in one sentence. May be awaited by several; it is
        told late when the event loop is busy, which `may_write` is not.
        """
        return await asyncio.shield(self._lost)
