"""How long a surge waits for what. All but the grace period count from its beginning. Pure."""

from rescheduler.config import Migration
from rescheduler.model.objects import Object


def grace(pod: Object, limits: Migration) -> int:
    own: int = pod["spec"].get("terminationGracePeriodSeconds") or 0
    return max(limits.eviction_grace_period_seconds, own)


def time_to_serve(replica_set: Object | None, limits: Migration) -> float:
    settle: float = (replica_set or {"spec": {}})["spec"].get("minReadySeconds") or 0
    return limits.ready_timeout_seconds + settle + limits.settle_seconds


def time_to_hand_over(replica_set: Object | None, limits: Migration) -> float:
    return time_to_serve(replica_set, limits) + limits.budget_timeout_seconds


def to_the_end(pod: Object, replica_set: Object | None, limits: Migration) -> float:
    """How long a pod that was told to end, or should be, is waited for."""
    hand_over = time_to_hand_over(replica_set, limits)
    return hand_over + limits.ready_timeout_seconds + grace(pod, limits)
