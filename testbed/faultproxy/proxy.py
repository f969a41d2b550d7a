"""The proxy itself: receives, records, lets the rules act, forwards."""

import asyncio
import contextlib
import ssl
import time
from typing import Self

import aiohttp
from aiohttp import web

from testbed.faultproxy.exchange import Exchange, Surroundings, Upstream, remove_added_headers
from testbed.faultproxy.listener import Listener
from testbed.faultproxy.planting import Faults
from testbed.faultproxy.request import RequestCounter
from testbed.faultproxy.rule import Engagement
from testbed.faultproxy.steps import Cut
from testbed.faultproxy.waiting import Tasks
from testbed.sockets import Sockets

_CLOSING_SECONDS = 5.0


class FaultProxy(Faults):
    """A reverse proxy on a free port of 127.0.0.1, speaking HTTP/1.1.

    A client certificate ends here; only what is in the headers (a bearer token) reaches the API
    server, beside the client certificate that `upstream_ssl` may hold. When the API server is
    away, the client finds its connection closed.
    """

    def __init__(
        self,
        upstream: str,
        *,
        upstream_ssl: ssl.SSLContext | None,
        serving_ssl: ssl.SSLContext | None,
    ) -> None:
        super().__init__()
        self._upstream_address = (upstream, upstream_ssl)
        self._serving_ssl = serving_ssl
        self._counter = RequestCounter()
        self._gate = asyncio.Event()
        self._gate.set()
        self._background = Tasks()
        self._closing = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            sockets = Sockets()
            stack.push_async_callback(sockets.end)
            upstream = Upstream(*self._upstream_address, sockets)
            await stack.enter_async_context(upstream.session)
            self._shared = Surroundings(upstream, self._gate, self._pulse, self._background)
            self._server = await self._start_server(stack)
            self._listener = Listener(self._server, self._serving_ssl, self._gate, sockets)
            stack.push_async_callback(self._end_connections)
            await stack.enter_async_context(self._listener)
            self._closing = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    @property
    def url(self) -> str:
        scheme = "https" if self._serving_ssl else "http"
        return f"{scheme}://127.0.0.1:{self._listener.port}"

    def cut_all(self) -> None:
        self._listener.cut_ungreeted()
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    def freeze(self) -> None:
        self._gate.clear()

    def thaw(self) -> None:
        self._gate.set()

    async def _start_server(self, stack: contextlib.AsyncExitStack) -> web.Server:
        application = web.Application(client_max_size=0)  # the limit is the API server's business
        application.router.add_route("*", "/{path:.*}", self._handle)
        application.on_response_prepare.append(remove_added_headers)
        runner = web.AppRunner(
            application,
            access_log=None,
            auto_decompress=False,
            handler_cancellation=True,  # a client that leaves a watch ends it upstream too
            shutdown_timeout=_CLOSING_SECONDS,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        assert runner.server is not None
        return runner.server

    async def _end_connections(self) -> None:
        self.cut_all()
        await self._background.end()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        request = self._counter.record(incoming.method, incoming.raw_path, body, time.time())
        self.requests.append(request)
        self._pulse.beat()
        exchange = Exchange(request, incoming, self._shared)
        await self._carry_out(exchange, incoming)
        # After a cut this goes nowhere: the transport is closed.
        return exchange.reply or web.Response()

    async def _carry_out(self, exchange: Exchange, incoming: web.Request) -> None:
        engagements: list[Engagement] = []
        try:
            await self._gate.wait()
            engagements = self._engage(exchange.request)
            await _run(exchange, engagements)
        except (Cut, aiohttp.ClientError, OSError) as error:
            if not isinstance(error, Cut):
                exchange.request.outcome.error = repr(error)
            if incoming.transport is not None:
                incoming.transport.abort()
        finally:
            for engagement in engagements:
                engagement.release()
            self._pulse.beat()


async def _run(exchange: Exchange, engagements: list[Engagement]) -> None:
    for engagement in engagements:
        await engagement.rule.fault.act(exchange, engagement.strike)
    if not (engagements and engagements[-1].rule.fault.final):
        await exchange.forward()
