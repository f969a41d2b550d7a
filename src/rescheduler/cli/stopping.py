"""How a command that goes on for long is told to stop."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

import structlog

AGAIN_SECONDS: Final = 1.0
"""What comes sooner is the same word twice: `timeout` sends SIGTERM to its child and to the group
of that, and a terminal Ctrl-C to all that a script has started.
"""


class Words:
    """Tells a word that was said again from one that was only heard twice."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._heard_at = float("-inf")

    def is_new(self) -> bool:
        now = self._monotonic()
        if now - self._heard_at < AGAIN_SECONDS:
            return False
        self._heard_at = now
        return True


def hear_terminations(monotonic: Callable[[], float]) -> None:
    """SIGTERM as Ctrl-C, which asyncio turns into an orderly end the first time, and an immediate
    one the second time.
    """
    words = Words(monotonic)

    def hear(*_: object) -> None:
        if words.is_new():
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, hear)


class Stopping:
    """How the controller is told to stop: the first time it comes to an orderly end, and the second
    time, a second later or more, to an immediate one. Made in the task that it is about.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.received: list[int] = []
        self._task = asyncio.current_task()
        self._words = Words(asyncio.get_running_loop().time)

    def tell(self, number: int) -> None:
        if not self._words.is_new():
            return
        self.received.append(number)
        structlog.get_logger().info("stop requested", signal=signal.Signals(number).name)
        self.event.set()
        if len(self.received) > 1 and self._task is not None:
            self._task.cancel()

    def hear_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.tell, number)
