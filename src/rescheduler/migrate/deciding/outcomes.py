"""How a migration ended."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """For machines; the message beside it is for people."""

    COMPLETED = "Completed"
    LANDED_ELSEWHERE = "LandedElsewhere"

    # Nothing was begun.
    NOT_NOW = "NotNow"
    NOT_MOVABLE = "NotMovable"
    INVALID = "Invalid"

    CANCELLED = "Cancelled"

    # Begun and taken back.
    NOT_READY_IN_TIME = "NotReadyInTime"
    SIBLING_NOT_READY = "SiblingNotReady"
    BUDGET_REFUSED = "BudgetRefused"
    SEVERAL_BUDGETS = "SeveralBudgets"
    COPY_FAILED = "CopyFailed"
    COPY_LOST = "CopyLost"
    COPY_CHANGED = "CopyChanged"
    COPY_REFUSED = "CopyRefused"
    COPY_DIFFERS = "CopyDiffers"
    ORIGINAL_GONE = "OriginalGone"
    TARGET_LOST = "TargetLost"
    WORKLOAD_GONE = "WorkloadGone"
    WORKLOAD_CHANGED = "WorkloadChanged"
    GROUP_FAILED = "GroupFailed"
    NOT_STEERED = "NotSteered"
    REFUSED = "Refused"
    TIMED_OUT = "TimedOut"

    # Evicted, and not where it should be.
    BACK_ON_SOURCE = "BackOnSource"
    REPLACEMENT_NOT_READY = "ReplacementNotReady"

    # The ReplicaSet had the last word.
    SIBLING_REMOVED = "SiblingRemoved"

    # Left to the next run.
    NOT_FINISHED = "NotFinished"


GIVING_WAY = frozenset(
    {
        Reason.NOT_NOW,
        Reason.NOT_MOVABLE,
        Reason.CANCELLED,
        Reason.BUDGET_REFUSED,
        Reason.SEVERAL_BUDGETS,
        Reason.SIBLING_NOT_READY,
        Reason.COPY_LOST,
        Reason.COPY_REFUSED,
        Reason.COPY_DIFFERS,
        Reason.ORIGINAL_GONE,
        Reason.TARGET_LOST,
        Reason.WORKLOAD_GONE,
        Reason.WORKLOAD_CHANGED,
        Reason.GROUP_FAILED,
        Reason.NOT_FINISHED,
    }
)
"""Somebody had other plans, or the pod could not be moved, or it has not failed yet: no sign that
something is wrong with more than this one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    moved: bool
    """False: the original is where it was, or went by another hand; nothing of ours is left, unless
    the reason is NotFinished."""
    reason: Reason
    message: str
