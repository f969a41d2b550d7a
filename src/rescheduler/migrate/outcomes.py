"""How a migration ended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    moved: bool
    """False: the original is where it was, or went by another hand; nothing of ours is left."""
    reason: str
    """CamelCase, one of a fixed set, for machines."""
    message: str
    """For people."""
    new_pod: str = ""
