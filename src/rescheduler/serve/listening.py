"""One thread that listens, with an event loop of its own: no decoding and no plan delays it."""

import asyncio
import concurrent.futures
import errno
import logging
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Final

import structlog
from aiohttp import web

from rescheduler.errors import ReschedulerError
from rescheduler.serve.answering import READS, Answer, dispatching
from rescheduler.serve.guarding import MOST_BYTES, MOST_CONNECTIONS, Connections, Guarded, Limits

REQUEST_SECONDS: Final = 10.0
"""From the opening of a connection to the last byte of its answer: as long as a scrape may take."""
_MOST_HEADERS: Final = 64
_LONGEST_LINE: Final = 4096
_STARTING_SECONDS: Final = 30.0
_HANDSHAKE_SECONDS: Final = 5.0
_TURNS: Final = 4
_TURNS_OF_AN_ANSWER: Final = 8
"""Of the event loop, at most, from when a connection is let in until a request that has come whole
is answered. In each of them so few are let in that all who come meanwhile have room beside it.
"""
_SWITCH_SECONDS: Final = 0.00005
"""After which whoever computes lets our thread have the interpreter. By default that is 5 ms, and a
request waits for it a dozen times: when it comes, whenever its bytes are waited for, and after each
step of numpy over thousands of nodes. Two threads that compute are no slower by it.
"""

# aiohttp tells every malformed request: whoever sends them should not fill our log.
_SILENT: Final = logging.getLogger("rescheduler.serve")
_SILENT.disabled = True


class CannotListen(ReschedulerError):
    """The message names the setting, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One port, and what is answered there."""

    setting: str
    """By which its port is set."""
    address: str
    """Empty: all."""
    port: int
    """0: any that is free, for tests."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    methods: Sequence[str] = READS
    seconds: float = REQUEST_SECONDS
    most_bytes: int = MOST_BYTES
    most_connections: int = MOST_CONNECTIONS
    idle_seconds: float = 0.0
    """For which a connection is kept for the next request; 0: it is not."""
    tls: ssl.SSLContext | None = None
    """None: plain HTTP."""
    dispatch: Callable[[Connections], Answer] | None = None
    """Who finds the answer to a request; None: whoever goes by `answers` and `methods` alone."""
    beside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """What is open as long as it is, in the same event loop."""


@contextmanager
def listening(doors: Sequence[Door]) -> Iterator[list[tuple[str, int]]]:
    """As long as the block lasts; gives the address of each door.

    Raises:
        CannotListen: a port is taken, or the address is not one of this machine.
    """
    if not doors:
        yield []
        return
    started: concurrent.futures.Future[tuple[list[tuple[str, int]], Callable[[], None]]]
    started = concurrent.futures.Future()
    # A process that is to die must not wait for it.
    thread = threading.Thread(target=_run, args=(doors, started), name="serve", daemon=True)
    thread.start()
    try:
        addresses, stop = started.result(_STARTING_SECONDS)
    except CannotListen:
        thread.join()
        raise
    try:
        with _having_turns_soon():
            yield addresses
    finally:
        stop()
        thread.join(_STARTING_SECONDS)


@contextmanager
def _having_turns_soon() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _run(
    doors: Sequence[Door],
    started: "concurrent.futures.Future[tuple[list[tuple[str, int]], Callable[[], None]]]",
) -> None:
    async def serve() -> None:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            found = [await stack.enter_async_context(_open(door)) for door in doors]
            started.set_result((found, lambda: _tell(loop, stopping)))
            await stopping.wait()

    try:
        asyncio.run(serve())
    except Exception as problem:  # noqa: BLE001 - whoever waits for the start has to hear of it
        if started.done():
            structlog.get_logger().exception("serving has ended: internal error, please report")
        else:
            started.set_exception(problem)


def _tell(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(stopping.set)


@asynccontextmanager
async def _open(door: Door) -> AsyncIterator[tuple[str, int]]:
    limits = Limits(
        seconds=door.seconds, most_bytes=door.most_bytes, idle_seconds=door.idle_seconds
    )
    connections = Connections(limits, door.most_connections)
    server = web.Server(
        _dispatch(door, connections),
        keepalive_timeout=door.idle_seconds,
        logger=_SILENT,
        access_log=None,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        max_headers=_MOST_HEADERS,
        lingering_time=0.0,
        auto_decompress=False,
    )
    loop = asyncio.get_running_loop()
    try:
        listener = await loop.create_server(
            lambda: Guarded(connections, server),
            door.address or None,
            door.port,
            backlog=max(door.most_connections // _TURNS_OF_AN_ANSWER, 1),
            ssl=door.tls,
            ssl_handshake_timeout=_HANDSHAKE_SECONDS if door.tls else None,
        )
    except OSError as problem:
        raise CannotListen(_why_not(door, problem)) from problem
    _let_many_wait(listener, door.most_connections)
    try:
        host, port, *_ = listener.sockets[0].getsockname()
        async with door.beside():
            yield host, port
    finally:
        listener.close()
        await _turns()
        connections.abort_all()
        await _turns()
        await server.shutdown(0.0)
        await listener.wait_closed()


def _dispatch(door: Door, connections: Connections) -> Answer:
    if door.dispatch is not None:
        return door.dispatch(connections)
    keep = (lambda request: connections.answered(request.protocol)) if door.idle_seconds else None
    return dispatching(door.answers, door.methods, keep)


def _let_many_wait(listener: asyncio.Server, most: int) -> None:
    """To asyncio the backlog is also how many are let in at once: these may be few, and those whom
    the kernel has wait for their turn many.
    """
    for each in listener.sockets:
        with each.dup() as ours:
            ours.listen(most)


async def _turns() -> None:
    """Of the event loop: so many it takes until whoever was let in last is known, and until whoever
    was hung up on is gone.
    """
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _why_not(door: Door, problem: OSError) -> str:
    where = f"{door.address or '*'}:{door.port}"
    if problem.errno == errno.EADDRINUSE:
        return (
            f"cannot listen on {where}: the port is taken, perhaps by another rescheduler on this "
            f"machine; set {door.setting} to another port, or to 0 to listen nowhere"
        )
    words = problem.strerror or str(problem)
    return f"cannot listen on {where}: {words}; check serving.bindAddress and {door.setting}"
