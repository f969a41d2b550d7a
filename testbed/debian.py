"""What the machine lacks and Debian has."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence


def install(packages: Sequence[str]) -> str:
    """One sentence on what went wrong, or nothing."""
    print(f"installing {', '.join(packages)}", file=sys.stderr, flush=True)
    apt = ["apt-get", "-qq"]
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    add = [*apt, "install", "-y", "--no-install-recommends", *packages]
    for command in ([*apt, "update"], add):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
        if done.returncode:
            return f"{' '.join(command)} failed: {' '.join(done.stderr.split())[-500:]}"
    return ""


def install_prometheus() -> str:
    """With promtool, if it is not there yet. One sentence on what went wrong, or nothing."""
    if all(map(shutil.which, ("prometheus", "promtool"))):
        return ""
    if not shutil.which("apt-get"):
        return "these tests need what Debian calls prometheus"
    return install(["prometheus"])
