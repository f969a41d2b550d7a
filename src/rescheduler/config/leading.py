"""The section `leaderElection`, with the names that it has in a scheduler configuration."""

from dataclasses import dataclass

from rescheduler.documents.durations import SECOND
from rescheduler.documents.kinds import Duration, Flag, Text, WholeSeconds
from rescheduler.documents.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    leader_elect: bool = setting("leaderElect", Flag(), default=True)
    """Whether to act only while holding the lease. Default true: two that act would fight."""

    lease_duration_seconds: int = setting(
        "leaseDuration", WholeSeconds(duration=Duration(lowest=SECOND)), default=15
    )
    """After which a leader that is not heard of any more may be followed by another. Default 15 s.
    """

    renew_deadline_seconds: float = setting("renewDeadline", Duration(lowest=SECOND), default=10.0)
    """After which a leader that could not renew its lease stops to act. Default 10 s; shorter than
    leaseDuration, so that it has stopped before another begins.
    """

    retry_period_seconds: float = setting("retryPeriod", Duration(lowest=SECOND // 10), default=2.0)
    """Between two tries to renew the lease. Default 2 s. Whoever stands by looks at it a bit more
    often: so it acts within leaseDuration and retryPeriod after a leader has died.
    """

    resource_name: str = setting("resourceName", Text(may_be_empty=False), default="rescheduler")
    """Of the Lease. Default "rescheduler"."""

    resource_namespace: str = setting(
        "resourceNamespace", Text(may_be_empty=False), default="kube-system"
    )
    """Of the Lease. Default "kube-system": its API server protects renewals there."""
