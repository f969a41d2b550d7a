"""What all migrations of a process share."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rescheduler.clock import Clock
from rescheduler.config import Migration
from rescheduler.kube import KubeApi
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.worker.namespaces import Namespaces
from rescheduler.migrate.worker.rehearsals import Rehearsals
from rescheduler.model.objects import Object


class Planner(Protocol):
    """As far as a migration needs it."""

    def why_not(self, intent: Intent) -> str:
        """Why it would not make this move any more. Empty: from now on it reckons with it."""
        ...

    def why_uneven_after(self, intent: Intent) -> str:
        """Which hard spread would not hold with the copy in place of its original."""
        ...

    def forget(self, intent: Intent) -> None:
        """It has ended, one way or the other, or is left to whoever comes next."""
        ...


class RecordsConcerning(Protocol):
    def __call__(
        self, namespace: str, *, group: str, owner: str, pods: Iterable[str]
    ) -> Mapping[str, Object]:
        """By name: those of its group, and those of the pods of its workload."""
        ...


class Unplanned:
    """Nobody plans: whatever is asked for is right."""

    def why_not(self, intent: Intent) -> str:  # noqa: ARG002
        return ""

    def why_uneven_after(self, intent: Intent) -> str:  # noqa: ARG002
        return ""

    def forget(self, intent: Intent) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    kube: KubeApi
    clock: Clock
    namespaces: Namespaces
    rehearsals: Rehearsals
    settings: Migration
    holder: str
    fence: int
    planner: Planner
    records_concerning: RecordsConcerning
    learn: Callable[[Object], None]
    """A record was written: others look at it before the watch tells."""
    trouble: Callable[[], None]
    """The API server is slow, or asks us to slow down."""
    is_told: Callable[[str], bool]
    """Whether one that ends so, before it began, is told by itself: there may be thousands."""
    extender_steers: bool = False
    """A scheduler is answered by us which nodes it should rather take."""
    told: set[str] = field(default_factory=set)
    """What nobody needs to hear twice from one process."""
    jitter: random.Random = field(default_factory=random.Random)
