"""Counts what becomes of plans, and knows how they stand."""

from collections.abc import Iterable

from rescheduler.model import strategies
from rescheduler.model.published import Plans
from rescheduler.serve import Recorder


class PlanCounts:
    def __init__(self, record: Recorder) -> None:
        self._record = record
        self._waiting = 0
        self._failing: frozenset[str] = frozenset()

    @property
    def now(self) -> Plans:
        failing = {name: name in self._failing for name in strategies.ALL}
        return Plans(waiting=self._waiting, failing=failing)

    def became(self, event: str) -> None:
        self._record.plan_became(event)

    def waiting(self, plans: int) -> None:
        self._waiting = plans

    def predicted(self, strategy: str, error: float) -> None:
        self._record.predicted(strategy, error)

    def bounced(self, pods: int) -> None:
        self._record.bounced(pods)

    def failing(self, strategies: Iterable[str]) -> None:
        self._failing = frozenset(strategies)
