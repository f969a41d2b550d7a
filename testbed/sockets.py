"""Every socket of a client or a proxy, from its birth to its end."""

import asyncio
import contextlib
import socket
from typing import Any

_CLOSING_SECONDS = 5.0


class Sockets:
    """None of them outlives its owner, whatever became of the tasks and transports that used it.

    Left to themselves, aiohttp and asyncio keep a connection open that was given up until the
    server, too, has taken leave by the rules of TLS, which a busy one does late; and for good if a
    task is cancelled in the instant before its handshake begins.
    """

    def __init__(self) -> None:
        self._all: set[socket.socket] = set()

    def add(self, each: socket.socket) -> None:
        self._all = {known for known in self._all if _is_open(known)} | {each}

    def make(self, address: tuple[Any, ...]) -> socket.socket:
        """For a connection of our own to `address`, as socket.getaddrinfo gives it."""
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self.add(made)
        return made

    async def end(self) -> None:
        """Their transports find them at their end and close them, which takes some turns."""
        for each in filter(_is_open, self._all):
            with contextlib.suppress(OSError):  # it never was connected, or is so no longer
                each.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                while any(map(_is_open, self._all)):  # noqa: ASYNC110 (a socket tells nobody)
                    await asyncio.sleep(0)
        for each in self._all:
            each.close()


def _is_open(each: socket.socket) -> bool:
    return each.fileno() != -1
