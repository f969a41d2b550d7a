"""Follows one kind of object for ever: resumes, begins anew, backs off, and knows when it is blind.

A stream may end at any time, for good reasons and bad ones. What is never done is to go on as if
nothing had happened: from when a stream is lost until what was missed has come, the state of this
kind is in doubt, and whoever takes a snapshot meanwhile is told since when.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, errors
from rescheduler.model.snapshot import Gap
from rescheduler.observe.state import ClusterState
from rescheduler.wire import POD_MIGRATIONS, Resource

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0
# A right may be granted, or a resource definition installed, while we run. (A server that has just
# started refuses everything for a moment, so it is asked again soon, and then ever less often.)
_LONGEST_REFUSED_SECONDS: Final = 60.0
# A server, or a proxy, that ends streams at once would else be asked without a pause.
_SHORTEST_STREAM_SECONDS: Final = 1.0
# One that always lets us in and then fails must not be asked for everything twice a second.
_STEADY_SECONDS: Final = 5.0
_MOST_BROKEN: Final = 5
# What was missed comes right after a stream is open again, and so does the word that it is lost.
_CATCH_UP_SECONDS: Final = 1.0


class Follower:
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        state: ClusterState,
        resource: Resource,
        *,
        jitter: random.Random,
        fields: str = "",
    ) -> None:
        self.resource = resource
        self.refusal: errors.KubeError | None = None
        """Why this kind cannot be had at all, for now: no permission, or the server has none."""
        self.problem: errors.KubeError | None = None
        """What went wrong last; nothing while a stream is open."""
        self.complete = False
        """Everything that is there has been heard of, at one time at least."""
        self.heard: Callable[[], None] = lambda: None
        """Called whenever the state may be another one."""
        self.heard_at = clock.monotonic()
        self._kube = kube
        self._clock = clock
        self._state = state
        self._fields = fields
        self._jitter = jitter
        self._version = ""
        self._listing = False
        self.heard_last: datetime | None = None
        self._failures = 0
        self._broken = 0
        self._sees_since: float | None = None
        self._changed = asyncio.Event()
        self._log = structlog.get_logger().bind(resource=resource.plural)

    # ------------------------------------------------------------------ what it knows

    @property
    def settled(self) -> bool:
        """The first listing is complete, or it is known that there is none to be had."""
        return self.complete or self.refusal is not None

    def gap(self) -> Gap | None:
        source = self.resource.plural
        if isinstance(self.refusal, errors.Forbidden):
            reason = f"we have no permission to list and watch {source}: {self.refusal}"
            return Gap(source=source, reason=reason, forbidden=True)
        if self.refusal is not None and self.resource == POD_MIGRATIONS:
            return None  # not installed: there are none, and that is all there is to know
        doubt = self._doubt()
        return Gap(source=source, reason=doubt) if doubt else None

    def _doubt(self) -> str:
        source = self.resource.plural
        if self.refusal is not None:
            # Every server has all other kinds: somebody else may have answered in its place.
            return f"the server has no {source}: {self.refusal}"
        if not self.complete:
            return f"{source} are not listed yet{self._because()}"
        if self._listing:
            return f"{source} are being listed anew{self._because()}"
        if self.problem is None or self._has_seen_for(_CATCH_UP_SECONDS):
            return ""
        if self._sees_since is not None:
            return f"what was missed is to come{self._because()}"
        since = f"{self.heard_last:%Y-%m-%dT%H:%M:%SZ}" if self.heard_last else "the start"
        return f"not heard of since {since}{self._because()}"

    def _because(self) -> str:
        return f": {self.problem}" if self.problem else ""

    def forget_changes(self) -> None:
        """Before looking: what changes from now on is news."""
        self._changed.clear()

    async def changed(self) -> None:
        """Until something of the above is another than it was at the last look."""
        await self._changed.wait()

    # ------------------------------------------------------------------ what it does

    async def run(self) -> None:
        while True:
            resumes = bool(self._version)
            try:
                await self._follow()
            except (errors.Expired, errors.Invalid) as problem:
                # What happened between is lost: only a listing tells what is there now. Nor does
                # it help to repeat a request that the server finds fault with.
                self._note(problem, "begins anew")
                self._version = ""
                if resumes:
                    self._failures = 0  # it is back, and we are late: no reason to wait for long
            except (errors.Forbidden, errors.NotFound) as problem:
                self._note_refusal(problem)
            except errors.KubeError as problem:
                self._note(problem, "lost the stream")
                self._count_broken()
            except Exception as problem:  # noqa: BLE001 - one kind must not blind all others
                self._note_defect(problem)
            else:
                if self._has_seen_for(_SHORTEST_STREAM_SECONDS):
                    self._see_again()
                    self._failures, self._sees_since = 0, None
                    continue
                words = f"the server ended the watch of {self.resource.plural} at once"
                self._note(errors.Unavailable(words), "lost the stream")
            self._failures = 1 if self._has_seen_for(_STEADY_SECONDS) else self._failures + 1
            self._sees_since = None
            await self._pause(self._back_off())

    def _count_broken(self) -> None:
        """A stream that opens and breaks again and again at the same place holds something that we
        cannot get past: only a listing leads around it.
        """
        if self._sees_since is None or self._has_seen_for(_STEADY_SECONDS):
            self._broken = 0
            return
        self._broken += 1
        if self._broken >= _MOST_BROKEN:
            self._version, self._broken = "", 0

    async def _follow(self) -> None:
        if not self._version:
            self._state.begin_listing(self.resource)
            self._listing = True
        news = self._kube.follow(self.resource, fields=self._fields, since=self._version)
        async with aclosing(news) as batches:
            async for batch in batches:
                for each in self._state.take(self.resource, batch):
                    self._log.warning("cannot read an object", name=each.name, problem=each.problem)
                self._version = batch.version or self._version
                self._hear(complete=batch.complete)
                self.heard()

    def _hear(self, *, complete: bool) -> None:
        self.heard_at = self._clock.monotonic()
        self.heard_last = self._clock.now()
        if complete:
            self._listing = False
        if self._listing:
            return
        if self._sees_since is None:
            self._sees_since = self.heard_at
        if complete or self._has_seen_for(_CATCH_UP_SECONDS):
            self._see_again()
        if not self.complete or complete:
            self.complete = True
            self._changed.set()

    def _see_again(self) -> None:
        if self.problem is not None or self.refusal is not None:
            self._log.info("sees again")
        self.problem = self.refusal = None

    def _has_seen_for(self, seconds: float) -> bool:
        """The stream that is open, or has just ended, has told us what changes for so long."""
        since = self._sees_since
        return since is not None and self._clock.monotonic() - since >= seconds

    def _note(self, problem: errors.KubeError, what: str) -> None:
        if self.problem is None or type(problem) is not type(self.problem):
            self._log.warning(what, problem=str(problem))
        self.problem = problem
        self._changed.set()

    def _note_defect(self, problem: Exception) -> None:
        """Nobody expected it, so what it left half done is not known: only a listing heals that."""
        words = f"a defect of ours, please report it: {type(problem).__name__}: {problem}"
        if str(self.problem) != words:
            self._log.error("met a defect of ours, please report it", exc_info=problem)
        self.problem = errors.Unavailable(words)
        self._version = ""
        self._changed.set()

    def _note_refusal(self, problem: errors.KubeError) -> None:
        is_news = type(problem) is not type(self.refusal)
        self.refusal, self.problem = problem, None
        if is_news and self.gap():
            self._log.warning("cannot be followed", problem=str(problem))
        self._version, self.complete, self._listing = "", False, False
        self._state.forget(self.resource)
        self._changed.set()

    def _back_off(self) -> float:
        doubled = min(self._failures - 1, 10)
        longest = _LONGEST_REFUSED_SECONDS if self.refusal else _LONGEST_PAUSE_SECONDS
        pause = min(_FIRST_PAUSE_SECONDS * 2**doubled, longest)
        asked = self.problem.retry_after_seconds if self.problem else None
        return max(float(pause), asked or 0.0)

    async def _pause(self, seconds: float) -> None:
        # All clients lose their streams when a server goes: they must not come back all at once.
        await self._clock.sleep(seconds * self._jitter.uniform(1.0, 1.5))
