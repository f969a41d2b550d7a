"""Profiles of the running process (S47): CPU by yappi, of all threads; heap by tracemalloc."""

import asyncio
import io
import marshal
import pstats
import tracemalloc
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from rescheduler.serve.answering import Answer

_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 60.0
REQUEST_SECONDS: Final = _MOST_SECONDS + 60.0
_MOST_LINES: Final = 60
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class _Refused(Exception):
    """In words for whoever asked."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def endpoints() -> Mapping[str, Answer]:
    """One profile at a time, of a minute at most: more would only measure each other."""
    turn = asyncio.Semaphore(1)

    def guarded(take: Answer) -> Answer:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            try:
                _refuse_strangers(request)
                _refuse_a_second(turn)
                async with turn:
                    return await take(request)
            except _Refused as problem:
                return web.Response(status=problem.status, text=str(problem))

        return answer

    return {"/debug/profile": guarded(_cpu), "/debug/heap": guarded(_heap)}


def _refuse_a_second(turn: asyncio.Semaphore) -> None:
    if turn.locked():
        raise _Refused(429, "a profile is being taken: ask again when it is done\n")


def _refuse_strangers(request: web.BaseRequest) -> None:
    """A page in a browser on this machine could ask by a name of its own that leads here."""
    host = request.headers.get("Host", "").rsplit(":", 1)[0]
    if host not in _LOCAL:
        raise _Refused(403, "ask for localhost\n")


def _seconds(request: web.BaseRequest) -> float:
    text = request.query.get("seconds", str(_SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise _Refused(400, f"seconds: a number above 0, at most {_MOST_SECONDS:.0f}\n")
    return seconds


async def _cpu(request: web.BaseRequest) -> web.Response:
    """?format=pstat: for pstats, snakeviz and the like; else a table."""
    import yappi  # only when somebody asks

    seconds = _seconds(request)
    yappi.set_clock_type("cpu")
    yappi.start(builtins=False, profile_threads=True)
    try:
        await asyncio.sleep(seconds)
    finally:
        yappi.stop()
    try:
        found = yappi.convert2pstats(yappi.get_func_stats())
    finally:
        yappi.clear_stats()
    if request.query.get("format") == "pstat":
        return _download(_as_file(found))
    return web.Response(text=f"CPU of all threads in {seconds:g} s\n{_as_table(found)}")


def _as_table(stats: pstats.Stats) -> str:
    text = io.StringIO()
    stats.stream = text  # type: ignore[attr-defined]  # documented, and not in its types
    stats.sort_stats("tottime").print_stats(_MOST_LINES)
    return text.getvalue()


def _as_file(stats: pstats.Stats) -> bytes:
    """As `dump_stats` writes it, which wants a file: and there may be none to be written."""
    return marshal.dumps(stats.stats)  # type: ignore[attr-defined]  # not in its types


def _download(body: bytes) -> web.Response:
    headers = {"Content-Disposition": 'attachment; filename="rescheduler.pstat"'}
    return web.Response(body=body, content_type="application/octet-stream", headers=headers)


async def _heap(request: web.BaseRequest) -> web.Response:
    """What was allocated meanwhile and is still there; of a process that was started with
    PYTHONTRACEMALLOC=1, everything.
    """
    seconds = _seconds(request)
    was_on = tracemalloc.is_tracing()
    if not was_on:
        tracemalloc.start()
    try:
        await asyncio.sleep(0 if was_on else seconds)
        snapshot = tracemalloc.take_snapshot()
        size, peak = tracemalloc.get_traced_memory()
    finally:
        if not was_on:
            tracemalloc.stop()
    since = "since the start" if was_on else f"in {seconds:g} s, and still there"
    lines = [f"allocated {since}: {size / 1e6:.1f} MB, at most {peak / 1e6:.1f} MB"]
    lines += [str(each) for each in snapshot.statistics("lineno")[:_MOST_LINES]]
    return web.Response(text="\n".join(lines) + "\n")
