"""How a command that goes on for long is told to stop."""

import asyncio
import signal

import structlog


class Stopping:
    """How the controller is told to stop: the first time it comes to an orderly end, and the second
    time to an immediate one. Made in the task that it is about.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.received: list[int] = []
        self._task = asyncio.current_task()

    def tell(self, number: int) -> None:
        self.received.append(number)
        structlog.get_logger().info("stop requested", signal=signal.Signals(number).name)
        self.event.set()
        if len(self.received) > 1 and self._task is not None:
            self._task.cancel()

    def hear_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.tell, number)
