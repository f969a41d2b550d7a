"""Faults that meet a request or its whole answer."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from testbed.faultproxy.steps import Steps

Strike = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """What to do with a request.

    `act` calls `strike` at the moment the damage is done. A final fault settles the request;
    after another one the next rule has its turn, and the request is forwarded in the end.
    """

    name: str
    act: Callable[[Steps, Strike], Awaitable[None]]
    final: bool = True


class Killable(Protocol):
    """`subprocess.Popen` and `asyncio.subprocess.Process` are."""

    def kill(self) -> None: ...


def delay(seconds: float) -> Fault:
    """Hold the request back before it is forwarded; if the client leaves, it never is."""

    async def act(_: Steps, strike: Strike) -> None:
        strike()
        await asyncio.sleep(seconds)

    return Fault(f"delay({seconds})", act, final=False)


def hold(until: asyncio.Event) -> Fault:
    """Keep the request here until the event is set; if the client leaves before, it is never sent.

    What happens meanwhile, the client did not know when it decided to ask.
    """

    async def act(_: Steps, strike: Strike) -> None:
        strike()
        await until.wait()

    return Fault("hold", act, final=False)


def drop_request() -> Fault:
    """Close the connection; the API server never sees the request."""

    async def act(exchange: Steps, strike: Strike) -> None:
        strike()
        exchange.cut()

    return Fault("drop_request", act)


def drop_reply() -> Fault:
    """Close the connection after the API server acted, without a byte of its answer."""

    async def act(exchange: Steps, strike: Strike) -> None:
        await exchange.fetch()
        strike()
        exchange.cut()

    return Fault("drop_reply", act)


def arrive_late(seconds: float) -> Fault:
    """Close the connection now and let the API server act later.

    The worst of lost replies: whoever looks at once sees that nothing was written, and then it is
    (`proxy.wait_until(lambda: request.upstream_status is not None)`).
    """

    async def act(exchange: Steps, strike: Strike) -> None:
        exchange.fetch_later(seconds)
        strike()
        exchange.cut()

    return Fault(f"arrive_late({seconds})", act)


def half_open(*, forwarded: bool = False) -> Fault:
    """Leave the request without an answer on an open connection, so that the client times out.

    With `forwarded` the API server has acted on it.
    """

    async def act(exchange: Steps, strike: Strike) -> None:
        if forwarded:
            await exchange.fetch()
        strike()
        await exchange.hang()

    return Fault("half_open(forwarded)" if forwarded else "half_open", act)


def kill(process: Killable | int, when: Literal["before", "after"]) -> Fault:
    """SIGKILL the process before the request is forwarded, or after the API server answered it.

    Either way it gets no answer.
    """

    async def act(exchange: Steps, strike: Strike) -> None:
        if when == "after":
            await exchange.fetch()
        _kill(process)
        strike()
        exchange.cut()

    return Fault(f"kill({when})", act)


def _kill(process: Killable | int) -> None:
    if isinstance(process, int):
        os.kill(process, signal.SIGKILL)
    else:
        process.kill()
