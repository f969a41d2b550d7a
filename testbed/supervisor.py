"""The process that owns one control plane: starts it, obeys, and leaves nothing behind.

It runs apart from the test run, so that it outlives a test run that is killed just long enough to
clean up after it: it ends when its owner ends, for whatever reason. Should it be killed itself, the
kernel kills its children (PR_SET_PDEATHSIG) and the next start removes its folder. Without an owner
it stays until SIGTERM.

Speaks lines of JSON: one on standard output when ready or failed, then one answer per command
({"do": "kill"|"start", "program": NAME, ...}) on standard input.
"""

import argparse
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from testbed import neighbours
from testbed.credentials import write_credentials
from testbed.flags import METRICS_API, flags, metrics_objects
from testbed.marks import has_mark

FOLDER_PREFIX = "rescheduler-testbed-"
START_DEADLINE_SECONDS = 300.0

# By it a process is known to be a supervisor, for its pid may belong to somebody else by now.
MARK = "testbed.supervisor"

# A port that was free when it was chosen may be taken when its program wants it.
ATTEMPTS = 3
PORT_TAKEN = "address already in use"

SERVERS = ("etcd", "kube-apiserver")
CLIENTS = ("kube-controller-manager", "kube-scheduler", "kwok")
ON_DEMAND = {
    "metrics-server": "metrics-server",
    "prometheus": "prometheus",
    **neighbours.PINS,
}
"""Program -> the folder of pins/ that it is built from."""


class StartError(Exception):
    """A program of the control plane did not come up; the message holds the end of its log."""


class OwnerEnded(Exception):
    """Nobody waits for this control plane any more."""


@dataclass(slots=True, kw_only=True)
class ControlPlane:
    programs: Path
    folder: Path
    owner: int | None
    """A pidfd: readable when the owner has ended."""
    bare: bool = False
    """etcd and the API server alone, for a big cluster that nobody is to work on."""
    ports: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the programs that were started on demand, as they were last asked for."""

    # ------------------------------------------------------------------ starting

    def start(self) -> None:
        for last in (*[False] * (ATTEMPTS - 1), True):
            try:
                self._start_all()
            except StartError as problem:
                if last or PORT_TAKEN not in str(problem):
                    raise
                self.stop()
                self.folder.mkdir(mode=0o700)
            else:
                return

    def _start_all(self) -> None:
        names = (*SERVERS, *CLIENTS, "etcd-peer")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.tokens = write_credentials(self.folder, self.url)
        for program in SERVERS:
            self.start_program(program)
        if self.bare:
            return
        for program in CLIENTS:
            self._launch(program)
        for program in CLIENTS:
            self._await_program(program)
        self._await("the default service account", self._has_default_service_account)

    def start_on_demand(self, program: str, options: dict[str, Any]) -> None:
        """One that not every control plane has; at the same address whenever it starts again."""
        self.options[program] = options
        self._define(neighbours.custom_resources(Path(options["programs"])))
        if program in self.ports:
            self.start_program(program)
            return
        for last in (*[False] * (ATTEMPTS - 1), True):
            [self.ports[program]] = free_ports(1)
            try:
                self.start_program(program)
            except StartError as problem:
                del self.ports[program]
                if last or PORT_TAKEN not in str(problem):
                    raise
            else:
                return

    def start_program(self, program: str) -> None:
        """Returns when it answers."""
        if program in self.running and self.running[program].poll() is None:
            raise StartError(f"{program} is running")
        self._launch(program)
        try:
            self._await_program(program)
        except StartError:
            self.kill_program(program, signal.SIGKILL)
            raise

    def _launch(self, program: str) -> None:
        options = self.options.get(program, {"bare": self.bare})
        programs = Path(options.get("programs", self.programs))
        command = [str(programs / program), *flags(program, self.folder, self.ports, options)]
        with (self.folder / f"{program}.log").open("ab") as log:
            try:
                self.running[program] = subprocess.Popen(
                    command,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    env=os.environ | self._thrift() | neighbours.environment(program, self.folder),
                    preexec_fn=partial(_die_with, os.getpid()),  # noqa: PLW1509 - it has no threads
                )
            except OSError as problem:
                raise StartError(f"{program} cannot be run: {problem}") from problem

    def _thrift(self) -> dict[str, str]:
        """Of processors rather than of memory: else a sixth of what the API server does is to look
        for memory that it could give back. A big cluster needs all of that.
        """
        return {} if self.bare else {"GOGC": "400"}

    def _await_program(self, program: str) -> None:
        if program == "kube-apiserver":
            self._await(program, lambda: self._request("/readyz") == b"ok")
            return
        self._await(program, lambda: _listens(self.ports[program]))
        if program == "metrics-server":
            self._register_metrics_api()
        elif path := neighbours.REGISTERS_ITSELF.get(program):
            self._await(path, lambda: self._request(path) is not None)

    def _register_metrics_api(self) -> None:
        self._apply(metrics_objects(self.ports["metrics-server"]))
        self._await("metrics-server's API", lambda: self._request(METRICS_API) is not None)

    def _define(self, definitions: dict[str, dict[str, Any]]) -> None:
        """Returns when objects of these kinds can be read."""
        self._apply(definitions)
        for definition in definitions.values():
            for path in neighbours.served_paths(definition):
                self._await(path, partial(self._request, path))

    def _apply(self, manifests: dict[str, dict[str, Any]]) -> None:
        for path, manifest in manifests.items():
            apply = partial(self._request, f"{path}?fieldManager=testbed&force=true", manifest)
            self._await(path, apply)

    def kill_program(self, program: str, how: int) -> None:
        """Signals one program; a deadly signal is waited for, so that its port is free again."""
        process = self.running[program]
        process.send_signal(how)
        if how not in (signal.SIGSTOP, signal.SIGCONT):
            process.wait()
            del self.running[program]

    def stop(self) -> None:
        # The data is thrown away, so nothing is gained by a graceful end.
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
        self.running.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ waiting

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    def _await(self, what: str, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while not condition():
            for name, process in self.running.items():
                if process.poll() is not None:
                    raise StartError(f"{name} ended while waiting for {what}:\n{self._tail(name)}")
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {name}\n{self._tail(name)}" for name in self.running)
                raise StartError(f"{what} did not come up in time\n{logs}")
            watched = [] if self.owner is None else [self.owner]
            if select.select(watched, [], [], 0.05)[0]:
                raise OwnerEnded

    def _tail(self, program: str) -> str:
        return (self.folder / f"{program}.log").read_text(errors="replace")[-1500:]

    def _has_default_service_account(self) -> bool:
        return self._request("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def _request(self, path: str, apply: dict[str, Any] | None = None) -> bytes | None:
        """What the API server answers, or None when it does not, or refuses."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        # No proxies: the developer's own, from the environment, cannot reach our loopback address.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        headers = {"Authorization": f"Bearer {self.tokens['admin']}"}
        if apply:
            headers["Content-Type"] = "application/apply-patch+yaml"
        request = urllib.request.Request(  # noqa: S310 - always https, to our own server
            self.url + path,
            headers=headers,
            method="PATCH" if apply else "GET",
            data=json.dumps(apply).encode() if apply else None,
        )
        try:
            with opener.open(request, timeout=2) as answer:
                return bytes(answer.read())
        except (OSError, urllib.error.URLError):
            return None

    def describe(self) -> dict[str, Any]:
        return {
            "supervisor": os.getpid(),
            "folder": str(self.folder),
            "url": self.url,
            "tokens": self.tokens,
            "pids": {name: process.pid for name, process in self.running.items()},
            "urls": {name: self._url_of(name) for name in self.ports},
        }

    def _url_of(self, program: str) -> str:
        plain = program in ("etcd", "etcd-peer", "prometheus", *neighbours.PLAIN)
        secure = not plain or self.options.get(program, {}).get("tls")
        return f"{'https' if secure else 'http'}://127.0.0.1:{self.ports[program]}"


def free_ports(count: int) -> list[int]:
    """Ports that are free now; held all at once, so that none is given twice."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _die_with(parent: int) -> None:
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)


def remove_stale_folders() -> None:
    """What supervisors left that were killed before they could clean up."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        pid = path.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if pid.isdigit() and not has_mark(int(pid), MARK):
            shutil.rmtree(path, ignore_errors=True)


def serve(plane: ControlPlane) -> None:
    """Obeys commands until the owner ends, or SIGTERM."""
    if plane.owner is None:
        let_go_of_streams()
        while True:
            signal.pause()
    waiting: list[Any] = [plane.owner, sys.stdin]
    while True:
        ready, _, _ = select.select(waiting, [], [])
        if plane.owner in ready:
            return
        if line := sys.stdin.readline():
            _answer(_obey(plane, json.loads(line)))
        else:
            # A test worker started it for the whole run and has ended: the others still need it.
            waiting.remove(sys.stdin)


def let_go_of_streams() -> None:
    """So that who reads the output of the command that started us sees its end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _answer(document: dict[str, Any]) -> None:
    # Unbuffered: what cannot be written must not be tried again at exit.
    os.write(sys.stdout.fileno(), json.dumps(document).encode() + b"\n")


def _obey(plane: ControlPlane, command: dict[str, Any]) -> dict[str, Any]:
    try:
        if command["do"] == "kill":
            plane.kill_program(command["program"], command["signal"])
        elif command["program"] in ON_DEMAND:
            plane.start_on_demand(command["program"], command["options"])
        else:
            plane.options[command["program"]] = command.get("options") or {"bare": plane.bare}
            plane.start_program(command["program"])
    except (StartError, KeyError, OSError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    return plane.describe()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--owner", type=int, help="pid that this instance belongs to")
    parser.add_argument("--bare", action="store_true", help="etcd and the API server alone")
    arguments = parser.parse_args()
    # SIGTERM leaves by the same way out as everything else: the finally below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        owner = None if arguments.owner is None else os.pidfd_open(arguments.owner)
    except ProcessLookupError:
        return  # it has ended already
    remove_stale_folders()
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-"))
    plane = ControlPlane(
        programs=arguments.programs, folder=folder, owner=owner, bare=arguments.bare
    )
    try:
        _run(plane)
    except (OwnerEnded, BrokenPipeError):
        pass  # nobody is left to be told
    finally:
        # A second SIGTERM must not stop it from cleaning up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        plane.stop()


def _run(plane: ControlPlane) -> None:
    try:
        plane.start()
    except StartError as problem:
        _answer({"error": str(problem)})
        return
    _answer(plane.describe())
    serve(plane)


if __name__ == "__main__":
    main()
