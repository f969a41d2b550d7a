"""etcd itself, past the API server: to fill a cluster fast, and to cause many changes cheaply.

Speaks JSON to etcd's own gateway, which needs no gRPC; what it costs is base64.
"""

import asyncio
import base64
import binascii
import io
import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp


class Etcd:
    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def get(self, key: str) -> bytes:
        found = await self._call("range", json.dumps({"key": _encoded(key)}).encode())
        if not found.get("kvs"):
            raise KeyError(key)
        return base64.b64decode(found["kvs"][0]["value"])

    async def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            await self._call("deleterange", json.dumps({"key": _encoded(key)}).encode())

    async def put(self, values: Mapping[str, bytes]) -> None:
        """All of them in one transaction, so with one revision: not while somebody watches."""
        puts = [b'{"requestPut":%s}' % _put(key, value) for key, value in values.items()]
        await self._call("txn", b'{"success":[%s]}' % b",".join(puts))

    async def _call(self, what: str, body: bytes) -> dict[str, Any]:
        assert self._session is not None
        async with self._session.post(f"{self._url}/v3/kv/{what}", data=io.BytesIO(body)) as answer:
            found: dict[str, Any] = await answer.json()
            if answer.status != 200:  # noqa: PLR2004
                raise OSError(f"etcd: {found}")
            return found


class Stream:
    """Many puts on their way at once, in order, each with a revision of its own.

    As the API server would write them: a watch that is cut between two changes of one revision
    could not be resumed without a loss. One connection without a client library between, for
    whoever causes a thousand changes a second must not cost more than who looks at them.
    """

    def __init__(self, url: str) -> None:
        self._host, _, self._port = url.removeprefix("http://").partition(":")
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer:
            self._writer.close()
            await self._writer.wait_closed()

    async def put(self, values: Iterable[tuple[str, bytes]]) -> int:
        """Returns when all of them are stored: how many."""
        assert self._writer is not None
        bodies = [_put(key, value) for key, value in values]
        for body in bodies:
            self._writer.write(
                b"POST /v3/kv/put HTTP/1.1\r\nHost: etcd\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )
        await self._writer.drain()
        for _ in bodies:
            await self._read_answer()
        return len(bodies)

    async def _read_answer(self) -> None:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, _, rest = head.partition(b"\r\ncontent-length:")
        body = await self._reader.readexactly(int(rest.split(b"\r\n", 1)[0]))
        if not head.startswith(b"http/1.1 200 "):
            raise OSError(f"etcd: {body.decode()}")


def _put(key: str, value: bytes) -> bytes:
    # By hand, because json.dumps would look at each of the many characters.
    encoded = binascii.b2a_base64(value, newline=False)
    return b'{"key":"%s","value":"%s"}' % (_encoded(key).encode(), encoded)


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()
