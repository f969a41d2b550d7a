"""Chromium for the tests of the page: Debian's, installed when root, else unpacked, with the
libraries and fonts that the machine lacks, into the user's cache. Nothing of the machine is changed
then, and whoever wants to be rid of it deletes one folder.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from testbed import debian
from testbed.golang import BuildError, cache_root, machine, say

# Fonts for what is shown: Latin, and Chinese.
PACKAGES: Final = ("chromium", "fonts-dejavu-core", "fonts-wqy-microhei")

QUIET: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Whoever starts it gives these: it is to talk to nobody but the page's own server."""

# Raise it when what is unpacked below becomes another.
_RECIPE: Final = "1"

_NEEDS_DEBIAN: Final = "the tests of the page need Chromium: put one on PATH as chromium"

# What Debian's own launcher would do, for a tree that does not lie at the root.
_LAUNCHER: Final = """#!/bin/sh
tree=$(dirname "$(readlink -f "$0")")/tree
for folder in $(find "$tree/usr/lib" -name '*.so*' -printf '%h\\n' | sort -u); do
  libraries="$libraries:$folder"
done
export LD_LIBRARY_PATH="${libraries#:}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export FONTCONFIG_FILE="$(dirname "$tree")/fonts.conf"
exec "$tree/usr/lib/chromium/chromium" "$@"
"""
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">tree/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


def program() -> Path:
    """The one that there is."""
    if found := shutil.which("chromium"):
        return Path(found)
    if _unpacked().is_file():
        return _unpacked()
    raise BuildError("there is no Chromium here yet: make browser")


def provide() -> Path:
    """Fetched first, if there is none. Raises an error that says in one sentence why it cannot."""
    if found := shutil.which("chromium"):
        return _tried(Path(found))
    if not _unpacked().is_file():
        if not shutil.which("apt-get"):
            raise BuildError(f"{_NEEDS_DEBIAN} (here is no apt-get that could fetch it)")
        if os.geteuid() == 0:
            if problem := debian.install(PACKAGES):
                raise BuildError(f"{_NEEDS_DEBIAN} ({problem})")
            return _tried(program())
        _unpack(_unpacked().parent)
    return _tried(_unpacked())


def _unpacked() -> Path:
    return cache_root() / f"chromium-{machine()}-{_RECIPE}" / "chromium"


def _tried(chromium: Path) -> Path:
    """One that cannot start is none."""
    with tempfile.TemporaryDirectory() as profile:
        command = [str(chromium), "--headless", "--no-sandbox", *QUIET, "--dump-dom"]
        done = subprocess.run(
            [*command, f"--user-data-dir={profile}", "data:text/html,<p>shown</p>"],
            check=False,
            capture_output=True,
            text=True,
        )
    if "shown" not in done.stdout:
        said = " ".join(done.stderr.split())[-300:]
        raise BuildError(f"{_NEEDS_DEBIAN} ({chromium} does not start: {said})")
    return chromium


def _unpack(into: Path) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    with (into.parent / f".{into.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if into.is_dir():
            return  # by another process meanwhile
        say(f"unpacking Debian's chromium into {into}")
        with tempfile.TemporaryDirectory(prefix=f".{into.name}-", dir=into.parent) as temporary:
            staging = Path(temporary) / "staging"
            for package in _downloaded(Path(temporary)):
                _run(["dpkg-deb", "--extract", str(package), str(staging / "tree")])
            (staging / "fonts.conf").write_text(_FONTS)
            launcher = staging / "chromium"
            launcher.write_text(_LAUNCHER)
            launcher.chmod(0o755)
            staging.rename(into)


def _downloaded(folder: Path) -> list[Path]:
    """The packages, and whatever they depend on that this machine does not have."""
    for name in ("state/lists/partial", "cache/archives/partial", "staging"):
        (folder / name).mkdir(parents=True)
    # apt's own folders belong to root, so it gets others; what is installed it reads where it is.
    own = {
        "Dir::State": str(folder / "state"),
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": str(folder / "cache"),
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in own.items())]
    _run([*apt, "update"])
    _run([*apt, "install", "--yes", "--no-install-recommends", "--download-only", *PACKAGES])
    return sorted((folder / "cache/archives").glob("*.deb"))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        said = " ".join(done.stderr.split())[-500:]
        raise BuildError(f"{_NEEDS_DEBIAN} ({' '.join(command[:2])} failed: {said})")
