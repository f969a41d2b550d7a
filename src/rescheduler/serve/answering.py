"""The endpoints of the plain port, and what each answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import structlog
from aiohttp import web

from rescheduler.serve.board import Board
from rescheduler.serve.health import Verdict
from rescheduler.serve.metrics.exposing import CONTENT_TYPE

_OK: Final = 200

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def endpoints(board: Board) -> Mapping[str, Answer]:
    async def healthz(request: web.BaseRequest) -> web.Response:
        return _judged(board.liveness(), request)

    async def readyz(request: web.BaseRequest) -> web.Response:
        return _judged(board.readiness(), request)

    async def metrics(_: web.BaseRequest) -> web.Response:
        return web.Response(body=board.metrics(), headers={"Content-Type": CONTENT_TYPE})

    # /livez is what newer servers call it.
    return {"/healthz": healthz, "/livez": healthz, "/readyz": readyz, "/metrics": metrics}


def _judged(verdict: Verdict, request: web.BaseRequest) -> web.Response:
    query = request.query
    verdict = verdict.without(query.getall("exclude", []))
    status = 200 if verdict.is_good else 500
    return web.Response(text=verdict.in_words(verbose="verbose" in query), status=status)


READS: Final = ("GET", "HEAD")
QUESTIONS: Final = ("POST",)


def dispatching(
    answers: Mapping[str, Answer],
    methods: Sequence[str] = READS,
    keep: Callable[[web.BaseRequest], None] | None = None,
) -> Answer:
    """By path. A connection is closed with its answer, unless somebody is told to `keep` it."""
    log = structlog.get_logger()
    allowed = ", ".join(methods)

    async def dispatch(request: web.BaseRequest) -> web.StreamResponse:
        answer = answers.get(request.path)
        if answer is None:
            found: web.StreamResponse = web.Response(
                status=404, text=f"there are {', '.join(sorted(answers))}\n"
            )
        elif request.method not in methods:
            words = f"{methods[0]} only\n"
            found = web.Response(status=405, text=words, headers={"Allow": allowed})
        else:
            try:
                found = await answer(request)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("cannot answer: internal error, please report", path=request.path)
                found = web.Response(status=500, text="internal error\n")
        found.headers["X-Content-Type-Options"] = "nosniff"
        found.headers["Cache-Control"] = "no-store"
        if keep is not None and found.status == _OK:
            keep(request)
        else:
            found.force_close()
        return found

    return dispatch
