"""Runs a candidate in a thread of its own, so that its renewals do not wait for our planning; on
virtual time, where planning takes none, in the event loop of everybody.
"""

import asyncio
import math
import os
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from typing import TypeVar

import structlog

from rescheduler.clock import Clock
from rescheduler.config import LeaderElection
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi
from rescheduler.leading.campaign import Campaign
from rescheduler.leading.deciding import Term
from rescheduler.leading.errors import ElectionError
from rescheduler.leading.leadership import Deadline, Leadership
from rescheduler.leading.notes import Notes

Connect = Callable[[], AbstractAsyncContextManager[KubeApi]]

T = TypeVar("T")


class Candidate:
    """Of one election, for one term: after a lost one, enter another."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self._loop = asyncio.get_running_loop()
        # A problem is a result like any other: nobody may ever ask for it.
        self._acquired: asyncio.Future[Leadership | Exception] = self._loop.create_future()
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self.notes = Notes()

    async def acquired(self) -> Leadership:
        """Waits until we lead. Raises ReschedulerError when there is no taking part."""
        result = await asyncio.shield(self._acquired)
        if isinstance(result, Exception):
            raise result
        return result

    # ------------------------------------------------------------------ told by the election

    def begin(self, term: Term, deadline: Deadline) -> None:
        self._settle(self._acquired, Leadership(term, deadline, self._lost, self.notes))

    def end(self, reason: str) -> None:
        self._settle(self._lost, reason)

    def fail(self, problem: Exception) -> None:
        self._settle(self._acquired, problem)
        self._settle(self._lost, f"the election has ended: {problem}")

    def _settle(self, future: asyncio.Future[T], result: T) -> None:
        def settle() -> None:
            if not future.done():
                future.set_result(result)

        # The loop may have been closed without waiting for us; then nobody wants to know.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(settle)


@asynccontextmanager
async def leading(
    settings: LeaderElection,
    connect: Connect,
    clock: Clock,
    *,
    identity: str = "",
) -> AsyncIterator[Candidate]:
    """Takes part in the election as long as the block lasts; releases the lease at its end, so
    nothing that writes may outlive the block. `connect` is called in the election's own thread. An
    identity is for one election only.
    """
    candidate = Candidate(identity or own_identity())
    boottime = clock.monotonic if clock.is_virtual else time_since_boot
    if not settings.leader_elect:
        candidate.begin(Term(candidate.identity, 0), Deadline(math.inf, boottime))
        yield candidate
        return
    election = _Election(settings, connect, clock, candidate, boottime)
    election.start()
    try:
        yield candidate
    finally:
        await election.stop()


def own_identity() -> str:
    """Another one for each process, as client-go has it: a restarted one is another candidate."""
    return f"{os.uname().nodename}_{uuid.uuid4()}"


class _Election:
    def __init__(
        self,
        settings: LeaderElection,
        connect: Connect,
        clock: Clock,
        candidate: Candidate,
        boottime: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._clock = clock
        self._candidate = candidate
        self._boottime = boottime
        self._log = structlog.get_logger()
        self._main_loop = asyncio.get_running_loop()
        self._loop = self._main_loop if clock.is_virtual else asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._deadline: Deadline | None = None
        self._ended = asyncio.Event()
        # A process that is to die must not wait for it.
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._clock.is_virtual:
            self._task = self._loop.create_task(self._run_beside(), name="election")
        else:
            self._thread.start()

    async def stop(self) -> None:
        # What still writes is refused before the lease is released: the campaign sees to that.
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stopping.set)
        await self._ended.wait()
        # Saying so was the last thing it did.
        if self._task is not None:
            await self._task
        else:
            self._thread.join()

    def _run(self) -> None:
        with self._telling(), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._take_part())

    async def _run_beside(self) -> None:
        with self._telling():
            await self._take_part()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Of its end, however it comes."""
        try:
            yield
        except ReschedulerError as problem:
            self._candidate.fail(problem)
        except Exception as problem:  # noqa: BLE001 - a bug must not leave anybody waiting
            self._log.exception("leader election failed: internal error, please report")
            self._candidate.fail(ElectionError(f"leader election failed: {problem!r}"))
        finally:
            if self._deadline is not None:
                self._deadline.pass_now()
            with suppress(RuntimeError):
                self._main_loop.call_soon_threadsafe(self._ended.set)

    async def _take_part(self) -> None:
        running = asyncio.create_task(self._campaign())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in (running, stopping):
            task.cancel()
        await asyncio.wait([running, stopping])
        if not running.cancelled():
            running.result()

    async def _campaign(self) -> None:
        async with self._connect() as kube:
            identity = self._candidate.identity
            campaign = Campaign(
                kube,
                self._settings,
                identity,
                self._clock,
                self._boottime,
                see=self._candidate.notes.see,
            )
            try:
                await self._carry_out(campaign)
            finally:
                await campaign.release()

    async def _carry_out(self, campaign: Campaign) -> None:
        term, deadline = await campaign.stand_by()
        self._deadline = deadline
        self._log.info("became leader", identity=term.holder, number=term.number)
        self._candidate.begin(term, deadline)
        reason = await campaign.lead(term, deadline)
        self._log.error("lost leadership", because=reason, number=term.number)
        self._candidate.end(reason)


def time_since_boot() -> float:
    """The time that the machine was asleep included. Nobody sets this clock, and it does not stand
    still in suspend as the monotonic one does: who wakes up must see that its lease is old.
    """
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
