"""What a client may cost: a request is short, small and soon over.

aiohttp's server waits for ever for a request that trickles in. Here every request has a time within
which it is done, and of many connections the one that was answered longest ago makes room for the
newest: so whoever holds thousands of them open keeps nobody else from his answer, nor those who ask
again and again from their connection. What all of them have sent together is
bounded, too: beyond that, whoever has sent most is hung up on.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_CONNECTIONS: Final = 128
MOST_BYTES: Final = 2**15
"""Of a request, all in all: probes and scrapes have a few hundred."""
_MOST_UNANSWERED_BYTES: Final = 2**26
"""Of all requests together: two of the largest that a scheduler may send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float
    """From the first byte of a request, or the opening of its connection, to the last byte of its
    answer.
    """
    most_bytes: int = MOST_BYTES
    """Of a request, all in all."""
    idle_seconds: float = 0.0
    """For which a connection is kept for the next request; 0: it is closed with its answer."""
    most_unanswered_bytes: int = _MOST_UNANSWERED_BYTES
    """Of all requests that are not answered yet."""


def _nobody() -> None:
    """Who would want to know."""


class Connections:
    """Those that are open. First whoever was let in, or answered, longest ago."""

    def __init__(self, limits: Limits, most: int = MOST_CONNECTIONS) -> None:
        self.limits = limits
        self._most = most
        self._open: dict[asyncio.BaseProtocol, Guarded] = {}
        """By what they pass on to."""
        self._unanswered_bytes = 0
        self._streaming: set[Guarded] = set()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "Guarded") -> None:
        while len(self._open) >= self._most:
            next(iter(self._open.values())).abort()
        self._open[connection.inner] = connection

    def remove(self, connection: "Guarded") -> None:
        self._open.pop(connection.inner, None)
        self._streaming.discard(connection)

    def count(self, size: int) -> None:
        """So many bytes have come; less than none: so many are done with."""
        self._unanswered_bytes += size
        while self._open and self._unanswered_bytes > self.limits.most_unanswered_bytes:
            max(self._open.values(), key=lambda each: each.unanswered_bytes).abort()

    def answered(self, inner: asyncio.BaseProtocol | None) -> None:
        """The connection behind it waits for its next request now."""
        connection = None if inner is None else self._open.pop(inner, None)
        if connection is not None:
            self._open[connection.inner] = connection
            connection.rest()

    def streams(self, inner: asyncio.BaseProtocol | None, ended: Callable[[], None]) -> None:
        """Its answer goes on for as long as whoever gives it sees fit, who hangs up on slow ones,
        and is told when nobody is there any more. It makes room for nobody.
        """
        connection = None if inner is None else self._open.pop(inner, None)
        if connection is None:
            ended()
        else:
            self._streaming.add(connection)
            connection.stream(ended)

    def abort_all(self) -> None:
        for each in [*self._open.values(), *self._streaming]:
            each.abort()


class Guarded(asyncio.Protocol):
    """Passes on to `inner`, as long as the client keeps within its limits."""

    def __init__(self, connections: Connections, inner: Callable[[], asyncio.Protocol]) -> None:
        self._connections = connections
        self.inner = inner()
        self.unanswered_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.TimerHandle | None = None
        self._is_resting = False
        self._ended: Callable[[], None] = _nobody

    def abort(self) -> None:
        """Nothing of it is kept, not even what the client has not yet fetched."""
        self._done_with_request()
        self._connections.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def rest(self) -> None:
        self._is_resting = True
        self._done_with_request()
        self._end_after(self._connections.limits.idle_seconds)

    def stream(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._done_with_request()
        if self._end is not None:
            self._end.cancel()

    def _begin(self) -> None:
        self._is_resting = False
        self._end_after(self._connections.limits.seconds)

    def _done_with_request(self) -> None:
        size, self.unanswered_bytes = self.unanswered_bytes, 0
        self._connections.count(-size)

    def _end_after(self, seconds: float) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(seconds, self.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server has no other
        self._transport = transport
        self._connections.add(self)
        self._begin()
        self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._is_resting:
            self._begin()
        self.unanswered_bytes += len(data)
        self._connections.count(len(data))
        if self.unanswered_bytes > self._connections.limits.most_bytes:
            self.abort()
        elif self._transport is not None and not self._transport.is_closing():
            self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end is not None:
            self._end.cancel()
        self._done_with_request()
        self._connections.remove(self)
        self._ended()
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()
