"""What an API server is answered about an eviction. From memory, in the thread that serves.

It fails open: whatever goes wrong here, the eviction passes to the rules that hold without us.
"""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Final

import structlog
from aiohttp import web

from rescheduler.clock import Clock, SystemClock
from rescheduler.guard import Absent, Eviction, Guard, Hold, Moment, Verdict
from rescheduler.serve.answering import Answer
from rescheduler.serve.board import Board
from rescheduler.serve.bodies import BadRequest, read
from rescheduler.serve.guard import formats

PATH: Final = "/guard"
_JSON: Final = "application/json"

Hears = Callable[[Eviction, Verdict], bool]
"""Called for each verdict, from the thread that serves. False: the move that it wants is not going
to be asked for, as too many are.
"""


def endpoints(board: Board, hears: Hears, clock: Clock | None = None) -> Mapping[str, Answer]:
    webhook = Reviewer(board, hears, clock or SystemClock())

    async def answer(request: web.BaseRequest) -> web.Response:
        begun = perf_counter()
        try:
            asked = formats.review(await read(request, formats.MOST_BYTES))
        except BadRequest as problem:
            board.guard.unreadable()
            return web.Response(text=f"{problem}\n", status=400)
        found = webhook.answer(asked)
        board.guard.answered(perf_counter() - begun)
        return web.Response(body=found, content_type=_JSON)

    return {PATH: answer}


class Reviewer:
    """Also where an API server in memory asks, without HTTP."""

    def __init__(self, board: Board, hears: Hears, clock: Clock) -> None:
        self._board = board
        self._hears = hears
        self._clock = clock
        self._guard = Guard()

    def answer(self, asked: formats.Review) -> bytes:
        if asked.eviction is None:
            return formats.allowed(asked.uid)
        try:
            verdict = self._judge(asked.eviction)
        except Exception:  # noqa: BLE001 - nobody is held for a defect of ours
            self._board.guard.failed()
            structlog.get_logger().exception(
                "cannot judge an eviction: internal error, please report"
            )
            return formats.allowed(asked.uid)
        if isinstance(verdict, Hold):
            return formats.held(asked.uid, verdict.words)
        if isinstance(verdict, Absent):
            return formats.absent(asked.uid, verdict.words)
        return formats.allowed(asked.uid)

    def _judge(self, eviction: Eviction) -> Verdict:
        now = Moment(self._clock.now().timestamp(), self._clock.monotonic())
        verdict = self._guard.judge(eviction, self._board.guard_table, now)
        self._board.guard.judged(eviction.user, verdict)
        is_heard = self._hears(eviction, verdict)
        if isinstance(verdict, Hold) and verdict.wanted is not None and not is_heard:
            self._guard.not_asked(verdict.wanted)
        return verdict
