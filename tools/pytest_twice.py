"""Runs pytest; what fails is run once more, one test at a time.

The tests on a real control plane share two cores with it and with each other, and some wait for
what a kubelet, a lease or a webhook does in its own time; of the others, some wait for processes,
terminals and sockets. A test that passes alone is told, and
does not fail the run; one that fails alone, too, does, and so do more than a few at once.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final

_MOST: Final = 8
_FAILED: Final = 1
"""pytest's exit code where tests failed, and nothing else was wrong."""
_LAST_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    # The same cases are drawn both times.
    os.environ.setdefault("DRAW_SEED", secrets.token_hex(4))
    code = _pytest(*arguments, "--cache-clear")
    if code != _FAILED:
        return code
    failed = sorted(json.loads(_LAST_FAILED.read_text())) if _LAST_FAILED.exists() else []
    if not 0 < len(failed) <= _MOST:
        return code
    _say(f"\n{len(failed)} failed among others; once more, one at a time:")
    code = _pytest(*arguments, "-n", "0", "--dist", "no", "--last-failed")
    if not code:
        _say("\n  ".join(["passed when run alone, and failed among others:", *failed]))
    return code


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
