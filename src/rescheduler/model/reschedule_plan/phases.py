"""How a plan stands, and why, in the words of its status."""

from enum import StrEnum


class Phase(StrEnum):
    WAITING = "Waiting"
    """Nothing of it has begun."""
    RUNNING = "Running"
    COMPLETED = "Completed"
    """Each of its moves has ended, one way or another."""
    REJECTED = "Rejected"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"

    @property
    def is_over(self) -> bool:
        return self not in (Phase.WAITING, Phase.RUNNING)


class Reason(StrEnum):
    """Why it stands as it does."""

    DRY_RUN = "DryRun"
    """Waits for nothing: in this mode nothing is moved."""
    NEEDS_APPROVAL = "NeedsApproval"
    OUTSIDE_WINDOW = "OutsideWindow"
    """Nobody has to say yes: a later pass plans anew when a window is open."""
    APPROVED = "Approved"
    BY_ITSELF = "ByItself"
    """Runs, and nobody had to say yes."""
    ALL_MOVED = "AllMoved"
    SOME_MOVED = "SomeMoved"
    NONE_MOVED = "NoneMoved"
    REJECTED = "Rejected"
    EXPIRED = "Expired"
    NEWER_PLAN = "NewerPlan"
    NOT_NEEDED = "NotNeeded"
    """A later pass found nothing to move."""


class State(StrEnum):
    """Of one of its moves, once something has become of it."""

    RUNNING = "Running"
    MOVED = "Moved"
    FAILED = "Failed"
    SKIPPED = "Skipped"
    """It was not even begun."""

    @property
    def is_over(self) -> bool:
        return self is not State.RUNNING


class Origin(StrEnum):
    """Who made it."""

    PASS = "Pass"  # noqa: S105 - of the flow, not into anything
    APPLY = "Apply"
    UNDO = "Undo"


class Decision(StrEnum):
    """What somebody says to it, by the annotation."""

    APPROVED = "approved"
    REJECTED = "rejected"
