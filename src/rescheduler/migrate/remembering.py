"""What a process remembers of a migration: how long things have taken, by its own clock.

It bounds our patience. What is to be done next, the cluster and the record tell.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rescheduler.migrate.deciding.facts import Progress, Rehearsed, View
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.migrate.deciding.records import Standing
from rescheduler.migrate.deciding.stages import Method, Stage
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating

BEGINNING: Final = (Stage.CHECK, Stage.MARK, Stage.CREATE, Stage.PROTECT, Stage.STEER)
"""The stages in which nothing has happened yet that anybody could notice."""
_AFTER_EVICTION: Final = (Stage.EVICT, Stage.WAIT_GONE, Stage.WAIT_REPLACEMENT, Stage.CLEAN_UP)


@dataclass(slots=True, kw_only=True)
class Memory:
    started: float
    """The migration, maybe by another process."""
    taken_up: float
    """By this one."""
    created: bool = False
    giving_up: Outcome | None = None
    copy_since: float | None = None
    copy_ready_since: float | None = None
    budget_allows: bool = False
    budget_refused_since: float | None = None
    may_have_evicted: bool = False
    rehearsed: Rehearsed | None = None
    resized: frozenset[str] = frozenset()
    resized_at: int = -1
    steered: bool | None = None
    steering_refused: str = ""
    steering_since: float | None = None
    ending_since: float | None = None
    replacement_since: float | None = None

    @classmethod
    def of(cls, standing: Standing, now: float, wall: datetime) -> "Memory":
        """The wall clock bridges a restart; it may have been set back meanwhile."""
        begun = standing.started_at
        already = max(0.0, (wall - begun).total_seconds()) if begun else 0.0
        return cls(
            started=now - already,
            taken_up=now,
            created=bool(standing.new_uid),
            giving_up=standing.giving_up,
        )

    def forget_budget(self) -> None:
        """An allowance, and a refusal, hold for the instant in which they are given."""
        self.budget_allows = False
        self.budget_refused_since = None

    def learn(self, view: View, now: float) -> None:
        if view.copy is not None:
            self.created = True
            self.copy_since = now if self.copy_since is None else self.copy_since
        if view.copy is None or not conditions.holds(view.copy, "Ready"):
            self.copy_ready_since = None
        elif self.copy_ready_since is None:
            self.copy_ready_since = now
        if view.original is None or not is_terminating(view.original):
            self.ending_since = None
        elif self.ending_since is None:
            self.ending_since = now
        if view.original is not None:
            self.replacement_since = None
        elif self.replacement_since is None:
            self.replacement_since = now

    def progress(self, standing: Standing, now: float, wall: datetime, not_there: str) -> Progress:
        is_steered = standing.method is Method.STEER
        return Progress(
            now=wall,
            method=standing.method,
            created=self.created,
            running_seconds=now - self.started,
            resumed_seconds=now - self.taken_up,
            copy_seconds=None if self.copy_since is None else now - self.copy_since,
            copy_ready_seconds=_since(self.copy_ready_since, now),
            budget_allows=self.budget_allows,
            budget_refused_seconds=_since(self.budget_refused_since, now),
            giving_up=self.giving_up,
            may_have_evicted=self.may_have_evicted,
            rehearsed=self.rehearsed,
            resized=self.resized,
            resized_at=self.resized_at,
            steered=self.steered,
            steering_refused=self.steering_refused,
            steering_seconds=_since(self.steering_since, now),
            evicted=is_steered and (bool(standing.siblings) or standing.stage in _AFTER_EVICTION),
            siblings=frozenset(standing.siblings),
            unready=standing.unready,
            fallback=standing.fallback,
            ending_seconds=_since(self.ending_since, now),
            replacement_seconds=_since(self.replacement_since, now),
            not_there=not_there,
        )


def _since(start: float | None, now: float) -> float:
    return 0.0 if start is None else now - start
