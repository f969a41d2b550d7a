"""Sets the version: `make cut VERSION=0.1.0` to release it, `make cut VERSION=0.2.0.dev0` after.

It stands in src/rescheduler/__init__.py and nowhere else; `make generate` writes it where manifests
and chart need it. A version that is released takes over what the changelog has under Unreleased.
"""

import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

ROOT: Final = Path(__file__).parent.parent
CODE: Final = ROOT / "src/rescheduler/__init__.py"
CHANGELOG: Final = ROOT / "CHANGELOG.md"

_ASSIGNED: Final = re.compile(r'(?m)^__version__ = "(.*)"$')
_UNRELEASED: Final = "## Unreleased\n"
_RELEASED: Final = re.compile(r"(?m)^## (\d\S*) - ")


class CannotCutError(Exception):
    """What stands in the way, in words."""


def wanted(given: str, now: str, changelog: str) -> Version:
    """Only forward: 0.1.0 after 0.1.0.dev0, and 0.2.0.dev0 after that. What is only being developed
    was given to nobody: if it turns out to be small, 0.1.1 is cut of 0.2.0.dev0.
    """
    try:
        version = Version(given)
    except InvalidVersion:
        raise CannotCutError(f"{given!r} is no version, such as 0.1.0 or 0.2.0.dev0") from None
    today = Version(now)
    if version == today or (not today.is_devrelease and version < today):
        raise CannotCutError(f"{version} is not after {today}, the version of today")
    if taken := [each for each in _RELEASED.findall(changelog) if version <= Version(each)]:
        raise CannotCutError(f"{version} is not after {taken[0]}, which is released")
    return version


def cut(changelog: str, version: Version, today: date) -> str:
    """What was unreleased is released; what comes next has its place above it."""
    before, heading, rest = changelog.partition(_UNRELEASED)
    if not heading:
        raise CannotCutError(f"the changelog has no line {_UNRELEASED.strip()!r}")
    entries, *released = re.split(r"(?m)^(?=## )", rest, maxsplit=1)
    if not entries.strip():
        raise CannotCutError("the changelog has nothing under Unreleased")
    title = f"## {version} - {today.isoformat()}\n"
    return "".join([before, heading, "\n", title, entries, *released])


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004 - a command and its one argument
        sys.exit("make cut VERSION=0.1.0")
    code, changelog = CODE.read_text(), CHANGELOG.read_text()
    now = _ASSIGNED.findall(code)[0]
    try:
        version = wanted(sys.argv[1], now, changelog)
        if not version.is_devrelease:
            # The date of a changelog is of the calendar of those who read it.
            today = datetime.now(UTC).date()  # noqa: TID251
            changelog = cut(changelog, version, today)
    except CannotCutError as problem:
        sys.exit(f"error: {problem}")
    CHANGELOG.write_text(changelog)
    CODE.write_text(_ASSIGNED.sub(f'__version__ = "{version}"', code))
    print(f"{now} became {version}")  # noqa: T201


if __name__ == "__main__":
    main()
