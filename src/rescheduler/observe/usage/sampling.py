"""Asks the source at intervals, and hands what it says to the history."""

from collections.abc import Mapping

import structlog

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.errors import ReschedulerError
from rescheduler.model.usage import Usage
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.sources import UsageSource


class Sampler:
    """`run` for as long as usage is wanted; ask for `usage` at any time."""

    def __init__(self, source: UsageSource, clock: Clock, settings: UsageSettings) -> None:
        self._source = source
        self._clock = clock
        self._interval_seconds = settings.interval_seconds
        self._history = History(settings, source.name)
        self._log = structlog.get_logger().bind(source=source.name)
        self._failing_since: float | None = None
        self._told: set[str] = set()

    async def run(self) -> None:
        """Until cancelled; no failure of the source ends it."""
        while True:
            await self.sample()
            await self._clock.sleep(self._interval_seconds)

    async def sample(self) -> None:
        """Once, now."""
        try:
            sample = await self._source.read()
        except ReschedulerError as problem:
            self._note_failure(str(problem))
            return
        # A bug of ours, or of a library: usage gets unknown, and everything else goes on.
        except Exception as problem:  # noqa: BLE001
            self._log.debug("usage source raised", exc_info=True)
            self._note_failure(f"{type(problem).__name__}: {problem}")
            return
        now = self._now()
        self._tell_once(self._history.add(sample, now))
        if self._failing_since is not None:
            lasted = round(now - self._failing_since)
            self._log.info("usage is measured again", after_seconds=lasted)
            self._failing_since = None

    def usage(self, placement: Placement) -> Usage:
        """What nodes and pods use, as of now and with the pods where they are now."""
        return self._history.usage(placement, self._now())

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
