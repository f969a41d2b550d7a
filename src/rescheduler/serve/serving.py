"""All ports that a process has open, as its configuration says."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

import structlog

from rescheduler.config import Extender, Serving
from rescheduler.serve import extender, profiling
from rescheduler.serve.answering import QUESTIONS, endpoints
from rescheduler.serve.board import Board
from rescheduler.serve.extender import Bind, formats
from rescheduler.serve.listening import Door, listening
from rescheduler.serve.tls import context_of

_EXTENDER_SECONDS: Final = 10.0
"""Twice what a kube-scheduler waits by default."""
_KEPT_SECONDS: Final = 120.0
"""Longer than Go keeps a connection that it does not use: then it is never ours that is closed just
when a request comes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerDoor:
    """Where a scheduler asks, and what it may ask."""

    settings: Extender
    verbs: Sequence[str]
    bind: Bind | None = None
    beside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """What is open as long as that is: a connection to bind by."""


@contextmanager
def serving(
    settings: Serving, board: Board, scheduler: SchedulerDoor | None = None
) -> Iterator[None]:
    """As long as the block lasts. Raises CannotListen at once when a port is not to be had."""
    with listening(list(_doors(settings, board, scheduler))) as addresses:
        for host, port in addresses:
            structlog.get_logger().info("server listening", address=host, port=port)
        yield


def _doors(settings: Serving, board: Board, scheduler: SchedulerDoor | None) -> Iterator[Door]:
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
    if scheduler is not None:
        yield extender_door(board, scheduler)


def extender_door(board: Board, scheduler: SchedulerDoor) -> Door:
    settings = scheduler.settings
    return Door(
        setting="extender.port",
        address=settings.bind_address,
        port=settings.port,
        answers=extender.endpoints(board, scheduler.verbs, scheduler.bind),
        methods=QUESTIONS,
        seconds=_EXTENDER_SECONDS,
        most_bytes=formats.MOST_BYTES,
        idle_seconds=_KEPT_SECONDS,
        tls=context_of(settings.tls),
        beside=scheduler.beside,
    )
