"""Why migrations ended as they did, and what follows from it for the next one."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """For machines; the message beside it is for people."""

    COMPLETED = "Completed"
    LANDED_ELSEWHERE = "LandedElsewhere"

    # Nothing was begun.
    NOT_NOW = "NotNow"
    NOT_MOVABLE = "NotMovable"
    NO_TARGET = "NoTarget"
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


LEFT_SHORT: Final = Reason.REPLACEMENT_NOT_READY
"""Its workload was left with a pod less."""

NO_COPY: Final = frozenset({Reason.COPY_REFUSED, Reason.COPY_DIFFERS})
"""Admission refuses copies of this workload's pods, or makes them other than their siblings."""

GAVE_WAY: Final = frozenset(
    {
        *NO_COPY,
        Reason.NOT_NOW,
        Reason.NOT_MOVABLE,
        Reason.NO_TARGET,
        Reason.CANCELLED,
        Reason.SEVERAL_BUDGETS,
        Reason.COPY_LOST,
        Reason.ORIGINAL_GONE,
        Reason.TARGET_LOST,
        Reason.WORKLOAD_GONE,
        Reason.WORKLOAD_CHANGED,
        Reason.GROUP_FAILED,
        Reason.NOT_FINISHED,
    }
)
"""Somebody had other plans, or the pod could not be moved, or it has not failed yet: no sign that
it would fail another time.
"""

OF_ITS_WORKLOAD: Final = GAVE_WAY | {
    Reason.BUDGET_REFUSED,
    Reason.SIBLING_NOT_READY,
    Reason.INVALID,
}
"""No sign that something is wrong with more than this pod and its workload. A budget that refuses
may do so every time: that counts as an attempt, but says nothing of others.
"""

PASSING: Final = frozenset(
    {
        Reason.NOT_NOW,
        Reason.BUDGET_REFUSED,
        Reason.COPY_LOST,
        Reason.GROUP_FAILED,
        Reason.NOT_FINISHED,
        Reason.ORIGINAL_GONE,
        # By the API server: a quota that is full for a moment, or a rule that is there for good.
        Reason.REFUSED,
        Reason.SIBLING_NOT_READY,
        Reason.TARGET_LOST,
        Reason.WORKLOAD_CHANGED,
    }
)
"""What stood in its way is likely gone in a moment: whoever empties a node waits, and tries again.
"""


def is_passing(reason: str, *, other_way: bool) -> bool:
    """The same; and where no right copy can be made, there may be another way."""
    return reason in PASSING or (other_way and reason in NO_COPY)


def known(text: str) -> Reason:
    """Of another version, or written by hand: then it is a refusal, whatever it was."""
    return Reason(text) if text in list(Reason) else Reason.REFUSED
