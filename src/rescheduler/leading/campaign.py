"""From standing by to leading to losing it: one candidate's way, request by request.

As client-go goes it, with three differences. A lease that was deleted is no invitation: its holder
may not know yet. A number never falls while anybody remembers a higher one. And a term that has
ended is over: whoever wants to lead again stands by again.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import LeaderElection
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.leading import deciding
from rescheduler.leading.deciding import Memory, StandBy, Take, Term
from rescheduler.leading.errors import Refused, Superseded
from rescheduler.leading.leadership import Deadline
from rescheduler.leading.lease import Lease

_JITTER: Final = 1.2
_TRIES_ON_CONFLICT: Final = 3
_NO_ANSWER: Final = "no answer in time"
_PASSING: Final = (errors.KubeError, TimeoutError)


class Campaign:
    def __init__(
        self,
        kube: KubeApi,
        settings: LeaderElection,
        identity: str,
        clock: Clock,
        boottime: Callable[[], float],
        *,
        see: Callable[[Object], None] = lambda _: None,
    ) -> None:
        """`see` is called with the lease whenever the server has shown it."""
        self._lease = Lease(kube, settings, see)
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._boottime = boottime
        # As client-go has it: one request that gets no answer must not use up the whole deadline.
        self._request_seconds = settings.renew_deadline_seconds / 2
        self._jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._log = structlog.get_logger()
        self._memory = Memory()
        self._seen: Object | None = None
        self._acquired: datetime = clock.now()
        self._may_hold = False
        self._leader_told = ""
        self._problem = ""

    # ------------------------------------------------------------------ standing by

    async def stand_by(self) -> tuple[Term, Deadline]:
        """Until we lead. Raises Refused when the server has said no for renewDeadline."""
        refused_since: float | None = None
        while True:
            pause = self._look()
            try:
                async with asyncio.timeout(self._request_seconds):
                    found = await self._try_to_take()
            except Refused as problem:
                # Rights are granted a moment later than asked for, on a server that just started.
                now = self._boottime()
                refused_since = now if refused_since is None else refused_since
                if now - refused_since >= self._settings.renew_deadline_seconds:
                    raise
                self._tell_problem("leader election not possible yet", problem)
            except _PASSING as problem:
                refused_since = None
                self._tell_problem("leader election not possible yet", problem)
            else:
                refused_since, self._problem = None, ""
                if not isinstance(found, float):
                    return found
                # The moment after which the leader may be followed is worth a look of its own.
                pause = min(pause, found)
            await self._clock.sleep(pause)

    async def _try_to_take(self) -> tuple[Term, Deadline] | float:
        """Else the seconds after which it may be worth another try."""
        self._seen = await self._lease.read()
        now = self._boottime()
        record = None if self._seen is None else deciding.record_of(self._seen)
        self._memory = deciding.notice(self._memory, record, now)
        decision = deciding.decide(
            self._memory, self._identity, self._settings.lease_duration_seconds, now
        )
        if not isinstance(decision, Take):
            self._tell_leader(decision)
            return decision.seconds
        term = Term(self._identity, decision.number)
        self._acquired = self._clock.now()
        start = self._boottime()
        self._may_hold = True
        self._seen = await self._lease.write(self._seen, self._record(term))
        if self._seen is None:
            # Another was faster, and the next look will show who.
            return self._look()
        deadline = Deadline(start + self._settings.renew_deadline_seconds, self._boottime)
        return term, deadline

    # ------------------------------------------------------------------ leading

    async def lead(self, term: Term, deadline: Deadline) -> str:
        """Renews until it cannot be renewed, and says why."""
        self._problem = ""
        try:
            while True:
                await self._clock.sleep(min(self._pause(), deadline.seconds_left()))
                if deadline.has_passed():
                    return self._words_for_the_end()
                await self._try_to_renew(term, deadline)
        except Superseded as end:
            return str(end)
        finally:
            deadline.pass_now()

    async def _try_to_renew(self, term: Term, deadline: Deadline) -> None:
        limit = min(self._request_seconds, deadline.seconds_left())
        try:
            async with asyncio.timeout(limit):
                await self._renew(term, deadline)
        except (*_PASSING, Refused) as problem:
            self._tell_problem("lease could not be renewed", problem)
        else:
            self._problem = ""

    async def _renew(self, term: Term, deadline: Deadline) -> None:
        for _ in range(_TRIES_ON_CONFLICT):
            start = self._boottime()
            written = await self._lease.write(self._seen, self._record(term))
            if written is not None:
                self._seen = written
                # Too late is seen by the caller, who looks at the deadline anyway.
                deadline.move(start + self._settings.renew_deadline_seconds)
                return
            # Somebody edited or deleted it, or our last renewal got through unheard, or it is lost.
            self._seen = await self._lease.read()
            if self._seen is not None:
                self._insist_on(term, deciding.record_of(self._seen))
        raise errors.Conflict("the lease changes all the time")

    def _insist_on(self, term: Term, record: deciding.Record) -> None:
        if record.holder == term.holder:
            return
        # Not ours to release, whatever becomes of it.
        self._may_hold = False
        holder = record.holder or "nobody"
        raise Superseded(f"{holder} holds {self._name} now (number {record.transitions})")

    def _words_for_the_end(self) -> str:
        # Left to expire: a write that we gave up may still be under way.
        self._may_hold = False
        seconds = f"{self._settings.renew_deadline_seconds:g} s"
        if self._problem:
            return f"{self._name} could not be renewed for {seconds}: {self._problem}"
        return (
            f"{self._name} was not renewed for {seconds}: this process or its machine stood still"
        )

    # ------------------------------------------------------------------ leaving

    async def release(self) -> None:
        """Lets another one lead at once. What goes wrong is only told: the lease expires anyway."""
        if not self._may_hold:
            return
        try:
            async with asyncio.timeout(self._request_seconds):
                await self._release()
        except (*_PASSING, Refused) as problem:
            self._log.warning(
                "lease could not be released: it expires by itself",
                problem=_words(problem) or _NO_ANSWER,
            )

    async def _release(self) -> None:
        for _ in range(_TRIES_ON_CONFLICT):
            # Read anew: of the last write, we may not have heard the answer.
            seen = await self._lease.read()
            if seen is None or (record := deciding.record_of(seen)).holder != self._identity:
                return
            if await self._lease.write(seen, deciding.released(record, self._clock.now())):
                self._log.info("lease released", lease=self._name)
                return

    # ------------------------------------------------------------------ small things

    def _record(self, term: Term) -> deciding.Record:
        duration = self._settings.lease_duration_seconds
        return deciding.held(term, duration, self._acquired, self._clock.now())

    def _pause(self) -> float:
        return self._settings.retry_period_seconds * self._jitter.uniform(1.0, _JITTER)

    def _look(self) -> float:
        """Always shorter than retryPeriod, unlike client-go's: a leader is followed leaseDuration
        after its last renewal was *seen*, and with what is done first within the sum of both.
        """
        return self._pause() / _JITTER**2

    @property
    def _name(self) -> str:
        return f"the lease {self._settings.resource_namespace}/{self._settings.resource_name}"

    def _tell_leader(self, decision: StandBy) -> None:
        """Once, until it is another one."""
        if self._leader_told != decision.holder:
            self._leader_told = decision.holder
            self._log.info(
                "standing by: another replica leads",
                leader=decision.holder,
                lease=self._name,
                silence_allowed_seconds=round(decision.seconds),
            )

    def _tell_problem(self, event: str, problem: Exception) -> None:
        """Once, until it is another one or it went well in between."""
        words = _words(problem)
        # That there was no time for an answer says less than the answer before.
        if (words and words != self._problem) or not self._problem:
            self._problem = words or _NO_ANSWER
            self._log.warning(event, problem=self._problem)


def _words(problem: BaseException) -> str:
    # A read sits passing faults out. When we have no time for that, they are behind our time-out.
    behind: BaseException | None = problem
    while behind is not None and not isinstance(behind, (errors.KubeError, Refused)):
        behind = behind.__cause__ or behind.__context__
    return str(behind or problem)
