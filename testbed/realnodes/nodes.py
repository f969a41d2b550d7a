"""Starts and stops real nodes, and what tests do to them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed import build
from testbed.instance import Instance, end_supervisor
from testbed.realnodes import images, metrics
from testbed.realnodes.namespaces import within_network_of
from testbed.realnodes.settings import Node
from testbed.realnodes.supervisor import NodesError

PINS = ("nodes", "containerd")
"""What to build for them."""

MakeSocket = Callable[[tuple[Any, ...]], socket.socket]
"""For an address as socket.getaddrinfo gives it; as aiohttp wants it."""

_ENDED = "the supervisor of the real nodes ended unexpectedly"


class RealNodes:
    """They end with the `with` block, and at the latest when the owner process ends."""

    def __init__(
        self,
        instance: Instance,
        count: int = 3,
        *,
        prefix: str = "real-",
        millicores: int = 0,
        owner: int | None = None,
    ) -> None:
        programs, containerd = map(build.programs, PINS)
        archive = images.archive()
        self._instance = instance
        self._owner = owner or os.getpid()
        self._wanted = [
            Node(
                name=f"{prefix}{number}",
                number=number,
                folder="",
                programs=str(programs),
                containerd=str(containerd),
                images=str(archive),
                kubeconfig=str(instance.folder / "nodes.kubeconfig"),
                millicores=millicores,
            )
            for number in range(1, count + 1)
        ]
        self._process: subprocess.Popen[str] | None = None
        self._state: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._process = start_supervisor(self._instance, self._wanted, self._owner)
        try:
            self._state = read_answer(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def start_and_leave(self) -> int:
        """Starts them for an owner who is not this process: the pid of their supervisor."""
        self.__enter__()
        self._supervisor.returncode = 0  # it outlives us, of which Python would warn at exit
        return self.supervisor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        end_supervisor(self._supervisor)

    # ------------------------------------------------------------------ what there is

    @property
    def names(self) -> list[str]:
        return [node.name for node in self._wanted]

    @property
    def folder(self) -> Path:
        """Of their logs."""
        return Path(self._state["folder"])

    @property
    def supervisor(self) -> int:
        return int(self._state["supervisor"])

    @property
    def pids(self) -> dict[str, int]:
        """The first process of each, as the machine knows it."""
        return dict(self._state["pids"])

    def root(self, node: str) -> Path:
        """The files of a node, as its kubelet sees them."""
        return Path(f"/proc/{self._state['pids'][node]}/root")

    def sockets(self, node: str) -> MakeSocket:
        """Makes sockets of a client on this node, for aiohttp: its kube-proxy serves them."""
        pid = self._state["pids"][node]

        def make(address: tuple[Any, ...]) -> socket.socket:
            family, kind, protocol, *_ = address
            with within_network_of(pid):
                return socket.socket(family, kind, protocol)

        return make

    # ------------------------------------------------------------------ what becomes of them

    def send_signal(self, node: str, program: str, number: signal.Signals) -> None:
        """To kubelet, kube-proxy or containerd; the end that it means is waited for."""
        self._tell({"node": node, "program": program, "signal": int(number)})

    def start_metrics_server(self) -> dict[str, int]:
        """Its pid, and its port on this machine; `measuring` makes it a part of the API server."""
        self._tell({"metrics": str(build.programs(metrics.PROGRAM))})
        return dict(self._state["metrics"])

    def stop_metrics_server(self) -> None:
        self._tell({"metrics": ""})

    def _tell(self, command: dict[str, Any]) -> None:
        process = self._supervisor
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise NodesError(_ENDED) from None
        self._state = read_answer(process)

    @property
    def _supervisor(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise NodesError("not started: use it in a with block")
        return self._process


def start_supervisor(instance: Instance, nodes: list[Node], owner: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "testbed.realnodes.supervisor", "--owner", str(owner)]
    # A session of its own: Ctrl-C in the terminal ends the owner, and through it the supervisor,
    # which then cleans up undisturbed.
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert process.stdin is not None
    told = {"instance": instance.to_json(), "nodes": [asdict(node) for node in nodes]}
    process.stdin.write(json.dumps(told) + "\n")
    process.stdin.flush()
    return process


def read_answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise NodesError(_ENDED)
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise NodesError(answer["error"])
    return answer
