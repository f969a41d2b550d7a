"""How a migration ended."""

from dataclasses import dataclass

from rescheduler.model.podmigration import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    moved: bool
    """False: the original is where it was, or was deleted by someone else; nothing of ours is left,
    unless the reason is NotFinished."""
    reason: Reason
    message: str
