"""What is wrong with how a command is called: flags, and the files that they name.

Collected, and told all at once, before anything is done.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from rescheduler.documents.durations import SECOND, parse_nanoseconds
from rescheduler.documents.places import quoted
from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ReschedulerError

T = TypeVar("T")


class WrongFlags(ReschedulerError):
    """A command is called in a way that makes no sense; a line for everything that is wrong."""


class Problems:
    """The one collector of them, which every command with something to check hands around."""

    def __init__(self) -> None:
        self._of_flags: list[str] = []
        self._of_files: list[ReschedulerError] = []

    def __bool__(self) -> bool:
        return bool(self._of_flags or self._of_files)

    def refuse(self, flag: str, why: str) -> None:
        self._of_flags.append(f"{flag}: {why}")

    def refuse_below_zero(self, flag: str, value: int | None, advice: str = "") -> None:
        if value is not None and value < 0:
            self.refuse(flag, f"{value} is below 0{advice}")

    def refuse_unknown(
        self, flag: str, name: str, known: Collection[str], *, as_what: str = "unknown name {}"
    ) -> None:
        if name not in known:
            near = nearest(name, known)
            meant = f"did you mean {near}? " if near else ""
            self.refuse(flag, f"{as_what.format(quoted(name))}; {meant}known: {', '.join(known)}")

    def refuse_file(self, problem: ReschedulerError) -> None:
        """Wrong in itself, however the command is called."""
        self._of_files.append(problem)

    def read(self, make: Callable[[], T]) -> T | None:
        """What this makes of a file; None: it is wrong, which is kept."""
        try:
            return make()
        except ReschedulerError as problem:
            self.refuse_file(problem)
            return None

    def duration(self, flag: str, text: str) -> float | None:
        """In seconds; None: it is none, which is kept."""
        try:
            return parse_nanoseconds(text) / SECOND
        except ValueError as problem:
            self.refuse(flag, f"{quoted(text)} is not a duration: {problem}")
            return None

    def raise_if_any(self) -> None:
        """Raises WrongFlags when flags are, or else what is wrong with files."""
        if self._of_flags:
            raise WrongFlags("\n".join([*self._of_flags, *map(str, self._of_files)]))
        if len(self._of_files) == 1:
            raise self._of_files[0]
        if self._of_files:
            raise ReschedulerError("\n".join(map(str, self._of_files)))


def time_limit(flag: str, text: str) -> float | None:
    """In seconds; None: no limit. Raises WrongFlags."""
    problems = Problems()
    seconds = problems.duration(flag, text)
    if seconds is not None and seconds < 0:
        problems.refuse(flag, f"{quoted(text)} is below 0; 0 means no limit")
    problems.raise_if_any()
    return seconds or None
