"""What a client may cost: a connection is for one request, short, small and soon over.

aiohttp's server waits for ever for a request that trickles in. Here every connection has a time
within which it is done, and of many that wait the oldest makes room for the newest: so whoever
holds thousands of them open keeps nobody else from his answer.
"""

import asyncio
from collections.abc import Callable
from typing import Final

MOST_CONNECTIONS: Final = 128
MOST_BYTES: Final = 2**15
"""Of a request, all in all: probes and scrapes have a few hundred."""


class Connections:
    """Those that are open, the oldest first."""

    def __init__(self, seconds: float, most: int = MOST_CONNECTIONS) -> None:
        self.seconds = seconds
        self._most = most
        self._open: dict[Guarded, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "Guarded") -> None:
        while len(self._open) >= self._most:
            next(iter(self._open)).abort()
        self._open[connection] = None

    def remove(self, connection: "Guarded") -> None:
        self._open.pop(connection, None)

    def abort_all(self) -> None:
        for each in list(self._open):
            each.abort()


class Guarded(asyncio.Protocol):
    """Passes on to `inner`, as long as the client keeps within its limits."""

    def __init__(self, connections: Connections, inner: Callable[[], asyncio.Protocol]) -> None:
        self._connections = connections
        self._inner = inner()
        self._left = MOST_BYTES
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.TimerHandle | None = None

    def abort(self) -> None:
        """Nothing of it is kept, not even what the client has not yet fetched."""
        self._connections.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server has no other
        self._transport = transport
        self._connections.add(self)
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(self._connections.seconds, self.abort)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self.abort()
        else:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end is not None:
            self._end.cancel()
        self._connections.remove(self)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
