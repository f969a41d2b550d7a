"""Starts and stops instances of the control plane: own ports, own folder, side by side."""

import asyncio
import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed import build
from testbed.credentials import kubeconfig
from testbed.marks import has_mark
from testbed.supervisor import ON_DEMAND

STOP_SECONDS = 30.0
SUPERVISOR_ENDED = "the supervisor of the control plane ended unexpectedly"


class InstanceError(Exception):
    """The control plane did not start or did not obey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """How to reach a running control plane. Plain data, so that test workers can share one."""

    supervisor: int
    folder: Path
    url: str
    tokens: dict[str, str]
    pids: dict[str, int]
    urls: dict[str, str] = field(default_factory=dict)
    """Of each program, those that were started on demand among them."""

    @classmethod
    def from_json(cls, text: str) -> "Instance":
        document: dict[str, Any] = json.loads(text)
        if "error" in document:
            raise InstanceError(document["error"])
        return cls(**(document | {"folder": Path(document["folder"])}))

    def to_json(self) -> str:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(fields | {"folder": str(self.folder)})

    @property
    def admin_kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    def client_ssl(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))

    def serving_ssl(self) -> ssl.SSLContext:
        """For a server that stands in for the API server, such as the fault proxy."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "serving.crt", self.folder / "serving.key")
        return context

    def kubeconfig(self, token: str, url: str | None = None) -> str:
        return kubeconfig(url or self.url, self.folder, token).decode()


class OwnedInstance:
    """An instance that this process started: its programs can be killed and started again.

    It ends with the `with` block, and at the latest when the owner process ends. A bare one has
    etcd and the API server alone.
    """

    def __init__(self, minor: str = build.DEFAULT_MINOR, *, bare: bool = False) -> None:
        self._programs = build.programs(minor)
        self._bare = bare
        self._process: subprocess.Popen[str] | None = None
        self._instance: Instance | None = None

    def __enter__(self) -> Self:
        self._process = start_supervisor(self._programs, os.getpid(), bare=self._bare)
        try:
            self._instance = read_answer(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        end_supervisor(self._supervisor)

    @property
    def instance(self) -> Instance:
        if self._instance is None:
            raise InstanceError("not started: use it in a with block")
        return self._instance

    def kill(self, program: str, how: int = signal.SIGKILL) -> None:
        self._tell({"do": "kill", "program": program, "signal": int(how)})

    def start(self, program: str, **options: Any) -> None:  # noqa: ANN401 - of each program its own
        """Starts what was killed, or what is not there unasked: metrics-server, Prometheus, or one
        of `neighbours`.

        Prometheus takes `tls=True` and `basic_auth=True` (`flags.BASIC_AUTH_USER`), kube-scheduler
        `config`, the path of its configuration.
        """
        extra: dict[str, Any] = dict(options)
        if program in ON_DEMAND:
            extra["programs"] = str(build.programs(ON_DEMAND[program]))
        self._tell({"do": "start", "program": program, "options": extra})

    async def restart(self, program: str) -> None:
        """Kills and starts a program, off the event loop."""
        await asyncio.to_thread(self.kill, program)
        await asyncio.to_thread(self.start, program)

    @property
    def _supervisor(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise InstanceError("not started: use it in a with block")
        return self._process

    def _tell(self, command: dict[str, Any]) -> None:
        process = self._supervisor
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise InstanceError(SUPERVISOR_ENDED) from None
        self._instance = read_answer(process)


def start_supervisor(
    programs: Path, owner: int | None, *, bare: bool = False
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "testbed.supervisor", "--programs", str(programs)]
    if owner is not None:
        command += ["--owner", str(owner)]
    if bare:
        command.append("--bare")
    # A session of its own: Ctrl-C in the terminal ends the owner, and through it the supervisor,
    # which then cleans up undisturbed.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parent.parent,
    )


def read_answer(process: subprocess.Popen[str]) -> Instance:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise InstanceError(SUPERVISOR_ENDED)
    return Instance.from_json(line)


def end_supervisor(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # what it runs dies with it, and the next start removes what is left
        process.wait()
    for stream in (process.stdin, process.stdout):
        # A command that a dead supervisor did not take is still on its way.
        with contextlib.suppress(BrokenPipeError):
            if stream:
                stream.close()


def wait_until_gone(pid: int, mark: str, timeout: float = STOP_SECONDS) -> bool:
    """True when the process has ended. It may be no child of ours, so it cannot be waited for."""
    deadline = time.monotonic() + timeout
    while has_mark(pid, mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
