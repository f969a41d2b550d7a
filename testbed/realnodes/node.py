"""The first process of a real node: makes its namespaces, and runs its programs in them.

When it ends, the kernel ends every process of the node, and removes its mounts and its network.
It ends with the process that started it.

Lines of JSON on standard output: {"pid": ...}, then {"started": true} or {"error": ...}, then one
answer per command. Lines on standard input: {"do": "go"} when its network is there, then
{"program": NAME, "signal": NUMBER}.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Any

from testbed.flags import SERVICES
from testbed.realnodes import namespaces
from testbed.realnodes.cgroups import controllers, join_daemons, mounted_at
from testbed.realnodes.settings import (
    CONTAINERD_SOCKET,
    STATE,
    Node,
    commands,
    importing,
    write_files,
)

_OWN = (
    namespaces.NEW_MOUNTS
    | namespaces.NEW_CGROUPS
    | namespaces.NEW_HOSTNAME
    | namespaces.NEW_IPC
    | namespaces.NEW_PROCESSES
    | namespaces.NEW_NETWORK
)
_SOCKET_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05
_REAP_SECONDS = 0.5
_TAIL = 1500
_SYSTEM = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
# Not buffered: what was read beyond a line would not show to select.
_STDIN = FileIO(0, closefd=False)

# What a kubelet wants the kernel's settings to be. They are the machine's, so it finds files that
# say so, and has nothing to write.
_KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


# What still has the address of a Service when the node's proxy has had its turn is of none that it
# knows. Refused here, and not by a router, it leaves no trace in the kernel's table of connections.
# There it would stay for two minutes as one whose address is right as it is, and whoever came by
# the same port of the client's within them would not reach the Service, though it is known by then:
# about one new connection in twenty thousand, as ports come round after some three thousand.
_REFUSING = f"--destination {SERVICES} --jump REJECT --reject-with icmp-net-unreachable"


class NodeError(Exception):
    """A program of the node did not come up; the message holds the end of its log."""


# ------------------------------------------------------------------ the namespaces


def mount_all() -> None:
    """Gives the node its own view of the machine: what it writes, the machine never sees."""
    known = tuple(controllers())
    namespaces.mount("", "/", flags=namespaces.RECURSIVE | namespaces.PRIVATE)
    namespaces.mount("proc", "/proc", "proc")
    namespaces.mount("sysfs", "/sys", "sysfs")
    namespaces.mount("tmpfs", "/sys/fs/cgroup", "tmpfs")
    for each in known:
        folder = mounted_at(each)
        folder.mkdir()
        namespaces.mount("cgroup", str(folder), "cgroup", options=each)
    namespaces.mount("tmpfs", "/run", "tmpfs", options="mode=755")
    upper, work = STATE / "var", STATE / "var-work"
    for folder in (upper, work):
        folder.mkdir(parents=True)
    layers = f"lowerdir=/var,upperdir={upper},workdir={work}"
    namespaces.mount("overlay", "/var", "overlay", options=layers)
    _protect_kernel_settings()
    # Mounts that a kubelet makes for a pod have to reach its containers.
    namespaces.mount("", "/", flags=namespaces.RECURSIVE | namespaces.SHARED)


def refuse_unknown_services() -> None:
    for chain in ("OUTPUT", "FORWARD"):
        command = ["iptables", "--wait", "--append", chain, *_REFUSING.split()]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=_SYSTEM)
        if done.returncode:
            raise NodeError(f"iptables: {done.stderr.strip()}")


def _protect_kernel_settings() -> None:
    root = Path("/proc/sys")
    namespaces.mount(str(root), str(root), flags=namespaces.BIND)
    # Those of the network are the node's own.
    namespaces.mount(str(root / "net"), str(root / "net"), flags=namespaces.BIND)
    pretended = STATE / "kernel"
    pretended.mkdir()
    for name, value in _KERNEL_SETTINGS.items():
        if (root / name).exists():
            file = pretended / name.replace("/", ".")
            file.write_text(value)
            namespaces.mount(str(file), str(root / name), flags=namespaces.BIND)
    read_only = namespaces.BIND | namespaces.REMOUNT | namespaces.READ_ONLY
    namespaces.mount("", str(root), flags=read_only)


# ------------------------------------------------------------------ the programs


class Programs:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start_all(self) -> None:
        write_files(self._node)
        self.start("containerd")
        self.start("kube-proxy")
        self._await_socket("containerd", CONTAINERD_SOCKET)
        done = subprocess.run(importing(self._node), check=False, capture_output=True, text=True)
        if done.returncode:
            raise NodeError(f"the images could not be imported: {done.stderr[-_TAIL:]}")
        self.start("kubelet")

    def start(self, name: str) -> None:
        if name in self._running:
            raise NodeError(f"{name} is running")
        # The shim is beside containerd, runc where Debian puts it.
        path = f"{self._node.containerd}:{_SYSTEM['PATH']}"
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                commands(self._node)[name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_SYSTEM | {"PATH": path},
                cwd="/",
            )

    def send_signal(self, name: str, number: int) -> None:
        if name not in self._running:
            raise NodeError(f"{name} is not running")
        process = self._running[name]
        process.send_signal(number)
        if number not in (signal.SIGSTOP, signal.SIGCONT):
            process.wait()
            del self._running[name]

    def reap(self) -> None:
        """What ended: ours, and shims and containers whose parents ended before them."""
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                del self._running[name]
                raise NodeError(f"{name} ended by itself:\n{self._tail(name)}")
        ours = {process.pid for process in self._running.values()}
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and (
                ended.si_pid not in ours
            ):
                os.waitpid(ended.si_pid, 0)

    def _await_socket(self, name: str, path: str) -> None:
        deadline = time.monotonic() + _SOCKET_SECONDS
        while not _answers(path):
            self.reap()
            if time.monotonic() > deadline:
                raise NodeError(f"{name} did not come up in time:\n{self._tail(name)}")
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _log(self, name: str) -> Path:
        return Path(self._node.folder) / f"{self._node.name}-{name}.log"

    def _tail(self, name: str) -> str:
        return self._log(name).read_text(errors="replace")[-_TAIL:]


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


# ------------------------------------------------------------------ its life


def _say(document: dict[str, Any]) -> None:
    os.write(sys.stdout.fileno(), json.dumps(document).encode() + b"\n")


def _listen() -> dict[str, Any]:
    line = _STDIN.readline()
    if not line:
        sys.exit(0)  # nobody is left to obey
    document: dict[str, Any] = json.loads(line)
    return document


def _live(node: Node) -> None:
    programs = Programs(node)
    try:
        mount_all()
        join_daemons()
        socket.sethostname(node.name)
        _listen()
        refuse_unknown_services()
        programs.start_all()
    except (NodeError, OSError) as problem:
        _say({"error": f"{node.name}: {problem}"})
        return
    _say({"started": True})
    while True:
        try:
            programs.reap()
        except NodeError as problem:
            # Not its end: a test may want a node that loses one. The supervisor reads it.
            print(problem, file=sys.stderr, flush=True)
        if select.select([_STDIN], [], [], _REAP_SECONDS)[0]:
            _obey(programs, _listen())


def _obey(programs: Programs, command: dict[str, Any]) -> None:
    try:
        programs.send_signal(command["program"], command["signal"])
    except (NodeError, OSError) as problem:
        _say({"error": str(problem)})
    else:
        _say({"done": True})


def main() -> None:
    node = Node(**json.loads(sys.argv[1]))
    namespaces.unshare(_OWN)
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        # Its pid as the machine knows it; then it may live, if this process still does.
        _say({"pid": child})
        os.write(writing, b".")
        os.waitpid(child, 0)
        return
    os.close(writing)
    namespaces.die_with_parent()
    if os.read(reading, 1):
        _live(node)


if __name__ == "__main__":
    main()
