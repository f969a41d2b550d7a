"""What lies between a browser and a server, and can be cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    def __init__(self, url: str) -> None:
        to = urlsplit(url)
        assert to.hostname is not None
        self._to = (to.hostname, to.port)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._passing: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """All that is open breaks off, and nobody is let in."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for each in tuple(self._open):
            each.transport.abort()
        if self._passing:
            await asyncio.wait(self._passing)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        there, back = await asyncio.open_connection(*self._to)
        both = {writer, back}
        self._open |= both
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            self._open -= both
            self._passing.discard(task)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@asynccontextmanager
async def relay(url: str) -> AsyncIterator[Relay]:
    between = Relay(url)
    await between.mend()
    try:
        yield between
    finally:
        await between.cut()
