"""The verbs of the extender, and what each answers. From memory, in the thread that serves.

It fails open: as long as nothing is known of the cluster, or what is known is old, every node
passes and all are alike.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import structlog
from aiohttp import web

from rescheduler import schedule
from rescheduler.clock import SystemClock
from rescheduler.config.scheduling import FILTER, PRE_BIND, SCORE
from rescheduler.errors import ReschedulerError
from rescheduler.schedule import Answers, Newcomer, Offer
from rescheduler.serve.answering import Answer
from rescheduler.serve.board import Board
from rescheduler.serve.bodies import BadRequest, read
from rescheduler.serve.extender import formats
from rescheduler.serve.extender.formats import Binding, Question
from rescheduler.serve.extender.hosts import Hosts
from rescheduler.serve.metrics.extending import Result

_JSON: Final = "application/json"
_OK: Final = 200
_HEARD_SECONDS: Final = 2.5
"""After which a table has heard of a pod that was bound."""

Bind = Callable[[Binding], Awaitable[None]]
"""Raises ReschedulerError when the pod is not, and will not be, on that node by it."""


def endpoints(board: Board, verbs: Sequence[str], bind: Bind | None = None) -> Mapping[str, Answer]:
    """By path, of those that are on."""
    extender = _Extender(board, bind)
    known = {
        FILTER: ("/filter", extender.filter),
        SCORE: ("/prioritize", extender.prioritize),
        PRE_BIND: ("/bind", extender.bind),
    }
    return {known[verb][0]: _timed(board, verb, known[verb][1]) for verb in verbs}


_Verb = Callable[[bytes], Awaitable[tuple[bytes, Result]]]


def _timed(board: Board, verb: str, answer: _Verb) -> Answer:
    record = board.extender

    async def timed(request: web.BaseRequest) -> web.Response:
        begun = perf_counter()
        status, result = _OK, Result.ERROR
        try:
            body = await read(request, formats.MOST_BYTES, ": set nodeCacheCapable")
            found, result = await answer(body)
        except BadRequest as problem:
            status, found, result = 400, f"{problem}\n".encode(), Result.BAD_REQUEST
        finally:
            record.answered(verb, result, perf_counter() - begun)
        kind = _JSON if status == _OK else "text/plain"
        return web.Response(body=found, status=status, content_type=kind)

    return timed


class _Extender:
    def __init__(self, board: Board, bind: Bind | None) -> None:
        self._board = board
        self._bind = bind
        self._clock = SystemClock()
        self._answers = Answers()
        self._hosts = Hosts()
        self._reader = formats.Reader()
        self._to_look_at: set[str] = set()
        """Nodes that pods were bound to since a table has heard of them."""
        self._newcomer: tuple[Mapping[str, Any] | None, Newcomer | None] = None, None
        """The last that was asked about: mostly that comes twice."""

    # ------------------------------------------------------------------ verbs

    async def filter(self, body: bytes) -> tuple[bytes, Result]:
        asked, pod, offer = self._asked(body)
        if pod is None or offer is None:
            return formats.filter_result(asked, asked.names, {}, {}), Result.OPEN
        now = self._clock.monotonic()
        found = self._answers.filtered(offer, pod, asked.names, now, asked.rows)
        self._board.extender.refused(len(found.refused), len(found.closed))
        if found.is_steered is not None:
            self._board.extender.steered(is_steered=found.is_steered)
        result = Result.LENIENT if found.is_lenient else Result.OK
        return formats.filter_result(asked, found.passed, found.refused, found.closed), result

    async def prioritize(self, body: bytes) -> tuple[bytes, Result]:
        asked, pod, offer = self._asked(body)
        if pod is None or offer is None:
            return formats.priorities(asked.names, [0] * len(asked.names)), Result.OPEN
        now = self._clock.monotonic()
        found = self._answers.scored(offer, pod, asked.names, now, asked.rows)
        if found.is_steered is not None:
            self._board.extender.steered(is_steered=found.is_steered)
        written = self._hosts.priorities(offer.table.names, found.rows, found.points)
        return written or formats.priorities(asked.names, found.scores), Result.OK

    async def bind(self, body: bytes) -> tuple[bytes, Result]:
        wanted = formats.binding(body)
        if self._bind is None:
            return formats.binding_result("this replica cannot bind"), Result.ERROR
        try:
            await self._bind(wanted)
        except ReschedulerError as problem:
            structlog.get_logger().warning(
                "pod not bound",
                pod=f"{wanted.namespace}/{wanted.pod}",
                node=wanted.node,
                problem=str(problem),
            )
            return formats.binding_result(str(problem)), Result.ERROR
        self._foresee(wanted)
        return formats.binding_result(""), Result.OK

    # ------------------------------------------------------------------ what is known

    def _asked(self, body: bytes) -> tuple[Question, Newcomer | None, Offer | None]:
        """Raises BadRequest. Without a pod, or without an offer, every node passes."""
        offer = self._board.offer
        if offer is None or offer.is_stale(self._clock.monotonic()):
            return self._reader.question(body), None, None
        asked = self._reader.question(body, offer.table.names)
        return asked, self._judged(asked), offer

    def _judged(self, asked: Question) -> Newcomer | None:
        """The pod that was asked about; None: nothing can be made of it."""
        last, newcomer = self._newcomer
        if last is asked.pod:
            return newcomer
        try:
            newcomer = schedule.newcomer(asked.pod)
        except (ValueError, TypeError, AttributeError, KeyError) as problem:
            # Whatever it is, somebody wants it to run.
            structlog.get_logger().debug("cannot read a pod to be scheduled", problem=str(problem))
            return None
        self._newcomer = asked.pod, newcomer
        return newcomer

    def _foresee(self, bound: Binding) -> None:
        """Asks for an early pass where the pod makes its node overloaded: nobody waits for it.

        What the pod needs we know if we were asked to judge nodes for it. Else, or if it is another
        one's doing, a table tells that has heard of it.
        """
        offer, node = self._board.offer, bound.node
        if offer is None or self._calls_for_a_pass(offer, node):
            return
        if node in offer.table.numbers and node not in self._to_look_at:
            self._to_look_at.add(node)
            asyncio.get_running_loop().call_later(_HEARD_SECONDS, self._look_again, node)

    def _look_again(self, node: str) -> None:
        self._to_look_at.discard(node)
        offer = self._board.offer
        if offer is not None and not offer.is_stale(self._clock.monotonic()):
            self._calls_for_a_pass(offer, node)

    def _calls_for_a_pass(self, offer: Offer, node: str) -> bool:
        why = self._answers.why_overloaded(offer, node)
        if why:
            structlog.get_logger().debug("overload foreseen", node=node, because=why)
            self._board.call_for_a_pass(f"{node} will be above its threshold")
        return bool(why)
