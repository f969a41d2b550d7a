"""What a process remembers of a migration: how long things have taken, by its own clock.

It bounds our patience. What is to be done next, the cluster and the record tell.
"""

from dataclasses import dataclass
from datetime import datetime

from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.facts import Progress, Rehearsed, View
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating


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
    left_since: float | None = None
    away_since: float | None = None
    times_left: int = 0
    cannot_leave: bool = False
    lingering_seconds: float = 0.0
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
    def of(cls, status: MigrationStatus, now: float, wall: datetime) -> "Memory":
        """The wall clock bridges a restart; it may have been set back meanwhile."""
        begun = status.started_at
        already = max(0.0, (wall - begun).total_seconds()) if begun else 0.0
        return cls(
            started=now - already,
            taken_up=now,
            created=bool(status.new_uid),
            giving_up=status.giving_up,
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
        self._learn_whether_it_left(view, now)
        if view.original is None or not is_terminating(view.original):
            self.ending_since = None
        elif self.ending_since is None:
            self.ending_since = now
        if view.original is not None:
            self.replacement_since = None
        elif self.replacement_since is None:
            self.replacement_since = now

    def _learn_whether_it_left(self, view: View, now: float) -> None:
        if view.original is not None and conditions.has_left(view.original):
            self.left_since = now if self.left_since is None else self.left_since
            self.away_since = now if self.away_since is None else self.away_since
        else:
            self.away_since = None

    def forget_that_it_left(self) -> None:
        """By our own hand it came back: should it leave again, that counts anew."""
        self.left_since = self.away_since = None

    def progress(
        self,
        status: MigrationStatus,
        now: float,
        wall: datetime,
        not_there: str,
        *,
        extender_steers: bool,
    ) -> Progress:
        goes_first = status.way is not None and not status.way.makes_a_copy
        return Progress(
            now=wall,
            way=status.way,
            created=self.created,
            running_seconds=now - self.started,
            resumed_seconds=now - self.taken_up,
            copy_seconds=None if self.copy_since is None else now - self.copy_since,
            copy_ready_seconds=_since(self.copy_ready_since, now),
            budget_allows=self.budget_allows,
            budget_refused_seconds=_since(self.budget_refused_since, now),
            giving_up=self.giving_up,
            may_have_evicted=self.may_have_evicted,
            left_seconds=_since(self.left_since, now),
            away_seconds=_since(self.away_since, now),
            times_left=self.times_left,
            cannot_leave=self.cannot_leave,
            lingering_seconds=self.lingering_seconds,
            rehearsed=self.rehearsed,
            resized=self.resized,
            resized_at=self.resized_at,
            steered=self.steered,
            steering_refused=self.steering_refused,
            steering_seconds=_since(self.steering_since, now),
            evicted=goes_first and (bool(status.siblings) or status.step.is_after_eviction),
            siblings=frozenset(status.siblings),
            unready=status.unready,
            fallback=status.fallback,
            extender_steers=extender_steers,
            ending_seconds=_since(self.ending_since, now),
            replacement_seconds=_since(self.replacement_since, now),
            not_there=not_there,
        )


def _since(start: float | None, now: float) -> float:
    return 0.0 if start is None else now - start
