"""One request on its way through the proxy: `Steps` over HTTP."""

import asyncio
import contextlib
import io
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import NoReturn

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from testbed.faultproxy.request import Request
from testbed.faultproxy.steps import Chunks, Cut, Edit
from testbed.faultproxy.waiting import Pulse, Tasks
from testbed.sockets import Sockets

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_ADDED_BY_CLIENT = (hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE, hdrs.USER_AGENT)
_ADDED_BY_SERVER = (hdrs.CONTENT_TYPE, hdrs.DATE, hdrs.SERVER)
_PROTOBUF_WATCH = "application/vnd.kubernetes.protobuf;stream=watch"


class Reply(web.StreamResponse):
    def __init__(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        super().__init__(status=status, reason=reason, headers=headers)
        self.given = frozenset(name.lower() for name in headers)


async def remove_added_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Undo what aiohttp adds of its own before it sends the headers."""
    if isinstance(response, Reply):
        for name in _ADDED_BY_SERVER:
            if name.lower() not in response.given:
                response.headers.pop(name, None)


class Upstream:
    """The API server; every request is sent exactly once."""

    def __init__(self, url: str, upstream_ssl: ssl.SSLContext | None, sockets: Sockets) -> None:
        self._url = url.rstrip("/")
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=upstream_ssl or True, limit=0, socket_factory=sockets.make
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_ADDED_BY_CLIENT,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        # aiohttp repeats GET, PUT and DELETE by itself when the connection is closed unanswered.
        self.session._retry_connection = False  # noqa: SLF001 (no public switch for it)

    def ask(
        self, request: Request, headers: Mapping[str, str]
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self.session.request(
            request.method,
            URL(self._url + request.target, encoded=True),
            headers=headers,
            data=io.BytesIO(request.body) if request.body else None,  # large bytes make it warn
            allow_redirects=False,
        )


@dataclass(frozen=True)
class Surroundings:
    """What all exchanges share."""

    upstream: Upstream
    gate: asyncio.Event  # shut while the proxy is frozen
    pulse: Pulse  # beats when a request arrives, is answered or comes to its end
    background: Tasks  # work that outlives its request


class Exchange:
    def __init__(self, request: Request, incoming: web.Request, surroundings: Surroundings) -> None:
        self.request = request
        self.reply: Reply | None = None
        self._incoming = incoming
        self._shared = surroundings
        self._edits: list[Edit] = []

    def edit_stream(self, edit: Edit) -> None:
        self._edits.append(edit)

    async def forward(self) -> None:
        async with self._ask() as answer:
            headers = _end_to_end(answer.headers)
            if self._edits:
                headers.popall(hdrs.CONTENT_LENGTH, None)  # the edits may change it
            await self._begin_reply(answer.status, answer.reason, headers)
            async with contextlib.AsyncExitStack() as stages:
                chunks = await stages.enter_async_context(contextlib.aclosing(_chunks(answer)))
                pieces = _frames if _is_framed(answer) else _lines
                for step in (pieces, *self._edits) if self._edits else ():
                    chunks = await stages.enter_async_context(contextlib.aclosing(step(chunks)))
                async for chunk in chunks:
                    await self._send(chunk)

    async def fetch(self) -> None:
        async with self._ask() as answer:
            await answer.read()

    def fetch_later(self, seconds: float) -> None:
        async def deliver() -> None:
            await asyncio.sleep(seconds)
            try:
                await self.fetch()
            except (aiohttp.ClientError, OSError) as error:
                self.request.outcome.error = repr(error)
                self._shared.pulse.beat()

        self._shared.background.start(deliver())

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        own_headers = CIMultiDict(headers)
        own_headers[hdrs.CONTENT_LENGTH] = str(len(body))
        await self._begin_reply(status, None, own_headers)
        await self._send(body)

    def cut(self) -> NoReturn:
        raise Cut

    async def hang(self) -> NoReturn:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody completes this future")

    @contextlib.asynccontextmanager
    async def _ask(self) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        headers = _end_to_end(self._incoming.headers)
        async with self._shared.upstream.ask(self.request, headers) as answer:
            self.request.outcome.upstream_status = answer.status
            self._shared.pulse.beat()
            yield answer

    async def _begin_reply(
        self, status: int, reason: str | None, headers: CIMultiDict[str]
    ) -> None:
        await self._shared.gate.wait()
        self.reply = Reply(status, reason, headers)
        await self.reply.prepare(self._incoming)
        self.request.outcome.status = status
        self._shared.pulse.beat()

    async def _send(self, chunk: bytes) -> None:
        assert self.reply is not None
        await self._shared.gate.wait()
        await self.reply.write(chunk)


async def _chunks(answer: aiohttp.ClientResponse) -> Chunks:
    async for chunk in answer.content.iter_any():
        yield chunk


async def _lines(chunks: Chunks) -> Chunks:
    # Not StreamReader.readline, which refuses the line of a large object.
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def _is_framed(answer: aiohttp.ClientResponse) -> bool:
    return answer.headers.get(hdrs.CONTENT_TYPE, "") == _PROTOBUF_WATCH


async def _frames(chunks: Chunks) -> Chunks:
    rest = b""
    async for chunk in chunks:
        rest += chunk
        while len(rest) >= 4 and len(rest) >= (size := 4 + int.from_bytes(rest[:4])):  # noqa: PLR2004
            yield rest[:size]
            rest = rest[size:]
    if rest:
        yield rest


def _end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    named_by_sender = headers.get(hdrs.CONNECTION, "").lower().replace(",", " ").split()
    dropped = _HOP_BY_HOP.union(named_by_sender)
    return CIMultiDict(
        (name, value) for name, value in headers.items() if name.lower() not in dropped
    )
