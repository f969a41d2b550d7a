"""Asks the source at intervals, and hands what it says to the history."""

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.errors import ReschedulerError
from rescheduler.model.usage import Usage
from rescheduler.observe.usage.choosing import Choice, better_than, tell
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.learning import Learning
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.recalling import Recalling
from rescheduler.observe.usage.samples import Sample

# A sample that is not older is as good as another one: nobody measures more often than that.
_MOMENT_SECONDS: Final = 5.0
_LONGEST_LOOK_SECONDS: Final = 300.0
"""For who would rather be asked, and was not there yet."""


class Sampler:
    """`run` for as long as usage is wanted; ask for `usage` at any time."""

    def __init__(
        self,
        choice: Choice,
        clock: Clock,
        settings: UsageSettings,
        placement: Callable[[], Placement],
    ) -> None:
        """`placement` tells where pods are now. It is asked at every sample, as who left in between
        must not be taken out of samples that do not hold him.
        """
        self._clock = clock
        self._settings = settings
        self._interval_seconds = settings.interval_seconds
        self._moment_seconds = min(_MOMENT_SECONDS, settings.interval_seconds / 2)
        self._placement = placement
        self._use(choice)
        self._look_seconds = settings.interval_seconds
        """From one look for who would rather be asked to the next."""
        self._looked_at = clock.monotonic()
        self._asking = asyncio.Lock()
        self.samples = 0
        """That were taken so far: while it is the same, nothing new is known."""

    def _use(self, choice: Choice) -> None:
        """From now on; nothing that another one has measured counts any more."""
        tell(choice, self._settings)
        name = choice.source.name
        self._choice = choice
        self._source, self._first = choice.source, choice.sample
        self._history = History(self._settings, name)
        patience = self._settings.learned_patience
        self._learning = Learning(patience, name)
        self._recalling: Recalling | None = None
        if patience.enabled and choice.past is not None:
            rhythms, queries = self._learning.rhythms, self._settings.prometheus
            self._recalling = Recalling(choice.past, queries, rhythms, patience.days)
        self._log = structlog.get_logger().bind(source=name)
        self._asked_at = -math.inf
        self._failing_since: float | None = None
        self._told: set[str] = set()

    async def run(self) -> None:
        """Until cancelled; no failure of the source ends it."""
        while True:
            await self._look_for_better()
            await self.sample()
            if self._recalling is not None:
                await self._recalling.recall(self._placement(), self._now())
            await self._clock.sleep(self._interval_seconds)

    async def sample(self) -> None:
        """Once, now; unless there is one of this moment already, or is going to be."""
        async with self._asking:
            if self._clock.monotonic() - self._asked_at >= self._moment_seconds:
                await self._ask()
                self._asked_at = self._clock.monotonic()

    async def sample_anew(self) -> None:
        """Once, now; what was measured before is of another cluster, so to speak."""
        async with self._asking:
            self._history = History(self._settings, self._source.name)
            await self._ask()
            self._asked_at = self._clock.monotonic()

    async def _look_for_better(self) -> None:
        """Less and less often, as it is in vain."""
        now = self._clock.monotonic()
        if not self._choice.rather or now - self._looked_at < self._look_seconds:
            return
        self._looked_at = now
        longest = max(self._interval_seconds, _LONGEST_LOOK_SECONDS)
        self._look_seconds = min(2 * self._look_seconds, longest)
        try:
            found = await better_than(self._choice)
        except Exception as problem:  # noqa: BLE001 - a bug of ours: what is asked now goes on
            self._tell_bug(problem)
            return
        if found is not None:
            async with self._asking:
                self._use(found)

    async def _ask(self) -> None:
        try:
            first, self._first = self._first, None
            self._take(first or await self._source.read())
        except ReschedulerError as problem:
            self._note_failure(str(problem))
        # A bug of ours, or of a library: usage gets unknown, and everything else goes on.
        except Exception as problem:  # noqa: BLE001
            self._tell_bug(problem)
            self._note_failure(f"{type(problem).__name__}: {problem}")

    def _tell_bug(self, problem: Exception) -> None:
        kind = type(problem).__name__
        if kind not in self._told:
            self._told.add(kind)
            what = "usage cannot be measured: internal error, please report"
            self._log.error(what, exc_info=problem)

    def _take(self, sample: Sample) -> None:
        now = self._now()
        self.samples += 1
        if self._history.follows:
            # A placement is as long as the cluster is large.
            placement = self._placement()
            self._history.follow(placement, now)
            # Of the samples before this one, of which every pod has its figure by now.
            self._learning.take(placement, *self._history.of_pods(now), now)
        self._tell_once(self._history.add(sample, now))
        if self._failing_since is not None:
            lasted = round(now - self._failing_since)
            self._log.info("usage is measured again", after_seconds=lasted)
            self._failing_since = None

    def usage(self, placement: Placement) -> Usage:
        """What nodes and pods use, as of now and with the pods where they are now."""
        now = self._now()
        return self._learning.foretold(self._history.usage(placement, now), placement, now)

    def _note_failure(self, why: str) -> None:
        now = self._now()
        self._history.fail(why, now)
        if self._failing_since is None:
            self._failing_since = now
            self._log.warning("usage cannot be measured", because=why)

    def _tell_once(self, findings: Mapping[str, str]) -> None:
        for kind, text in findings.items():
            if kind not in self._told:
                self._told.add(kind)
                self._log.warning("usage is measured badly", problem=text)

    def _now(self) -> float:
        return self._clock.now().timestamp()
