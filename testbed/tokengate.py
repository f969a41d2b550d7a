"""Lets requests with the right bearer token through to a server that knows of no tokens.

As an authenticating proxy stands before Prometheus in many clusters.
"""

import hmac
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web


class TokenGate:
    """Between `async with` and its end it serves at `url`; `token` may be changed meanwhile."""

    def __init__(
        self, upstream: str, token: str, *, serving_ssl: ssl.SSLContext | None = None
    ) -> None:
        self.token = token
        self.url = ""
        self.refused = 0
        """Requests that came without the right token."""
        self._upstream = upstream
        self._ssl = serving_ssl
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._pass)
        self._session = aiohttp.ClientSession(auto_decompress=False)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._ssl)
        await site.start()
        [(_, port)] = self._runner.addresses
        self.url = f"{'https' if self._ssl else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._runner:
            await self._runner.cleanup()
        if self._session:
            await self._session.close()

    async def _pass(self, request: web.Request) -> web.Response:
        assert self._session is not None
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            self.refused += 1
            return web.Response(status=401, text="the token is not the right one")
        headers = _only(request.headers, "Accept", "Accept-Encoding", "Content-Type")
        async with self._session.request(
            request.method,
            self._upstream + request.raw_path,
            headers=headers,
            data=await request.read(),
        ) as answer:
            kept = _only(answer.headers, "Content-Type", "Content-Encoding")
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


def _only(headers: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}
