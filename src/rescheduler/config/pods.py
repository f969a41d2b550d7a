"""The section `pods`: which pods may be moved, beyond the rules that nobody can switch off."""

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.durations import HOUR
from rescheduler.documents.kinds import Count, Duration, LabelKey, Optional
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.settings import setting

NEVER: Final = "Never"
WHEN_ASKED: Final = "WhenAsked"
ALLOWED: Final = "Allowed"
_PERMISSION: Final = Choice((NEVER, WHEN_ASKED, ALLOWED))
_ONCE_A_FLAG: Final = Choice((NEVER, WHEN_ASKED, ALLOWED), {True: ALLOWED, False: NEVER})

_LOWEST_PRIORITY: Final = -(2**31)
_LONGEST_AGE: Final = 7 * 24 * HOUR  # A float of seconds still holds every nanosecond of it.


def permits(permission: str, *, asked: bool) -> bool:
    return permission == ALLOWED or (permission == WHEN_ASKED and asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRules:
    """Whether some kinds of pods may be moved is `Never`; `WhenAsked`: when a person or a
    maintenance wants the pod away; or `Allowed`: always.
    """

    priority_threshold: int | None = setting(
        "priorityThreshold", Optional(Count(lowest=_LOWEST_PRIORITY)), default=None
    )
    """Pods of this priority and above stay. Default None: only what is system-critical does."""

    min_pod_age_seconds: float = setting(
        "minPodAge", Duration(lowest=0, highest=_LONGEST_AGE), default=0.0
    )
    """Younger pods stay. Default 0: a pod that is Ready can be judged. Up to 7 days."""

    min_replicas: int = setting("minReplicas", Count(lowest=1), default=1)
    """Pods of workloads with fewer replicas stay. Default 1, as the copy is Ready before the pod
    goes, so a workload of one pod loses nothing.
    """

    empty_dir: str = setting("emptyDir", _PERMISSION, default=ALLOWED)
    """Whether pods with emptyDir volumes may move, and leave behind what is in them. Default
    Allowed: it is scratch, which every rollout discards. Of a pod without a controller it counts as
    `localStorage` too.
    """

    local_storage: str = setting("localStorage", _ONCE_A_FLAG, default=WHEN_ASKED)
    """Whether pods with hostPath or generic ephemeral volumes may move, and leave behind what is in
    them: it may be data that took long to gather. Default WhenAsked.
    """

    jobs: str = setting("jobs", _ONCE_A_FLAG, default=NEVER)
    """Whether pods of Jobs may move: they begin anew, and the work done so far is lost. Default
    Never.
    """

    bare_pods: str = setting("barePods", _ONCE_A_FLAG, default=WHEN_ASKED)
    """Whether pods without a controller may move. They are copied under another name, and go when
    the copy is Ready; but nobody makes them again if that goes wrong. Default WhenAsked.
    """

    recreate: str = setting("recreate", _PERMISSION, default=WHEN_ASKED)
    """Whether a pod may be moved that has to end before its successor begins: one of a StatefulSet,
    one with a volume for one pod at a time, one with ports of its node. Default WhenAsked.
    """

    other_controllers: str = setting("otherControllers", _PERMISSION, default=WHEN_ASKED)
    """Whether pods may move whose controller is of a kind that we do not know, such as a CloneSet
    or a database's Cluster: they are evicted, one of an owner at a time, and only that controller
    makes them anew. Protects what it alone knows how to stop and to start. Default WhenAsked.
    `recreate` counts beside it.
    """

    group_label: str = setting("groupLabel", LabelKey(), default="")
    """Pods of a namespace that share a value of this label move together or not at all, as those do
    that belong to one group of the coscheduling plugin or of Kueue. Default: no such label.
    """
