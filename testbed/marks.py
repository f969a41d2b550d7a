"""Whether a process is still the one that is meant, for pids come back."""

from pathlib import Path


def has_mark(pid: int, mark: str) -> bool:
    """True while a process runs with the mark in its command line; one that has ended has none."""
    try:
        return mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
