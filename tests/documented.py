"""The commands that pages show behind a `$`, so that tests can run them as they stand.

Those that need no cluster run in tests/unit/test_documented_commands.py, the others in
tests/cluster/test_documented_commands.py; the few that neither runs stand in docs/testing.md, each
with the reason.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "README.zh-CN.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
)
TRANSLATED = ".zh-CN."
"""In the names of pages that say in Chinese what others say in English."""
EXCEPTIONS = "docs/testing.md"
"""Has the table of what is not run."""

_BLOCK = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
_COMMENT = re.compile(r"\s{2,}#.*$")
_DOCUMENT = re.compile(r"<<(\w+)$")
_WITHOUT_CLUSTER = re.compile(
    r"(\S*/)?rescheduler (plan|explain) .*-f docs/|(\S*/)?rescheduler (validate|simulate|demo)\b"
    r"|(\S*/)?rescheduler config init|source <\(|cat >|make "
)


@dataclass(frozen=True)
class Command:
    page: str
    section: str
    text: str
    """Without its comment; with the document that follows it, if one does."""
    lines: tuple[str, ...]
    """What is shown below it."""

    @property
    def needs_cluster(self) -> bool:
        return not _WITHOUT_CLUSTER.match(self.text)

    def __str__(self) -> str:
        return f"{self.page}: {self.text.partition(chr(10))[0]}"


def commands(page: str) -> list[Command]:
    text = (ROOT / page).read_text()
    found: list[Command] = []
    for block in _BLOCK.finditer(text):
        headings = _HEADING.findall(text[: block.start()])
        found += _of(page, headings[-1] if headings else "", block[1].splitlines())
    return found


def _of(page: str, section: str, lines: list[str]) -> Iterable[Command]:
    while lines:
        first = lines.pop(0)
        assert first.startswith("$ "), f"{page}: a block begins with a command, not with: {first}"
        text = _COMMENT.sub("", first.removeprefix("$ ")).strip()
        if ends := _DOCUMENT.search(text):
            end = lines.index(ends[1]) + 1
            text = "\n".join([text, *lines[:end]])
            del lines[:end]
        shown: list[str] = []
        while lines and not lines[0].startswith("$ "):
            shown.append(lines.pop(0))
        yield Command(page, section, text, tuple(shown))


def everywhere() -> list[Command]:
    return [each for page in PAGES for each in commands(page)]


def exceptions() -> dict[str, str]:
    """By command: why no test of these runs it, or which other one does."""
    text = (ROOT / EXCEPTIONS).read_text().partition("## Commands in the docs\n")[2]
    table = text.partition("\n## ")[0]
    rows = re.findall(r"^\| `((?:[^|]|\\\|)+)` \| (.+) \|$", table, re.MULTILINE)
    return {command.replace("\\|", "|"): why for command, why in rows}


def is_excepted(command: Command) -> bool:
    return command.text in exceptions()


def a_clone(folder: Path) -> Path:
    """What commands find where they run: the repository, into which nothing is written."""
    for name in ("docs", "manifests", "charts"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run(
    script: str, folder: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """By bash; stops at the first command that fails. `folder` is its home, too."""
    path = os.pathsep.join((*environment.get("PATH", "").split(), f"{sys.prefix}/bin"))
    return subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            **environment,
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
