"""What was done since this process began, in numbers; and what is told of many that are alike."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason

_FEW: Final = 20
_SECONDS: Final = 60.0


@dataclass(slots=True)
class Figures:
    """Readable at any time."""

    completed: int = 0
    failed: int = 0
    landed_elsewhere: int = 0
    retries: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    """By cause."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Of failures."""
    in_flight: int = 0
    """Without those that are ending."""
    ending: int = 0
    """Their copies serve, and the originals are told to end: they hold up nobody."""
    allowed: int = 0
    paused_seconds: float = 0.0

    def begin(self, record: Object) -> None:
        is_new = podmigration.phase_of(record) is Phase.PENDING
        self.retries += is_new and podmigration.attempt_of(record) > 1

    def end(self, record: Object, outcome: Outcome) -> None:
        if outcome.reason is Reason.NOT_FINISHED:
            return
        if outcome.moved:
            self.completed += 1
            self.landed_elsewhere += outcome.reason is Reason.LANDED_ELSEWHERE
        else:
            self.failed += 1
            self.reasons[outcome.reason] += 1
        if fallback := podmigration.fallback_of(record):
            self.fallbacks[fallback] += 1


@dataclass(slots=True)
class Crowd:
    """Of each kind a few are told one by one, and of the rest how many they are."""

    _since: float = float("-inf")
    _met: Counter[str] = field(default_factory=Counter)

    def is_one_of_few(self, kind: str) -> bool:
        """Whether this one is told by itself; else it is counted."""
        self._met[kind] += 1
        return self._met[kind] <= _FEW

    def untold(self, now: float) -> Mapping[str, int]:
        """Once a minute: how many of each kind were met beside those that were told."""
        if now - self._since < _SECONDS:
            return {}
        found = {kind: times - _FEW for kind, times in self._met.items() if times > _FEW}
        self._since, self._met = now, Counter()
        return found
