"""The sections `migration` and `groups`: how pods are moved."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.durations import MILLISECOND, SECOND
from rescheduler.documents.kinds import Count, CountOrShare, Duration, Flag, Optional, WholeSeconds
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.settings import setting, subsection
from rescheduler.model.podmigration import Way

AUTO: Final = "Auto"
BY_NAME: Final = tuple(each.value for each in Way if each.is_by_name)
"""Those that people may ask for."""
WAYS: Final = (AUTO, *BY_NAME)

EVICT: Final = "Evict"
NO_FALLBACK: Final = "Never"
FALLBACKS: Final = (EVICT, NO_FALLBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryBudget:
    """The PodDisruptionBudget that guards a workload which has none, while one of its pods is
    evicted. At most one of the two numbers is set.
    """

    enabled: bool = setting("enabled", Flag(), default=True)
    """Default true."""

    min_available: int | str | None = setting(
        "minAvailable", Optional(CountOrShare()), default=None
    )
    """A number of pods, or a share such as "50%". Default, when neither is set: 1."""

    max_unavailable: int | str | None = setting(
        "maxUnavailable", Optional(CountOrShare()), default=None
    )
    """A number of pods, or a share such as "25%". Default: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When a migration that failed is tried again."""

    attempts: int = setting("attempts", Count(lowest=1), default=3)
    """The most for one pod; further ones only by hand: `rescheduler retry`. Default 3."""

    back_off_seconds: float = setting("backOff", Duration(lowest=0), default=60.0)
    """After the first failure; it doubles with each. Default 1 min."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """When migrations fail one after the other, something is wrong that is not about one pod."""

    failures: int = setting("failures", Count(), default=5)
    """So many in a row, and no other begins for a while; 0: never. Default 5."""

    pause_seconds: float = setting("pause", Duration(lowest=0), default=300.0)
    """How long none begins; then a single one is tried. Default 5 min."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long records of finished migrations are kept."""

    max_age_seconds: float = setting("maxAge", Duration(lowest=0), default=86400.0)
    """Default 24 h."""

    max_count: int = setting("maxCount", Count(), default=500)
    """The most that are kept in the whole cluster, the youngest. Default 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """How one pod is moved."""

    way: str = setting("way", Choice(WAYS), default=AUTO)
    """`Surge`: ready on the target before the old pod goes, or not at all; `Recreate`: the old pod
    is evicted, and its successor steered to the target; `Auto`: by surge where that can be. Default
    Auto. The annotation rescheduler.io/way on a pod counts before this.
    """

    coordination: bool = setting("coordination", Flag(), default=True)
    """Whether evicted pods are steered, and guarded by a temporary budget. Default true; false:
    they are evicted where their budget allows it, and land where the scheduler likes.
    """

    fallback: str = setting("fallback", Choice(FALLBACKS), default=EVICT)
    """When steering is not to be had: `Evict` all the same, where the budget allows it, or `Never`.
    Default Evict.
    """

    workers: int = setting("workers", Count(lowest=1), default=100)
    """The most migrations at the same time, but for those whose original is only ending. It
    protects the API server; while that is in trouble, there are fewer. Default 100.
    """

    ready_timeout_seconds: float = setting(
        "readyTimeout", Duration(lowest=MILLISECOND), default=300.0
    )
    """How long a copy may take to become Ready. Default 5 min: time for a large image."""

    settle_seconds: float = setting("settle", Duration(lowest=0), default=0.0)
    """Extra wait once the copy is Ready and in the EndpointSlices, before the old pod goes.
    Default 0: being in the EndpointSlices is what clients go by.
    """

    linger_seconds: float = setting("linger", Duration(lowest=0), default=12.0)
    """How long an original finishes what it has, out of its Services, before it is told to end:
    for servers that drop it then. Never longer than its own grace period. Default 12 s: time for a
    download of ten; 0: it is told at once. The annotation rescheduler.io/linger on a pod counts
    before this; one whose containers have a preStop hook, and one with readiness gates, is told at
    once.
    """

    eviction_grace_period_seconds: int = setting(
        "evictionGracePeriod", WholeSeconds(duration=Duration(lowest=SECOND)), default=30
    )
    """What the old pod gets to shut down, when we evict it; its ReplicaSet, which is mostly faster,
    gives it its own. Never less than its own. Default 30 s, as Kubernetes. Never 0: that would drop
    the pod from the API while its containers still run.
    """

    budget_timeout_seconds: float = setting("budgetTimeout", Duration(lowest=0), default=60.0)
    """How long to keep asking while a PodDisruptionBudget refuses. Default 1 min; 0: ask once."""

    steer_timeout_seconds: float = setting("steerTimeout", Duration(lowest=0), default=10.0)
    """How long to wait until the API server is seen to steer. Default 10 s."""

    clean_up_timeout_seconds: float = setting(
        "cleanUpTimeout", Duration(lowest=SECOND), default=300.0
    )
    """After which what is temporary (budget, steering) goes, however the move stands. Default 5
    min.
    """

    do_not_disrupt_seconds: float = setting("doNotDisrupt", Duration(lowest=0), default=660.0)
    """For how long karpenter (1.12 or later) is asked to remove no node to which we chose to move a
    pod: that one says so by `karpenter.sh/do-not-disrupt`, unless it has that of its own. Counts
    from its start, and ends by itself. Default 11 min; 0: karpenter is not asked.
    """

    temporary_budget: TemporaryBudget = subsection("temporaryBudget", default=TemporaryBudget())
    retry: Retry = subsection("retry", default=Retry())
    circuit_breaker: CircuitBreaker = subsection("circuitBreaker", default=CircuitBreaker())
    retention: Retention = subsection("retention", default=Retention())


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Pods that move as a whole."""

    allow_recreate: bool = setting("allowRecreate", Flag(), default=False)
    """Whether a group moves of which a pod has to end before its successor begins. Default false.
    """
