"""The process that owns one control plane: starts it, obeys, and leaves nothing behind.

It runs apart from the test run, so that it outlives a test run that is killed just long enough to
clean up after it: it ends when its owner ends, for whatever reason. Should it be killed itself, the
kernel kills its children (PR_SET_PDEATHSIG) and the next start removes its folder. Without an owner
it stays until SIGTERM.

Speaks lines of JSON: one on standard output when ready or failed, then one answer per command
({"do": "kill"|"start", "program": NAME}) on standard input.
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

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

HERE = Path(__file__).parent
FOLDER_PREFIX = "rescheduler-testbed-"
START_DEADLINE_SECONDS = 120.0

# By it a process is known to be a supervisor, for its pid may belong to somebody else by now.
MARK = "testbed.supervisor"

# A port that was free when it was chosen may be taken when its program wants it.
ATTEMPTS = 3
PORT_TAKEN = "address already in use"

PORTS = {
    "etcd": "etcd",
    "kube-apiserver": "apiserver",
    "kube-controller-manager": "controller-manager",
    "kube-scheduler": "scheduler",
    "kwok": "kwok",
}

# Fixed tokens would let two instances talk to each other by mistake; these are made per instance.
USERS = {
    "admin": ("testbed:admin", "system:masters"),
    "auditor": ("testbed:auditor", "system:masters"),
    "kubelets": ("testbed:kubelets", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
}


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
    ports: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

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
        names = (*PORTS.values(), "etcd-peer")
        self.ports = dict(zip(names, _free_ports(len(names)), strict=True))
        self._write_credentials()
        for program in ("etcd", "kube-apiserver"):
            self.start_program(program)
        clients = ("kube-controller-manager", "kube-scheduler", "kwok")
        for program in clients:
            self._launch(program)
        for program in clients:
            self._await_program(program)
        self._await("the default service account", self._has_default_service_account)

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
        command = [str(self.programs / program), *self._flags(program)]
        with (self.folder / f"{program}.log").open("ab") as log:
            try:
                self.running[program] = subprocess.Popen(
                    command,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    preexec_fn=partial(_die_with, os.getpid()),  # noqa: PLW1509 - it has no threads
                )
            except OSError as problem:
                raise StartError(f"{program} cannot be run: {problem}") from problem

    def _await_program(self, program: str) -> None:
        if program == "kube-apiserver":
            self._await(program, lambda: self._get("/readyz") == b"ok")
        else:
            self._await(program, lambda: _listens(self.ports[PORTS[program]]))

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

    def _flags(self, program: str) -> list[str]:
        url = f"http://127.0.0.1:{self.ports['etcd']}"
        peer = f"http://127.0.0.1:{self.ports['etcd-peer']}"
        file = self.folder.joinpath
        many = ["--kube-api-qps=500", "--kube-api-burst=1000"]
        kwok = f"127.0.0.1:{self.ports['kwok']}"
        flags = {
            "etcd": [
                f"--data-dir={file('etcd')}",
                f"--listen-client-urls={url}",
                f"--advertise-client-urls={url}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=error",
            ],
            "kube-apiserver": [
                f"--etcd-servers={url}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.ports['apiserver']}",
                f"--tls-cert-file={file('serving.crt')}",
                f"--tls-private-key-file={file('serving.key')}",
                f"--client-ca-file={file('ca.crt')}",
                f"--cert-dir={file('certs')}",
                "--service-account-issuer=https://testbed.rescheduler.io",
                f"--service-account-key-file={file('service-accounts.key')}",
                f"--service-account-signing-key-file={file('service-accounts.key')}",
                f"--token-auth-file={file('tokens.csv')}",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/16",
                "--allow-privileged=true",
                f"--audit-policy-file={HERE / 'audit-policy.yaml'}",
                f"--audit-log-path={file('audit.log')}",
                # Megabytes; a rotated log would hide the first requests from the auditor.
                "--audit-log-maxsize=100000",
            ],
            "kube-controller-manager": [
                f"--kubeconfig={file('controller-manager.kubeconfig')}",
                f"--secure-port={self.ports['controller-manager']}",
                f"--cert-dir={file('certs')}",
                f"--service-account-private-key-file={file('service-accounts.key')}",
                f"--root-ca-file={file('ca.crt')}",
                "--use-service-account-credentials",
                "--leader-elect=false",
                "--node-monitor-period=1s",
                # Tests share it: the lost nodes of one must not keep those of another from being
                # tainted. (It still taints none with NoExecute while no node at all is Ready.)
                "--node-eviction-rate=100",
                "--unhealthy-zone-threshold=1",
                *many,
            ],
            "kube-scheduler": [
                f"--kubeconfig={file('scheduler.kubeconfig')}",
                f"--secure-port={self.ports['scheduler']}",
                f"--cert-dir={file('certs')}",
                "--leader-elect=false",
                *many,
            ],
            "kwok": [
                f"--kubeconfig={file('kubelets.kubeconfig')}",
                f"--config={HERE / 'stages.yaml'}",
                "--manage-all-nodes=false",
                "--manage-nodes-with-label-selector=testbed.rescheduler.io/kubelet=alive",
                "--node-ip=127.0.0.1",
                f"--node-port={self.ports['kwok']}",
                f"--server-address={kwok}",
                "--node-lease-duration-seconds=40",
            ],
        }
        return flags[program]

    # ------------------------------------------------------------------ credentials

    def _write_credentials(self) -> None:
        authority = trustme.CA()
        serving = authority.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc")
        self._write("ca.crt", authority.cert_pem.bytes())
        self._write("serving.crt", b"".join(blob.bytes() for blob in serving.cert_chain_pems))
        self._write("serving.key", serving.private_key_pem.bytes())
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        self._write("service-accounts.key", key.private_bytes(*pem, serialization.NoEncryption()))
        self.tokens = {name: os.urandom(16).hex() for name in USERS}
        lines = [
            f'{self.tokens[name]},{user},{name},"{groups}"'
            for name, (user, groups) in USERS.items()
        ]
        self._write("tokens.csv", "\n".join(lines).encode())
        for name in USERS:
            self._write(f"{name}.kubeconfig", kubeconfig(self.url, self.folder, self.tokens[name]))

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)

    # ------------------------------------------------------------------ waiting

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.ports['apiserver']}"

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
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
        return self._get("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def _get(self, path: str) -> bytes | None:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        # No proxies: the developer's own, from the environment, cannot reach our loopback address.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        request = urllib.request.Request(  # noqa: S310 - always https, to our own server
            self.url + path, headers={"Authorization": f"Bearer {self.tokens['admin']}"}
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
        }


def kubeconfig(url: str, folder: Path, token: str) -> bytes:
    cluster = {"server": url, "certificate-authority": str(folder / "ca.crt")}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed"}}],
        "current-context": "testbed",
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def _free_ports(count: int) -> list[int]:
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


def has_mark(pid: int, mark: str) -> bool:
    """True while a process runs with the mark in its command line; one that has ended has none."""
    try:
        return mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def remove_stale_folders() -> None:
    """What supervisors left that were killed before they could clean up."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        pid = path.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if pid.isdigit() and not has_mark(int(pid), MARK):
            shutil.rmtree(path, ignore_errors=True)


def serve(plane: ControlPlane) -> None:
    """Obeys commands until the owner ends, or SIGTERM."""
    if plane.owner is None:
        _let_go_of_streams()
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


def _let_go_of_streams() -> None:
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
        else:
            plane.start_program(command["program"])
    except (StartError, KeyError, OSError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    return plane.describe()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--owner", type=int, help="pid that this instance belongs to")
    arguments = parser.parse_args()
    # SIGTERM leaves by the same way out as everything else: the finally below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        owner = None if arguments.owner is None else os.pidfd_open(arguments.owner)
    except ProcessLookupError:
        return  # it has ended already
    remove_stale_folders()
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-"))
    plane = ControlPlane(programs=arguments.programs, folder=folder, owner=owner)
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
