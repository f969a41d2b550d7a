"""Time that passes only while nobody has anything to do: hours in seconds, and always the same.

An event loop asks its selector to wait until the next timer is due. Ours does not wait: it moves
the loop's own time there. So everything in asyncio, time-outs and sleeps alike, runs on virtual
time, and whoever runs on it notices nothing.
"""

import asyncio
import contextvars
import selectors
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

T = TypeVar("T")

START: Final = datetime(2026, 1, 5, tzinfo=UTC)
"""When virtual time begins, unless told otherwise: a Monday, at midnight."""


_LOOKS_OUTSIDE: Final = 64
"""As often as not at all: once in so many turns of the loop."""
_MADE_GOOD_SECONDS: Final = 1.0
"""By which what is paced may be behind, and hurry."""


class StoodStill(RuntimeError):
    """Everybody waits for somebody else, for ever."""


class _JumpingSelector(selectors.DefaultSelector):
    """`pace`: so many virtual seconds pass in a real one; 0: as many as possible."""

    def __init__(self, pace: float) -> None:
        super().__init__()
        self.now = 0.0
        self.pace = pace
        self._looks = 0
        self._in_step_at = time.monotonic()
        """The real time at which it was, or should have been, as late as it is by ours."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            # Nothing is due, ever. Only a signal, at a terminal, could wake us.
            if not self.pace:
                raise StoodStill("nobody has anything to do, and nothing will ever be due")
            return super().select(None)
        if self.pace:
            return self._at_its_pace(max(timeout, 0.0))
        self.now += max(timeout, 0.0)
        self._looks += 1
        # Nothing but a signal comes from outside, and to ask for it costs more than many a thing
        # that is to be done.
        return [] if self._looks % _LOOKS_OUTSIDE else super().select(0)

    def _at_its_pace(self, timeout: float) -> list[tuple[selectors.SelectorKey, int]]:
        """What was computed since the last time is part of the wait, so far as it is made good
        soon: whoever was suspended for an hour does not see that hour rush by.
        """
        begun = time.monotonic()
        self._in_step_at = max(self._in_step_at, begun - _MADE_GOOD_SECONDS)
        wait = max(self._in_step_at + timeout / self.pace - begun, 0.0)
        found = super().select(wait)
        passed = timeout
        if found and wait:
            # Woken early: only so much has passed.
            elapsed = max(time.monotonic() - self._in_step_at, 0.0)
            passed = min(elapsed * self.pace, timeout)
        self.now += passed
        self._in_step_at += passed / self.pace
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Nothing of it is waited for: what is to be done in a thread is done at once, in order, so
    that the same acts always have the same end.
    """

    def __init__(self, pace: float = 0.0) -> None:
        self._virtual = _JumpingSelector(pace)
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    @property
    def pace(self) -> float:
        return self._virtual.pace

    @pace.setter
    def pace(self, pace: float) -> None:
        self._virtual.pace = pace

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What a timer or a callback raises ends the run. Else it were logged and forgotten, and
        with it, say, a controller in the middle of its work: nobody could believe the rest.
        """
        if "handle" in context and isinstance(problem := context.get("exception"), Exception):
            raise problem
        super().call_exception_handler(context)

    def run_in_executor(  # type: ignore[override]
        self,
        executor: object,  # noqa: ARG002 - there is none
        func: Callable[..., T],
        *args: Any,  # noqa: ANN401
    ) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(contextvars.copy_context().run(func, *args))
        except Exception as problem:  # noqa: BLE001 - it is whoever awaits it who wants to know
            done.set_exception(problem)
        return done


class VirtualClock:
    """The clock of the running loop, whose first moment is `start`."""

    is_virtual: Final = True

    def __init__(self, start: datetime = START) -> None:
        self.start = start

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.monotonic())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(main: Coroutine[Any, Any, T], *, pace: float = 0.0) -> T:
    """As `asyncio.run`, on virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(pace)) as runner:
        return runner.run(main)
