"""What happens to a toy while a migration is driven through it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Toy = TypeVar("Toy")

Moment = Literal["before the look", "before the write", "after the write", "after the adoption"]
Fault = Literal["dies unsaid", "dies before", "dies after", "reply lost", "not done", "done late"]


class Died(Exception):
    """The process, at this very moment."""


@dataclass(frozen=True)
class Event(Generic[Toy]):
    """Something that happens at the n-th look."""

    look: int
    disturbance: Callable[[Toy], None] | None = None
    moment: Moment = "before the look"
    fault: Fault | None = None
    """Of the write that follows that look, if there is one."""
