"""All ports that a process has open, as its configuration says."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from rescheduler.config import Serving
from rescheduler.serve import profiling
from rescheduler.serve.answering import endpoints
from rescheduler.serve.board import Board
from rescheduler.serve.listening import Door, listening


@contextmanager
def serving(settings: Serving, board: Board) -> Iterator[None]:
    """As long as the block lasts. Raises CannotListen at once when a port is not to be had."""
    with listening(list(_doors(settings, board))) as addresses:
        for host, port in addresses:
            structlog.get_logger().info("server listening", address=host, port=port)
        yield


def _doors(settings: Serving, board: Board) -> Iterator[Door]:
    if settings.port:
        yield Door(
            setting="serving.port",
            address=settings.bind_address,
            port=settings.port,
            answers=endpoints(board),
        )
    if settings.debug_port:
        yield Door(
            setting="serving.debugPort",
            address="127.0.0.1",
            port=settings.debug_port,
            answers=profiling.endpoints(),
            seconds=profiling.REQUEST_SECONDS,
        )
