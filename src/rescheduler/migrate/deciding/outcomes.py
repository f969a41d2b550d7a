"""How a migration ended."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """For machines; the message beside it is for people."""

    COMPLETED = "Completed"

    # Nothing was begun.
    NOT_NOW = "NotNow"
    NOT_MOVABLE = "NotMovable"

    # Begun and taken back.
    NOT_READY_IN_TIME = "NotReadyInTime"
    SIBLING_NOT_READY = "SiblingNotReady"
    BUDGET_REFUSED = "BudgetRefused"
    SEVERAL_BUDGETS = "SeveralBudgets"
    COPY_FAILED = "CopyFailed"
    COPY_LOST = "CopyLost"
    COPY_CHANGED = "CopyChanged"
    ORIGINAL_GONE = "OriginalGone"
    TARGET_LOST = "TargetLost"
    WORKLOAD_GONE = "WorkloadGone"
    WORKLOAD_CHANGED = "WorkloadChanged"
    REFUSED = "Refused"
    TIMED_OUT = "TimedOut"

    # The ReplicaSet had the last word.
    SIBLING_REMOVED = "SiblingRemoved"

    # Left to the next run.
    NOT_FINISHED = "NotFinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    moved: bool
    """False: the original is where it was, or went by another hand; nothing of ours is left, unless
    the reason is NotFinished."""
    reason: Reason
    message: str
