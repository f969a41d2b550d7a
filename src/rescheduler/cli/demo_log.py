"""What the product logs during a demo: kept beside the picture, and in a file for who wants it."""

import io
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from rescheduler.cli.commanding import set_up_logs
from rescheduler.errors import ReschedulerError

_LAST_LINES: Final = 10
_PROBLEM: Final = re.compile(r"\[(warning|error|critical) *\]")


class Log(io.StringIO):
    """Keeps the last problems, to be told when something went wrong, and hands on everything."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__()
        self.last: deque[str] = deque(maxlen=_LAST_LINES)
        self.failure: OSError | None = None
        """Of the file: whoever logs has other things to do, and goes on."""
        self._file = file

    def write(self, text: str) -> int:
        self.last.extend(line for line in text.splitlines() if _PROBLEM.search(line))
        if self._file is not None and self.failure is None:
            try:
                self._file.write(text)
            except OSError as problem:
                self.failure = problem
        return len(text)

    def end(self) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as problem:
                self.failure = self.failure or problem


@contextmanager
def log_file(path: Path | None) -> Iterator[Log]:
    """Nothing of it must come between the frames."""
    try:
        file = path.open("w", encoding="utf-8") if path is not None else None
    except OSError as problem:
        raise _unwritable(path, problem) from None
    lines = Log(file)
    set_up_logs(to=lines)
    try:
        yield lines
    finally:
        lines.end()
        if lines.failure is not None:
            raise _unwritable(path, lines.failure) from None


def _unwritable(path: Path | None, problem: OSError) -> ReschedulerError:
    return ReschedulerError(f"--log: {path} cannot be written: {problem.strerror or problem}")
