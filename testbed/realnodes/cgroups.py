"""The cgroups of real nodes: for each node one folder under every controller, below our own.

A node sees its own folder as the root, so that nothing of it can be anywhere else.
"""

import contextlib
import os
import time
from pathlib import Path

from testbed.marks import has_mark

PREFIX = "rescheduler-nodes-"
MARK = "testbed.realnodes.supervisor"
"""By it a process is known to be the one that a folder belongs to, for pids come back."""

_ROOT = Path("/sys/fs/cgroup")
_REMOVE_SECONDS = 20.0
_SHARES = 16 * 1024
"""As much as so many other processes that want all they can get, for all nodes together."""
_DAEMONS = "system"
_DAEMON_SHARES = 1024
"""Beside the same for each core of the pods, as systemd and kubelets have it. With less, kube-proxy
heard so late of what had ended, on a busy machine, that requests were lost.
"""


def controllers() -> dict[str, Path]:
    """Those of version 1 that are mounted where all the world has them: name -> our own cgroup.

    "name=systemd" is one, too: it controls nothing, and kubelets want it.
    """
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, name, path = line.split(":", 2)
        own = mounted_at(name) / path.lstrip("/")
        if name and (own / "cgroup.procs").is_file():
            found[name] = own
    return found


def mounted_at(controller: str) -> Path:
    return _ROOT / controller.removeprefix("name=")


def make(supervisor: int, node: str) -> list[Path]:
    """The folders of one node, for `join`."""
    return [_make(name, own, supervisor, node) for name, own in controllers().items()]


def _make(controller: str, own: Path, supervisor: int, node: str) -> Path:
    ours = own / f"{PREFIX}{supervisor}"
    if not ours.is_dir():
        ours.mkdir()
        # What is made below it begins with its settings; an empty cpuset holds no process.
        (ours / "cgroup.clone_children").write_text("1")
        if "cpu" in controller.split(","):
            # Real nodes have processors of their own; these are to have theirs on a busy machine.
            (ours / "cpu.shares").write_text(str(_SHARES))
        if "cpuset" in controller:
            for setting in ("cpuset.cpus", "cpuset.mems"):
                (ours / setting).write_text((own / setting).read_text())
    made = ours / node
    made.mkdir()
    return made


def join(folders: list[Path]) -> None:
    for folder in folders:
        (folder / "cgroup.procs").write_text(str(os.getpid()))


def join_daemons() -> None:
    """From within a node, which sees its own folders as the root: what it starts from now on runs
    in one cgroup beside that of its pods, as systemd has it. Otherwise each of its processes would
    count as much as all pods of a core together.
    """
    folders = [mounted_at(name) / _DAEMONS for name in controllers()]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        if (shares := folder / "cpu.shares").is_file():
            shares.write_text(str(_DAEMON_SHARES))
    join(folders)


def remove(supervisor: int) -> None:
    """When the last of their processes has ended; the kernel says so by letting them go."""
    for own in controllers().values():
        _remove(own / f"{PREFIX}{supervisor}")


def remove_stale() -> None:
    """Those of supervisors that were killed before they could clean up."""
    for name in controllers():
        for path in list(mounted_at(name).rglob(f"{PREFIX}*")):
            pid = path.name.removeprefix(PREFIX)
            if pid.isdigit() and not has_mark(int(pid), MARK):
                _remove(path)


def _remove(top: Path) -> None:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while top.is_dir():
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):  # busy, or gone: both show at the next look
                Path(folder).rmdir()
        if not top.is_dir():
            return
        if time.monotonic() > deadline:
            raise OSError(f"the cgroup {top} does not go away")
        time.sleep(0.02)
