"""Faults in the stream of an answer, event by event: a line of JSON, or a frame of protobuf.

They leave the request alone and may be combined; the first rule is nearest to the API server.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from testbed.faultproxy.faults import Fault, Strike
from testbed.faultproxy.steps import Chunks, Cut, Steps


def cut_after(events: int) -> Fault:
    """Close the connection as soon as so many events have been sent."""

    def edit(chunks: Chunks, strike: Strike) -> Chunks:
        async def cut() -> bytes:
            strike()
            raise Cut

        return _with_turn(events, chunks, cut)

    return _stream_fault(f"cut_after({events})", edit)


def stall_after(events: int) -> Fault:
    """Send so many events, then nothing on an open connection: a watch silently dead."""

    def edit(chunks: Chunks, strike: Strike) -> Chunks:
        async def stall() -> bytes:
            strike()
            await asyncio.get_running_loop().create_future()
            raise AssertionError("nobody completes this future")

        return _with_turn(events, chunks, stall)

    return _stream_fault(f"stall_after({events})", edit)


def hold_events(until: asyncio.Event) -> Fault:
    """Keep the events here until the event is set, then let them all go, none lost."""

    async def edit(chunks: Chunks, strike: Strike) -> Chunks:
        async for event in chunks:
            if not until.is_set():
                strike()
                await until.wait()
            yield event

    return _stream_fault("hold_events", edit)


def inject_event(line: bytes, *, after: int = 0) -> Fault:
    """Slip an event in behind so many others; `watch_event` and `expired_event` make some.

    It has to be of the watch's format: a line of JSON, or a frame (`expired_frame`) of protobuf.
    """

    def edit(chunks: Chunks, strike: Strike) -> Chunks:
        async def inject() -> bytes:
            strike()
            return line.rstrip(b"\n") + b"\n" if line.startswith(b"{") else line

        return _with_turn(after, chunks, inject)

    return _stream_fault(f"inject_event(after={after})", edit)


def cut_after_bytes(size: int) -> Fault:
    """Close the connection in the middle of an answer, such as a long list."""

    async def edit(chunks: Chunks, strike: Strike) -> Chunks:
        left = size
        async for chunk in chunks:
            if len(chunk) >= left:
                yield chunk[:left]
                strike()
                raise Cut
            left -= len(chunk)
            yield chunk

    return _stream_fault(f"cut_after_bytes({size})", edit)


def rewrite_events(rewrite: Callable[[bytes], Iterable[bytes]]) -> Fault:
    """Replace each event by what `rewrite` makes of its line: nothing, itself twice, another."""

    async def edit(chunks: Chunks, strike: Strike) -> Chunks:
        async for event in chunks:
            replacement = list(rewrite(event))
            if replacement != [event]:
                strike()
            for line in replacement:
                yield line

    return _stream_fault("rewrite_events", edit)


def drop_events(predicate: Callable[[dict[str, Any]], bool]) -> Fault:
    """Lose the events that the predicate picks, given as {"type": ..., "object": ...}."""
    return rewrite_events(lambda event: () if predicate(json.loads(event)) else (event,))


def _stream_fault(name: str, edit: Callable[[Chunks, Strike], Chunks]) -> Fault:
    async def act(exchange: Steps, strike: Strike) -> None:
        exchange.edit_stream(lambda chunks: edit(chunks, strike))

    return Fault(name, act, final=False)


async def _with_turn(after: int, chunks: Chunks, turn: Callable[[], Awaitable[bytes]]) -> Chunks:
    """Take a turn once so many events have passed, without waiting for the next one."""
    if after == 0:
        yield await turn()
    passed = 0
    async for event in chunks:
        yield event
        passed += 1
        if passed == after:
            yield await turn()
