"""What is wrong with a file, in words."""

from collections.abc import Iterable

from rescheduler.errors import ReschedulerError


class UnusableFile(ReschedulerError):
    """A file that cannot be read, or not be written: says which, why, and what to do."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")


class UnusableFiles(UnusableFile):
    """Several of them, a line each: who mends one should not have to wait for the next."""

    def __init__(self, problems: Iterable[UnusableFile]) -> None:
        ReschedulerError.__init__(self, "\n".join(map(str, problems)))
