"""What was done since this process began, in numbers."""

from collections import Counter
from dataclasses import dataclass, field

from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason


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
