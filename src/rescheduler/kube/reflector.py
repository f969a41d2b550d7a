"""Keeps one kind of object for ever: lists, watches, resumes, backs off, knows when it is blind.

A stream may end at any time, for good reasons and bad ones. What is never done is to go on as if
nothing had happened: from when a stream is lost until what was missed has come, what is kept of
this kind is in doubt, and whoever asks meanwhile is told since when.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from enum import Enum, auto
from typing import Final, Generic, Protocol, TypeVar

import structlog

from rescheduler.clock import Clock
from rescheduler.kube import errors
from rescheduler.kube.pauses import Pauses

# A server, or a proxy, that ends streams at once would else be asked without a pause.
_SHORTEST_STREAM_SECONDS: Final = 1.0
# One that always lets us in and then fails must not be asked for everything twice a second.
_STEADY_SECONDS: Final = 5.0
_MOST_BROKEN: Final = 5
# What was missed comes right after a stream is open again, and so does the word that it is lost.
_CATCH_UP_SECONDS: Final = 1.0


class News(Protocol):
    """What a stream tells at once: `wire.Batch` and `object_streams.ObjectNews` are such."""

    @property
    def version(self) -> str:
        """Where to resume; empty: nowhere yet."""
        ...

    @property
    def complete(self) -> bool:
        """Everything that there is has come; from now on it is what changes."""
        ...


N = TypeVar("N", bound=News)


class Relist(Enum):
    """When all is listed anew; else a stream is resumed where the last one ended."""

    WHEN_EXPIRED = auto()
    """Only when there is no other way."""
    AFTER_TROUBLE = auto()
    """And after every error, and every stream that told nothing."""
    ALWAYS = auto()
    """And when the server ends a stream in order: what it kept silent about is seen then."""


class Reflector(ABC, Generic[N]):
    def __init__(self, clock: Clock, what: str, pauses: Pauses, relist: Relist) -> None:
        """`what` it keeps, in the plural."""
        self.refusal: errors.KubeError | None = None
        """Why this kind cannot be had at all, for now: no permission, or the server has none."""
        self.problem: errors.KubeError | None = None
        """What went wrong last; nothing while a stream is open."""
        self.is_complete = False
        """Everything that is there has been heard of, at one time at least."""
        self.heard_at = clock.monotonic()
        self.heard_last: datetime | None = None
        self.log = structlog.get_logger().bind(resource=what)
        self._clock = clock
        self._what = what
        self._pauses = pauses
        self._relist = relist
        self._version = ""
        self._listing = False
        self._is_silent = True
        """The stream has told nothing since everything had come."""
        self._failures = 0
        self._broken = 0
        self._sees_since: float | None = None
        self._changed = asyncio.Event()

    # ------------------------------------------------------------------ for whoever keeps it

    @abstractmethod
    def _open(self, since: str) -> AsyncGenerator[N, None]:
        """First everything there is, then what changes; with `since`, only what changed after it.
        Raises as `KubeApi.follow` does.
        """

    @abstractmethod
    def _take(self, news: N) -> None: ...

    def _begin_listing(self) -> None:
        """What was known by now, and is not named before all has come, is gone then."""

    def _forget_all(self) -> None:
        """It cannot be had."""

    # ------------------------------------------------------------------ what it knows

    @property
    def is_settled(self) -> bool:
        """The first listing is complete, or it is known that there is none to be had."""
        return self.is_complete or self.refusal is not None

    @property
    def is_current(self) -> bool:
        """What is kept is as new as it gets."""
        return self.is_complete and not self.doubt()

    def doubt(self) -> str:
        """Why what is kept may not be what there is; empty: it is."""
        if self.refusal is not None:
            return f"the server has no {self._what}: {self.refusal}"
        if not self.is_complete:
            return f"{self._what} are not listed yet{self._because()}"
        if self._listing:
            return f"{self._what} are being listed anew{self._because()}"
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
                self._note(problem, "watch expired, listing again")
                self._version = ""
                if resumes:
                    self._failures = 0  # it is back, and we are late: no reason to wait for long
            except (errors.Forbidden, errors.NotFound) as problem:
                self._note_refusal(problem)
            except errors.KubeError as problem:
                self._note(problem, "watch lost")
                self._note_break()
            except Exception as problem:  # noqa: BLE001 - one kind must not blind all others
                self._note_defect(problem)
            else:
                if self._has_ended_in_order():
                    continue
                words = f"the server ended the watch of {self._what} at once"
                self._note(errors.Unavailable(words), "watch lost")
            self._failures = 1 if self._has_seen_for(_STEADY_SECONDS) else self._failures + 1
            self._sees_since = None
            await self._clock.sleep(self._pause())

    async def _follow(self) -> None:
        if not self._version:
            self._begin_listing()
            self._listing = True
        self._is_silent = True
        async with aclosing(self._open(self._version)) as stream:
            async for news in stream:
                self._is_silent = news.complete or (self._is_silent and self._is_known(news))
                self._take(news)
                self._version = news.version or self._version
                self._hear(complete=news.complete)

    def _is_known(self, news: N) -> bool:
        return news.version in ("", self._version)

    def _has_ended_in_order(self) -> bool:
        """False: that was too soon."""
        is_silent = self._is_silent and self._relist is Relist.AFTER_TROUBLE
        if is_silent or self._relist is Relist.ALWAYS:
            self._version = ""
        if not self._has_seen_for(_SHORTEST_STREAM_SECONDS):
            return False
        self._see_again()
        self._failures, self._sees_since = 0, None
        return True

    def _note_break(self) -> None:
        """A stream that opens and breaks again and again at the same place holds something that we
        cannot get past: only a listing leads around it.
        """
        if self._relist is not Relist.WHEN_EXPIRED:
            self._version = ""
        if self._sees_since is None or self._has_seen_for(_STEADY_SECONDS):
            self._broken = 0
            return
        self._broken += 1
        if self._broken >= _MOST_BROKEN:
            self._version, self._broken = "", 0

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
        if not self.is_complete or complete:
            self.is_complete = True
            self._changed.set()

    def _see_again(self) -> None:
        if self.problem is not None or self.refusal is not None:
            self.log.info("watch recovered")
        self.problem = self.refusal = None

    def _has_seen_for(self, seconds: float) -> bool:
        """The stream that is open, or has just ended, has told us what changes for so long."""
        since = self._sees_since
        return since is not None and self._clock.monotonic() - since >= seconds

    def _note(self, problem: errors.KubeError, what: str) -> None:
        if self.problem is None or type(problem) is not type(self.problem):
            self.log.warning(what, problem=str(problem))
        self.problem = problem
        self._changed.set()

    def _note_defect(self, problem: Exception) -> None:
        """Nobody expected it, so what it left half done is not known: only a listing heals that."""
        words = f"internal error, please report it: {type(problem).__name__}: {problem}"
        if str(self.problem) != words:
            self.log.error("watch failed: internal error, please report", exc_info=problem)
        self.problem = errors.Unavailable(words)
        self._version = ""
        self._changed.set()

    def _note_refusal(self, problem: errors.KubeError) -> None:
        is_news = type(problem) is not type(self.refusal)
        self.refusal, self.problem = problem, None
        if is_news:
            self._tell_refusal(problem)
        self._version, self.is_complete, self._listing = "", False, False
        self._forget_all()
        self._changed.set()

    def _tell_refusal(self, problem: errors.KubeError) -> None:
        self.log.warning("watch refused", problem=str(problem))

    def _pause(self) -> float:
        asked = self.problem.retry_after_seconds if self.problem else None
        return self._pauses.after(
            self._failures, refused=self.refusal is not None, asked_seconds=asked or 0.0
        )
