"""What a migration is decided from: what is wanted, what the cluster shows, what we have seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from rescheduler.config import Migration
from rescheduler.migrate.deciding import naming
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.model import controllers
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Way


class Owner(NamedTuple):
    """The controller of the pod."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def known_as(self) -> str:
        return controllers.known_as(self.kind, self.api_version)

    @property
    def is_foreign(self) -> bool:
        """Of a kind that we do not know: what it wants, only its pods tell."""
        return controllers.is_foreign(self.known_as)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is to be moved, as the specification of its record says, and who controls it."""

    record: str
    """The name of the PodMigration."""
    id: str
    """What the pods of this migration are labelled with."""
    namespace: str
    pod: str
    uid: str
    source: str
    target: str
    strategy: str
    reason: str
    requested_at: datetime
    settings: Migration
    owner: Owner | None = None
    """None: nobody controls it. As recorded once the migration has begun, else as of now."""
    asked: bool = False
    forced: bool = False
    attempt: int = 1
    way: Way | None = None
    """None: whichever is right."""
    may_recreate: bool = False
    """Whether a way may be chosen in which the pod ends before its successor begins."""
    group: str = ""
    group_size: int = 0
    asks: Mapping[str, int] | None = None
    """What the copy will ask for, once that is known; else what the original does."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.pod}"

    @property
    def is_of_foreign(self) -> bool:
        return self.owner is not None and self.owner.is_foreign

    @property
    def replica_set(self) -> str:
        return self.owner.name if self.owner else ""

    @property
    def copy(self) -> str:
        """Known before the copy exists: a create whose answer was lost is found again by it."""
        if self.owner is None:
            return naming.standalone_name(self.pod, self.requested_at)
        return naming.copy_name(self.owner.name, self.id)


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
    """Those that the owner controls."""
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
    source: Object | None
    """The node of the original."""
    stateful_set: Object | None = None
    job: Object | None = None
    stateful_sets: tuple[Object, ...] = ()
    daemon_sets: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()
    """All PersistentVolumeClaims of the namespace."""
    records: tuple[Object, ...] = ()
    """All PodMigrations of the namespace, our own among them."""
    is_live: bool = True
    """Read just now; else what watches told so far, which may be behind."""

    @property
    def workload(self) -> Object | None:
        """The controller of the pod, whatever its kind."""
        return self.replica_set or self.stateful_set or self.job


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What dry runs have shown of the pods of one template."""

    template: str
    """Which one."""
    answer: Object | None = None
    """A pod just as its owner would get it; None: that cannot be known beforehand."""
    siblings: tuple[Object, ...] = ()
    """Some pods as its owner has got them, where there is no answer."""
    is_given_twice: bool = False
    """Admission gives to a copy of the answer once more what it has given already: copies are made
    of the template."""
    refusal: Outcome | None = None
    """Why no copy is to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has been done and seen so far: what the record tells, and what this process remembers,
    in seconds of its own clock.
    """

    now: datetime
    way: Way | None = None
    """As recorded; None: not chosen yet."""
    created: bool = False
    """There was a copy, so one that is missing was deleted by somebody."""
    running_seconds: float = 0.0
    """Since the migration began, also before this process."""
    resumed_seconds: float | None = None
    """Since this process took it up; None: it has it from the beginning."""
    copy_seconds: float | None = None
    """Since this process has first seen the copy; None: as long as it is at it."""
    copy_ready_seconds: float = 0.0
    budget_allows: bool = False
    budget_refused_seconds: float = 0.0
    giving_up: Outcome | None = None
    """Recorded too: whoever resumes it goes on taking back."""
    may_have_evicted: bool = False
    """This process sent the eviction of the original, and was not refused. Watches may not have
    told yet that it ends, and whoever wants the move taken back since then comes too late.
    """

    left_seconds: float = 0.0
    """Since this process has first seen the original out of its Services."""
    away_seconds: float = 0.0
    """The same, since its kubelet gave it back to them last."""
    times_left: int = 0
    """How often this process has taken it out of them."""
    cannot_leave: bool = False
    """The API server does not let us take it out of them."""
    lingering_seconds: float = 0.0
    """How long this process has waited for originals, its own or those of siblings, that finish
    what they have."""

    # Of surges.
    rehearsed: Rehearsed | None = None
    """None: not asked yet."""
    resized: frozenset[str] = frozenset()
    """The containers of the original whose size was changed while it ran."""
    resized_at: int = -1
    """The generation of the original that this is about; it was not asked about later ones."""

    # Of pods that are recreated.
    steered: bool | None = None
    """Whether a dry run has shown that the API server steers; None: not asked yet."""
    steering_refused: str = ""
    """Why the API server refuses the pod that it was shown, for good; empty: it does not."""
    steering_seconds: float = 0.0
    """Since it was asked to."""
    evicted: bool = False
    """The eviction was recorded as begun; that the original ends may be our doing."""
    siblings: frozenset[str] = frozenset()
    """UIDs of the pods of the workload before the eviction."""
    unready: bool = False
    """The original was not Ready when it was evicted: its successor need not be, either."""
    fallback: str = ""
    """Why the eviction goes unsteered, if it does."""
    extender_steers: bool = False
    """A scheduler is answered by us: where the API server does not steer, that may."""
    ending_seconds: float = 0.0
    """Since the original was seen to end."""
    replacement_seconds: float = 0.0
    """Since the original was gone."""
    not_there: str = ""
    """Why the planner says that the target is not right any more; empty: it is, or it is unknown.
    """
    uneven_after: str = ""
    """Which hard spread would not hold with the copy in place of its original. Asked just before
    what leads there is done; empty: all hold.
    """

    @property
    def here_seconds(self) -> float:
        """Since the migration began or, later, this process took it up: nobody could do anything
        about it before that.
        """
        known = self.resumed_seconds
        return self.running_seconds if known is None else min(known, self.running_seconds)

    @property
    def preparing_seconds(self) -> float:
        """The same without the time that it took until there was a copy."""
        return self.here_seconds if self.copy_seconds is None else self.copy_seconds
