"""Files that commands write for people."""

import os
from pathlib import Path

from rescheduler.errors import ReschedulerError


def check_writable(flag: str, path: Path) -> None:
    """Before long work is done for it. Raises ReschedulerError, if something is in its way."""
    if reason := _why_unwritable(path):
        raise ReschedulerError(f"{flag}: {path} cannot be written: {reason}")


def _why_unwritable(path: Path) -> str:
    try:
        if path.is_dir():
            return "it is a directory"
        if not path.parent.is_dir():
            return f"there is no directory {path.parent}"
        there = path if path.exists() else path.parent
    except OSError as problem:  # such as a name that is too long
        return problem.strerror or str(problem)
    return "" if os.access(there, os.W_OK) else "it is protected"


def write_file(flag: str, path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        reason = problem.strerror or problem
        raise ReschedulerError(f"{flag}: {path} cannot be written: {reason}") from None
