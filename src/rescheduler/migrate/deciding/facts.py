"""What a surge is decided from: what is wanted, what the cluster shows, what we have seen."""

from dataclasses import dataclass
from datetime import datetime

from rescheduler.migrate.deciding import copies
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model.objects import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is to be moved: enough to go on with, found again on the copy after a crash."""

    namespace: str
    pod: str
    uid: str
    replica_set: str
    replica_set_uid: str
    source: str
    target: str
    strategy: str
    reason: str
    resumed: bool = False
    """Found on a copy, so there was one."""

    @property
    def copy(self) -> str:
        return copies.copy_name(self.replica_set, self.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the cluster shows now. An object counts only with the UID that is meant."""

    original: Object | None
    copy: Object | None
    copy_name_taken: bool
    """By a pod that is not ours."""
    replica_set: Object | None
    deployment: Object | None
    pods: tuple[Object, ...]
    """Those that the ReplicaSet controls."""
    services: tuple[Object, ...]
    slices: tuple[Object, ...]
    budgets: tuple[Object, ...]
    network_policies: tuple[Object, ...]
    replica_sets: tuple[Object, ...]
    """All of the namespace."""
    neighbours: tuple[Object, ...]
    """All pods of the namespace."""
    target: Object | None
    """The node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What this process has seen so far, in seconds of its own clock."""

    now: datetime
    created: bool = False
    running_seconds: float = 0.0
    copy_ready_seconds: float = 0.0
    budget_allows: bool = False
    budget_refused_seconds: float = 0.0
    giving_up: Outcome | None = None
