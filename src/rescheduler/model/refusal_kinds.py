"""Classes of the reasons for which pods stay, few enough to be counted. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from rescheduler.model.moves import Refusal


class RefusalKind(StrEnum):
    """The message beside it says it exactly; this says whose business it is."""

    EXCLUDED = "Excluded"
    """By the configuration, or by what the pod, its owner or its namespace says of itself."""
    BUDGET = "Budget"
    QUOTA = "Quota"
    UNDER_WAY = "UnderWay"
    """It is being moved, is ending, or its node is being removed by others."""
    COOLDOWN = "Cooldown"
    FAILED_BEFORE = "FailedBefore"
    RECREATE = "Recreate"
    """It could only be recreated, which nobody permits."""
    WORKLOAD = "Workload"
    """Its workload is rolling out, scaling, not found, or has pods that are not Ready."""
    GROUP = "Group"
    NOT_SEEN = "NotSeen"
    """Something that would have to be known is not."""
    NO_NODE = "NoNode"
    """No node takes it: room, affinity, taints, volumes."""
    LIMIT = "Limit"
    """This pass had taken all the moves, or all the time, that it may: the next one goes on."""
    NO_GAIN = "NoGain"
    """It may go, and would help nobody, or others help more."""
    OTHER = "Other"


# The first that matches counts, so what is more telling stands first.
_WORDS: Final = (
    (RefusalKind.NOT_SEEN, (" not known: ", "cannot be seen", "were not seen")),
    (
        RefusalKind.GROUP,
        (" of its group", "its group moves", "copies of its group", "to a group, "),
    ),
    (
        RefusalKind.UNDER_WAY,
        (
            "is being moved",
            "moves already",
            "is terminating",
            "taking its place",
            "is not there yet",
            "is removing its node",
            "it has no node yet",
            "its node is not there",
        ),
    ),
    (RefusalKind.LIMIT, ("maxReschedulePods is reached", "the search was ended")),
    (
        RefusalKind.NO_GAIN,
        (
            "moving it",
            "it uses nothing",
            "would help",
            "other moves lower",
        ),
    ),
    (RefusalKind.FAILED_BEFORE, ("its move failed", " failed, the last as", "left it short")),
    (RefusalKind.COOLDOWN, ("stability.cooldown",)),
    (
        RefusalKind.RECREATE,
        ("would recreate it", "would be recreated", "one pod at a time may have its volume"),
    ),
    (RefusalKind.BUDGET, ("PodDisruptionBudget",)),
    (RefusalKind.QUOTA, ("ResourceQuota",)),
    (
        RefusalKind.NO_NODE,
        (
            "no node takes it",
            "no node can take it",
            "there is no other node",
            "not enough ",
            "no room for",
            "must be near it",
            "affinity",
            "taint",
            "topology spread",
            "its claim ",
            "whatever a scheduler says",
        ),
    ),
    (
        RefusalKind.EXCLUDED,
        (
            "keeps it out",
            "excluded",
            "scope.",
            "its namespace is",
            "critical to the system",
            ", and pods.",
            "pods.priorityThreshold",
            "pods.minReplicas",
            "pods.minPodAge",
            "--skip-",
            "DaemonSet",
            "static pod",
            "another scheduler",
            "scheduling gates",
            "its annotation rescheduler.io/way",
            "resource claims",
        ),
    ),
    (
        RefusalKind.WORKLOAD,
        (
            "not Ready",
            "not Running and Ready",
            "HorizontalPodAutoscaler",
            "PersistentVolumeClaim",
            "was not found",
            "rolling out",
            "rolled out",
            "rollout",
            "been changed",
            "is being deleted",
            "back on ",
            " pods",
            "scal",
            "paused",
            "replicas",
            "of its ",
            "its workload",
            "its controller",
        ),
    ),
)


def kind_of(refusal: Refusal) -> RefusalKind:
    """By the first of its reasons: a pod is counted once."""
    words = refusal.reasons[0] if refusal.reasons else ""
    for kind, signs in _WORDS:
        if any(sign in words for sign in signs):
            return kind
    return RefusalKind.OTHER


def counted(refusals: Iterable[Refusal]) -> Mapping[str, int]:
    """By every kind, also of those that there are none of."""
    found = Counter(kind_of(each) for each in refusals)
    return {kind.value: found[kind] for kind in RefusalKind}
