"""Where a migration stands, in the words of its record."""

from enum import StrEnum


class Phase(StrEnum):
    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"

    @property
    def is_over(self) -> bool:
        return self in (Phase.COMPLETED, Phase.FAILED)


class Method(StrEnum):
    """How a pod is moved."""

    SURGE = "Surge"
    """A copy is Ready on the target before its ReplicaSet removes the original."""
    COPY = "Copy"
    """The same for a pod that nobody controls: we evict the original ourselves."""
    STEER = "Steer"
    """The original goes first; its successor is steered to the target."""


class Stage(StrEnum):
    """The step of a migration. Each is written down before what it names is done."""

    CHECK = "Check"
    MARK = "Mark"
    CREATE = "Create"
    WAIT_READY = "WaitReady"
    WAIT_GROUP = "WaitGroup"
    HAND_OVER = "HandOver"
    PROTECT = "Protect"
    STEER = "Steer"
    EVICT = "Evict"
    WAIT_GONE = "WaitGone"
    WAIT_REPLACEMENT = "WaitReplacement"
    CLEAN_UP = "CleanUp"
    TAKE_BACK = "TakeBack"
    DONE = "Done"
