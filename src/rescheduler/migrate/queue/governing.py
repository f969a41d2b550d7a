"""How many migrations may run at once: fewer while the API server is in trouble, none for a while
when one after the other fails. Pure: the time is handed in.
"""

from dataclasses import dataclass
from typing import Final

from rescheduler.config import CircuitBreaker
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.migrate.deciding.surge import rehearsing
from rescheduler.model.podmigration import Reason, reasons

_BETWEEN_CUTS_SECONDS: Final = 5.0
"""Trouble comes to all that run at once, and is one trouble."""


@dataclass(slots=True)
class Concurrency:
    """Halved on trouble, one more with each migration that ended well: as TCP finds its speed."""

    most: int
    _allowed: float = 0.0
    _cut_at: float = float("-inf")

    def __post_init__(self) -> None:
        self._allowed = float(self.most)

    @property
    def allowed(self) -> int:
        return max(1, int(self._allowed))

    def trouble(self, now: float) -> None:
        if now - self._cut_at >= _BETWEEN_CUTS_SECONDS:
            self._cut_at = now
            self._allowed = max(1.0, self._allowed / 2)

    def success(self) -> None:
        self._allowed = min(float(self.most), self._allowed + 1)


@dataclass(slots=True)
class Breaker:
    settings: CircuitBreaker
    failures: int = 0
    """In a row."""
    _open_until: float = float("-inf")

    def learn(self, outcome: Outcome, now: float) -> bool:
        """Whether it opens by this one."""
        if outcome.moved:
            self.failures = 0
        if outcome.moved or _says_nothing_of_others(outcome):
            return False
        was_paused = self.pause_left(now) > 0
        self.failures += 1
        if self._is_tripped:
            self._open_until = now + self.settings.pause_seconds
        return self._is_tripped and not was_paused

    @property
    def _is_tripped(self) -> bool:
        return 0 < self.settings.failures <= self.failures

    def pause_left(self, now: float) -> float:
        """Seconds for which none may begin."""
        return max(0.0, self._open_until - now) if self._is_tripped else 0.0

    @property
    def is_on_trial(self) -> bool:
        """After the pause a single one is tried."""
        return self._is_tripped


def _says_nothing_of_others(outcome: Outcome) -> bool:
    """What is about this pod or its namespace alone, and would be the same tomorrow."""
    if outcome.reason is Reason.REFUSED:
        return rehearsing.is_of_policy(outcome.message)
    return outcome.reason in reasons.OF_ITS_WORKLOAD
