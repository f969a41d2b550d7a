"""The connection of a client to the API server: what is asked is counted and noted, time passes,
and whoever stands around may interfere.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from rescheduler.embedded.client.calls import Around, Call
from rescheduler.kube import errors
from rescheduler.wire import Resource

T = TypeVar("T")

_READS: Final = ("get", "list", "watch")
_KEPT_CALLS: Final = 10_000
"""A simulated week has many more, and nobody asks for the first of them then."""
_LATENCY_SECONDS: Final = (0.001, 0.005)
"""Until what is asked takes effect, and again until it is answered, at least and at most."""
_OK: Final = 200
_CREATED: Final = 201

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class Connection:
    def __init__(
        self,
        chance: random.Random,
        *,
        name: str,
        around: Around | None,
    ) -> None:
        self.requests: deque[Call] = deque(maxlen=_KEPT_CALLS)
        self._chance = chance
        self._name = name
        self._around = around
        self._calls = 0
        self._is_severed = False

    def sever(self) -> None:
        self._is_severed = True

    def check(self) -> None:
        if self._is_severed:
            who = self._name or "this client"
            raise errors.Unavailable(f"{who} was cut off from the cluster")

    async def pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(*_LATENCY_SECONDS))

    def call(  # noqa: PLR0913 - as many as a request has parts
        self,
        verb: str,
        resource: Resource,
        *,
        namespace: str = "",
        name: str = "",
        body: Mapping[str, Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Call:
        """Counted, and noted."""
        is_write = verb not in _READS and not dry_run
        self._calls += 1
        call = Call(
            verb=verb,
            group=resource.group_version.rpartition("/")[0],
            resource=resource.plural,
            subresource=subresource,
            namespace=namespace,
            name=name,
            # As it is now, whatever the client does with it later.
            body=None if body is None else dict(_decode(_encode(body))),
            dry_run=dry_run,
            write=is_write,
            number=self._calls,
        )
        self.requests.append(call)
        return call

    async def ask(self, call: Call, act: Callable[[], T], *, is_stream: bool = False) -> T:
        """`act` is what the server does, at once. Of a stream, the answer is what opens it."""
        if self._is_severed:
            # Who asks for ever must not do so without time passing.
            await self.pause()
        self.check()

        async def carry_out() -> T:
            await self.pause()
            self.check()
            answer = _noted(call, act)
            if not is_stream:
                await self.pause()
                self.check()
            return answer

        if self._around is None:
            return await carry_out()
        try:
            return await self._around(call, carry_out)  # type: ignore[no-any-return]
        except errors.KubeError as problem:
            # One who answers in the server's place; what it answered itself stands.
            if call.code is None:
                call.code = problem.status or None
            raise


def _noted(call: Call, act: Callable[[], T]) -> T:
    try:
        answer = act()
    except errors.KubeError as problem:
        call.code = problem.status or None
        raise
    call.code = _CREATED if call.verb == "create" else _OK
    return answer
