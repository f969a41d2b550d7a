"""`FaultProxy` without a proxy: the same rules and faults, between the product and the embedded
cluster, where a real one has a network.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NoReturn

from rescheduler.embedded.client import Call
from rescheduler.kube import errors
from testbed.faultproxy.planting import Faults
from testbed.faultproxy.request import NOTES, Outcome, Request
from testbed.faultproxy.rule import Engagement
from testbed.faultproxy.steps import Cut, Edit
from testbed.faultproxy.waiting import Pulse, Tasks

_REQUEST_SECONDS: Final = 30.0
"""After which `kube.transport` gives a request up that nobody answers."""
_SILENCE_SECONDS: Final = 55.0
"""After which `kube.following` gives up a watch that tells nothing."""

Stream = AsyncGenerator[Any, None]
GoOn = Callable[[], Awaitable[Any]]


class EmbeddedFaults(Faults):
    """All clients of the product go through it, as long as it is there."""

    def __init__(self) -> None:
        super().__init__()
        self._writes = 0
        self._gate = asyncio.Event()
        self._gate.set()
        self._cut = asyncio.Event()
        self._background = Tasks()

    async def end(self) -> None:
        self.cut_all()
        await self._background.end()

    def cut_all(self) -> None:
        self._cut.set()
        self._cut = asyncio.Event()

    def freeze(self) -> None:
        self._gate.clear()

    def thaw(self) -> None:
        self._gate.set()

    async def around(self, call: Call, go_on: GoOn) -> Any:  # noqa: ANN401 - as the call answers
        request = self._record(call)
        exchange = EmbeddedExchange(request, go_on, self._gate, self._pulse, self._background)
        try:
            return await self._unless_cut(self._carry_out(exchange, call))
        except Cut:
            raise errors.Unavailable(f"{request.method}: ServerDisconnectedError") from None
        finally:
            self._pulse.beat()

    async def _carry_out(self, exchange: "EmbeddedExchange", call: Call) -> Any:  # noqa: ANN401
        await self._gate.wait()
        engagements = self._engage(exchange.request)
        is_settled = False
        try:
            for engagement in engagements:
                await engagement.rule.fault.act(exchange, engagement.strike)
                is_settled = engagement.rule.fault.final
            assert not is_settled, "a final fault answers, or cuts"
            answer = await exchange.forward()
            if isinstance(answer, AsyncGenerator):
                return exchange.edited(answer, self._cut, engagements)
            return answer
        finally:
            if call.verb != "watch":
                for engagement in engagements:
                    engagement.release()

    async def _unless_cut(self, work: Awaitable[Any]) -> Any:  # noqa: ANN401
        doing = asyncio.ensure_future(work)
        cutting = asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait([doing, cutting], return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise Cut
            return doing.result()
        finally:
            for task in (doing, cutting):
                task.cancel()
            await asyncio.gather(doing, cutting, return_exceptions=True)

    def _record(self, call: Call) -> Request:
        is_write = call.write and call.resource not in NOTES
        self._writes += is_write
        request = Request(
            verb=call.verb,
            group=call.group,
            resource=call.resource,
            subresource=call.subresource,
            namespace=call.namespace,
            name=call.name,
            number=len(self.requests) + 1,
            write_number=self._writes if is_write else None,
            time=asyncio.get_running_loop().time(),
            method=call.verb,
            target="",
            dry_run=call.dry_run,
            body=json.dumps(call.body or {}).encode(),
        )
        self.requests.append(request)
        self._pulse.beat()
        return request


class EmbeddedExchange:
    """`Steps` on one call of a client."""

    def __init__(
        self,
        request: Request,
        go_on: GoOn,
        gate: asyncio.Event,
        pulse: Pulse,
        background: Tasks,
    ) -> None:
        self.request = request
        self._go_on = go_on
        self._gate = gate
        self._pulse = pulse
        self._background = background
        self._edits: list[Edit] = []

    @property
    def _outcome(self) -> Outcome:
        return self.request.outcome

    def edit_stream(self, edit: Edit) -> None:
        self._edits.append(edit)

    async def forward(self) -> Any:  # noqa: ANN401 - as the call answers
        try:
            answer = await self._ask()
        except errors.KubeError as problem:
            await self._gate.wait()
            self._outcome.status = problem.status
            raise
        await self._gate.wait()
        self._outcome.status = self._outcome.upstream_status
        self._pulse.beat()
        return answer

    async def fetch(self) -> None:
        """Lets the API server act, and keeps the answer from the client."""
        try:
            answer = await self._ask()
        except errors.KubeError:
            return
        if self.request.verb == "watch":
            await answer.aclose()

    async def _ask(self) -> Any:  # noqa: ANN401 - as the call answers
        try:
            answer = await self._go_on()
        except errors.KubeError as problem:
            self._outcome.upstream_status = problem.status
            raise
        else:
            is_new = self.request.verb == "create"
            self._outcome.upstream_status = 201 if is_new else 200
            return answer
        finally:
            self._pulse.beat()

    def fetch_later(self, seconds: float) -> None:
        async def deliver() -> None:
            await asyncio.sleep(seconds)
            await self.fetch()

        self._background.start(deliver())

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> NoReturn:
        """In the API server's place: an error, as the product's client names it."""
        await self._gate.wait()
        self._outcome.status = status
        self._pulse.beat()
        raise errors.from_answer(status, headers, body)

    def cut(self) -> NoReturn:
        raise Cut

    async def hang(self) -> NoReturn:
        """Until the client has had enough of it."""
        is_watch = self.request.verb == "watch"
        await asyncio.sleep(_SILENCE_SECONDS if is_watch else _REQUEST_SECONDS)
        raise errors.Unavailable("TimeoutError")

    # ------------------------------------------------------------------ streams

    async def edited(
        self, stream: Stream, cut: asyncio.Event, engagements: Sequence[Engagement]
    ) -> Stream:
        chunks: Any = stream
        for edit in self._edits:
            chunks = edit(chunks)
        try:
            async with aclosing(stream), aclosing(chunks):
                while (item := await self._next(chunks, cut)) is not _END:
                    await self._gate.wait()
                    if self.request.verb == "watch" and isinstance(item, bytes):
                        _raise_injected(item)
                    yield item
        except Cut:
            raise errors.Unavailable("watch: ClientPayloadError") from None
        finally:
            for engagement in engagements:
                engagement.release()
            self._pulse.beat()

    async def _next(self, chunks: Stream, cut: asyncio.Event) -> Any:  # noqa: ANN401
        coming = asyncio.ensure_future(anext(chunks, _END))
        cutting = asyncio.ensure_future(cut.wait())
        try:
            # A server ends a watch in time. One that is kept from saying so is given up later.
            patience = _SILENCE_SECONDS if self._edits else None
            await asyncio.wait(
                [coming, cutting], timeout=patience, return_when=asyncio.FIRST_COMPLETED
            )
            if coming.done():
                return coming.result()
            if cutting.done():
                raise Cut
            raise errors.Unavailable("watch: SocketTimeoutError")
        finally:
            for task in (coming, cutting):
                task.cancel()
            await asyncio.gather(coming, cutting, return_exceptions=True)


_END: Final = object()


def _raise_injected(line: bytes) -> None:
    """Only errors are injected; everything else would have to be what the client tells."""
    event = json.loads(line)
    assert event["type"] == "ERROR", event
    raise errors.from_event(event["object"])
