"""The configuration in force: it may change while the program runs, whole or not at all."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from rescheduler.config import Configuration, ConfigurationError, Loaded, Source
from rescheduler.config.restarting import changed_settings, taken_up


@dataclass(frozen=True, slots=True)
class Refused:
    """The file says something that cannot be taken up."""

    since: datetime
    message: str
    """Every problem, a line each."""


@dataclass(slots=True, eq=False)
class Settings:
    """For whoever acts by it, and whoever shows it: metrics, health, Events."""

    configuration: Configuration
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Of every setting, by path: who said so."""
    refused: Refused | None = None
    """Why the file is not what is in force; None: it is."""
    needs_restart: tuple[str, ...] = ()
    """Paths of settings that the file has changed, and that a restart would take up."""
    changes: int = 0
    """How often another configuration has come into force."""
    refusals: int = 0
    _listeners: list[Callable[[], None]] = field(default_factory=list)

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """It is called when any of the above has changed."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def take_up(self, loaded: Loaded) -> None:
        before = self.configuration
        in_force, needs_restart = taken_up(before, loaded.configuration)
        was_refused, self.refused = self.refused, None
        self.sources = loaded.sources
        log = structlog.get_logger()
        if needs_restart and needs_restart != self.needs_restart:
            log.warning("configuration needs a restart", settings=list(needs_restart))
        self.needs_restart = needs_restart
        if changed := changed_settings(before, in_force):
            self.configuration = in_force
            self.changes += 1
            log.info("configuration changed", settings=list(changed))
        elif was_refused is not None:
            log.info("configuration is right again, and the one in force")
        self._tell()

    def refuse(self, problem: ConfigurationError, now: datetime) -> None:
        """The last good one stays."""
        since = self.refused.since if self.refused is not None else now
        self.refused = Refused(since, str(problem))
        self.refusals += 1
        structlog.get_logger().error(
            "configuration refused: the last good one stays in force", problem=str(problem)
        )
        self._tell()

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()
