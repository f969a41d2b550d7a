"""All ports that a process has open, as its configuration says."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

import structlog

from rescheduler.config import Extender, Guard, Serving
from rescheduler.serve import extender, guard, profiling
from rescheduler.serve.answering import QUESTIONS, endpoints
from rescheduler.serve.board import Board
from rescheduler.serve.dashboard.door import Dashboard, DashboardDoor
from rescheduler.serve.extender import Bind, formats
from rescheduler.serve.guard import Hears
from rescheduler.serve.guard.formats import MOST_BYTES as MOST_GUARD_BYTES
from rescheduler.serve.listening import CannotListen, Door, listening
from rescheduler.serve.tls import Shown, context_of

_EXTENDER_SECONDS: Final = 10.0
"""Twice what a kube-scheduler waits by default."""
_GUARD_SECONDS: Final = 5.0
"""The API server waits for 2, by our manifests."""
_GUARD_CONNECTIONS: Final = 2048
"""An API server opens one for each eviction that waits for its answer, and lets 600 requests in at
a time by default. Whoever is hung up on to make room for another evicts without us.
"""
_PEOPLE_SECONDS: Final = 60.0
"""A curve is a plan for each of its points, and a large cluster is long to send to a far reader."""
_PEOPLE_CONNECTIONS: Final = 512
_KEPT_SECONDS: Final = 120.0
"""Longer than Go keeps a connection that it does not use: then it is never ours that is closed just
when a request comes.
"""


_WHO_ASKS: Final = "a kube-scheduler asks that runs with what `rescheduler config scheduler` prints"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerDoor:
    """Where a scheduler asks, and what it may ask."""

    settings: Extender
    verbs: Sequence[str]
    bind: Bind | None = None
    shown: Shown | None = None
    """The certificate that is handed in; None: that of the files in the settings, if any."""
    beside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """What is open as long as that is: a connection to bind by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDoor:
    """Where an API server asks about evictions, and who hears of them."""

    settings: Guard
    hears: Hears
    shown: Shown | None = None
    """The certificate that is handed in; None: that of the files in the settings."""


@contextmanager
def serving(
    settings: Serving,
    board: Board,
    scheduler: SchedulerDoor | None = None,
    evictions: GuardDoor | None = None,
    people: DashboardDoor | None = None,
) -> Iterator[None]:
    """As long as the block lasts. Raises CannotListen at once when a port is not to be had."""
    doors = [*_doors(settings, board)]
    if scheduler is not None:
        doors.append(extender_door(board, scheduler))
    if evictions is not None:
        doors.append(guard_door(board, evictions))
    if people is not None:
        doors.append(dashboard_door(people))
    log = structlog.get_logger()
    with listening(doors) as addresses:
        for door, (host, port) in zip(doors, addresses, strict=True):
            log.info("server listening", address=host, port=port, setting=door.setting)
        if scheduler is not None:
            log.info("scheduler answered", verbs=list(scheduler.verbs), hint=_WHO_ASKS)
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
        tls=scheduler.shown.context if scheduler.shown else context_of(settings.tls),
        beside=scheduler.beside,
    )


@contextmanager
def showing_people(people: DashboardDoor, tries: int = 1) -> Iterator[int]:
    """The dashboard alone, as long as the block lasts; gives its port: its own, or the next one
    that is free, of so many. Raises CannotListen.
    """
    door = dashboard_door(people)
    with ExitStack() as stack:
        for number in range(tries):
            try:
                [(_, port)] = stack.enter_context(
                    listening([replace(door, port=door.port + number)])
                )
            except CannotListen:
                if number == tries - 1:
                    raise
            else:
                break
        yield port


def dashboard_door(people: DashboardDoor) -> Door:
    settings, page = people.settings, Dashboard(people)
    return Door(
        setting="dashboard.port",
        address=settings.bind_address,
        port=settings.port,
        seconds=_PEOPLE_SECONDS,
        idle_seconds=_KEPT_SECONDS,
        most_connections=_PEOPLE_CONNECTIONS,
        tls=people.shown.context if people.shown else context_of(settings.tls, "dashboard.tls"),
        dispatch=page.dispatch,
        beside=page.working,
    )


def guard_door(board: Board, evictions: GuardDoor) -> Door:
    settings = evictions.settings
    return Door(
        setting="guard.port",
        address=settings.bind_address,
        port=settings.port,
        answers=guard.endpoints(board, evictions.hears),
        methods=QUESTIONS,
        seconds=_GUARD_SECONDS,
        most_bytes=MOST_GUARD_BYTES,
        most_connections=_GUARD_CONNECTIONS,
        idle_seconds=_KEPT_SECONDS,
        tls=evictions.shown.context if evictions.shown else context_of(settings.tls, "guard.tls"),
    )
