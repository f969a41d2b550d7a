"""Accepts connections, and can leave new ones without a word."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Self

from testbed.faultproxy.waiting import Tasks
from testbed.sockets import Sockets


class Listener:
    """A listening socket whose accepted connections wait at a gate.

    asyncio's own server would shake hands at once; behind a dead network path not even the TLS
    handshake is answered.
    """

    def __init__(
        self,
        protocol: Callable[[], asyncio.Protocol],
        serving_ssl: ssl.SSLContext | None,
        gate: asyncio.Event,
        sockets: Sockets,
    ) -> None:
        self._protocol = protocol
        self._ssl = serving_ssl
        self._gate = gate
        self._sockets = sockets
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setblocking(False)  # noqa: FBT003 (the socket module's interface)
        self._greetings = Tasks()
        self._ungreeted: set[socket.socket] = set()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().add_reader(self._socket, self._accept)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self.cut_ungreeted()
        await self._greetings.end()

    def cut_ungreeted(self) -> None:
        """Close the connections that have no protocol yet."""
        self._greetings.cancel()
        for connection in self._ungreeted:
            connection.close()
        self._ungreeted.clear()

    def _accept(self) -> None:
        # Not loop.sock_accept, which loses the connection that it is given while it is cancelled.
        with contextlib.suppress(OSError):  # the client has left meanwhile
            connection, _ = self._socket.accept()
            connection.setblocking(False)  # noqa: FBT003 (the socket module's interface)
            self._sockets.add(connection)
            self._ungreeted.add(connection)
            self._greetings.start(self._greet(connection))

    async def _greet(self, connection: socket.socket) -> None:
        await self._gate.wait()
        self._ungreeted.discard(connection)
        # A client that leaves or distrusts our certificate is no concern of the proxy.
        with contextlib.suppress(OSError):
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(self._protocol, connection, ssl=self._ssl)
