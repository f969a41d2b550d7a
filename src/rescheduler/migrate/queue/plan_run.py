"""Carries out a plan: wave by wave, each begun when the pods of those before serve elsewhere.

Originals that are still ending hold up only who is to take their place.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

from rescheduler.errors import ReschedulerError
from rescheduler.kube import errors
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.model.moves import Denial, Move
from rescheduler.model.podmigration import Reason


class Handle(Protocol):
    """One move that was asked for."""

    async def taken_over(self) -> None: ...

    async def ended(self) -> Outcome: ...


class TakesMoves(Protocol):
    """As far as a plan needs the migrator."""

    async def submit(self, moves: Sequence[Move]) -> Sequence[Handle]: ...

    async def deny(self, denials: Sequence[Denial]) -> None: ...


def _nothing(_: Move) -> None:
    """Nobody wants to know."""


class PlanRun:
    """A plan on its way."""

    def __init__(
        self,
        migrator: TakesMoves,
        moves: Sequence[Move],
        *,
        assume: Callable[[Move], object] = _nothing,
        forget: Callable[[Move], object] = _nothing,
        told: Callable[[Move, Outcome], object] = lambda _move, _outcome: None,
        why_not: Callable[[Move], str] = lambda _move: "",
    ) -> None:
        """`assume` is called for each move at once, `forget` when it has ended, or is not going to
        be made: whoever plans meanwhile counts all of it as done. `told` hears how each has ended.
        `why_not` says of each, when its turn comes, why it does not hold any more; empty: it does.
        """
        self.outcomes: list[tuple[Move, Outcome]] = []
        """In the order in which they ended."""
        self.skipped: list[Move] = []
        """Those that rest on one that failed, or do not hold any more."""
        self.why_skipped: dict[str, str] = {}
        """Of these, by the UID of the pod, in words."""
        self.is_under_way = True
        self.is_done = False
        """It came to its end; else, when it is not under way, it was cut short."""
        self._migrator = migrator
        self._waves = [list(wave) for _, wave in groupby(moves, key=lambda move: move.wave)]
        self._following: dict[Move, asyncio.Task[None]] = {}
        self._is_stopping = False
        self._all_begun = False
        self._decided = asyncio.Event()
        """Whether all are taken over."""
        self._forget = forget
        self._told = told
        self._why_not = why_not
        self._left = {move.uid: move for move in moves}
        for move in moves:
            assume(move)

    @property
    def left(self) -> Sequence[Move]:
        """Those that have not ended."""
        return tuple(self._left.values())

    @property
    def moved(self) -> int:
        return sum(outcome.moved for _, outcome in self.outcomes)

    @property
    def failed(self) -> int:
        return sum(1 for _ in self._failed())

    def stop(self) -> None:
        """Asks for no further wave; the one under way is heard out."""
        self._is_stopping = True

    async def run(self) -> None:
        """Until all have ended, the last original too."""
        try:
            async with asyncio.TaskGroup() as following:
                self._all_begun = await self._begin_all(following)
                self._decided.set()
            self.is_done = True
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self.is_under_way = False
            self._decided.set()
            for move in self.left:
                self._end(move)

    async def all_taken_over(self) -> bool:
        """Once each serves elsewhere, its original at most ending; False: not all of them ever will
        by this plan.
        """
        await self._decided.wait()
        return self._all_begun and not self.failed

    async def _begin_all(self, following: asyncio.TaskGroup) -> bool:
        """Until each is taken over, or has ended; False: some are not going to be made."""
        for wave in self._waves:
            await self._wait_for_room(wave)
            # What is left to whoever comes next, so is all that follows.
            if self._is_stopping or self._is_left_to_others():
                return False
            begun = [move for move in wave if self._may_begin(move)]
            await self._carry_out(begun, following)
        return True

    async def _wait_for_room(self, wave: Sequence[Move]) -> None:
        for move, task in self._following.items():
            if any(may_rest_on(each, move) or _shares_quota(each, move) for each in wave):
                await asyncio.wait([task])

    def _is_left_to_others(self) -> bool:
        return any(outcome.reason is Reason.NOT_FINISHED for _, outcome in self.outcomes)

    def _may_begin(self, move: Move) -> bool:
        why = self._why_not(move)
        failed = next((each for each in self._failed() if may_rest_on(move, each)), None)
        if failed is not None:
            why = f"it rests on the move of {failed.full_name}, which failed"
        if not why:
            return True
        self.why_skipped[move.uid] = why
        self.skipped.append(move)
        self._end(move)
        return False

    async def _carry_out(self, moves: Sequence[Move], following: asyncio.TaskGroup) -> None:
        """Until each of them is taken over, or has ended."""
        if not moves:
            return
        try:
            handles = await self._migrator.submit(moves)
        except errors.NotLeading:
            raise
        except ReschedulerError as problem:
            # Of some of them there may be a record, and then they are made, and seen when planning.
            refused = Outcome(moved=False, reason=Reason.REFUSED, message=str(problem))
            for move in moves:
                self._note(move, refused)
            return
        for move, handle in zip(moves, handles, strict=True):
            self._following[move] = following.create_task(self._follow(move, handle))
        for move, handle in zip(moves, handles, strict=True):
            await _first_of(handle.taken_over(), self._following[move])

    async def _follow(self, move: Move, handle: Handle) -> None:
        self._note(move, await handle.ended())

    def _note(self, move: Move, outcome: Outcome) -> None:
        self.outcomes.append((move, outcome))
        self._end(move)
        self._told(move, outcome)

    def _end(self, move: Move) -> None:
        if self._left.pop(move.uid, None) is not None:
            self._forget(move)

    def _failed(self) -> Iterator[Move]:
        return (move for move, outcome in self.outcomes if not outcome.moved)


def may_rest_on(move: Move, failed: Move) -> bool:
    """It was judged as if the other had been done: it may want its room, or is of its group. The
    rest goes on, or one pod that cannot be moved would hold up all others in every pass.
    """
    return move.target == failed.source or (bool(move.group) and move.group == failed.group)


def _shares_quota(move: Move, earlier: Move) -> bool:
    """What the earlier one takes of it is free when its original is gone."""
    return move.charged and move.namespace == earlier.namespace


async def _first_of(happening: Coroutine[Any, Any, None], task: asyncio.Task[None]) -> None:
    """Until it happens, or the task is done, which goes on otherwise."""
    waiting = asyncio.ensure_future(happening)
    try:
        await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
