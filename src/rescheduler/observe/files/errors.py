"""What is wrong with a file, in words."""

from rescheduler.errors import ReschedulerError


class UnusableFile(ReschedulerError):
    """A file that cannot be read, or not be written: says which, why, and what to do."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
