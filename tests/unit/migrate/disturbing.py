"""What happens to a toy while a migration is driven through it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from tests.unit.migrate.toy_objects import Refused

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


def write(fault: Fault | None, do: Callable[[], None], do_late: Callable[[], None]) -> None:
    """Done or not, and heard of or not, as the fault has it."""
    if fault == "dies before":
        raise Died
    if fault == "done late":
        do_late()
    if fault in ("not done", "done late"):
        raise Refused("no answer")
    do()
    if fault == "dies after":
        raise Died
    if fault == "reply lost":
        raise Refused("no answer")
