"""The process that owns the real nodes of one control plane: starts them, obeys, and cleans up.

It runs apart from the test run and ends with it, however that ends, or at SIGTERM. Should it be
killed itself, the nodes end with it, and the next start removes its folder and its cgroups.

Speaks lines of JSON: one on standard output when the nodes are Ready or one of them failed, then
one answer per command on standard input (`node`, `metrics`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from testbed.api import Api, ApiError
from testbed.audit import is_usable
from testbed.instance import Instance
from testbed.marks import has_mark
from testbed.realnodes import cgroups, metrics, namespaces, network
from testbed.realnodes.cgroups import MARK
from testbed.realnodes.metrics import MetricsServer
from testbed.realnodes.settings import Node
from testbed.supervisor import let_go_of_streams

FOLDER_PREFIX = "rescheduler-nodes-"
READY_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.1
_TAIL = 3000


class NodesError(Exception):
    """The real nodes did not come up."""


@dataclass(slots=True)
class Running:
    """A node whose first process runs."""

    node: Node
    process: asyncio.subprocess.Process
    pid: int = 0
    handle: int = -1
    """A pidfd of the node's first process."""
    relay: asyncio.Server | None = None

    async def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            raise NodesError(f"the first process of {self.node.name} ended")
        document: dict[str, Any] = json.loads(line)
        if "error" in document:
            raise NodesError(document["error"])
        return document

    async def tell(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        return await self.answer()


@dataclass(slots=True)
class Nodes:
    folder: Path
    instance: Instance
    wanted: list[Node]
    fabric: int = -1
    running: dict[str, Running] = field(default_factory=dict)
    metrics: MetricsServer | None = None

    async def start(self) -> None:
        self.fabric = namespaces.new_network()
        network.lay_out(self.fabric, self.wanted)
        await asyncio.gather(*map(self._start, self.wanted))
        await self._until_ready()

    async def _start(self, node: Node) -> None:
        own = cgroups.make(os.getpid(), node.name)
        with (self.folder / f"{node.name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "testbed.realnodes.node", node.to_json()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                preexec_fn=partial(_begin, os.getpid(), own),
            )
        running = self.running[node.name] = Running(node, process)
        running.pid = (await running.answer())["pid"]
        running.handle = os.pidfd_open(running.pid)
        others = [each for each in self.wanted if each is not node]
        network.connect(self.fabric, node, running.pid, others)
        inside = namespaces.within_network_of(running.pid)
        running.relay = await network.relay_to_api_server(inside, self.instance.url)
        await running.tell({"do": "go"})

    async def _until_ready(self) -> None:
        names = {node.name for node in self.wanted}
        token, context = self.instance.tokens["admin"], self.instance.client_ssl()
        async with Api(self.instance.url, token, context) as api:
            deadline = time.monotonic() + READY_SECONDS
            while True:
                nodes = {node["metadata"]["name"]: node for node in await api.list("Node")}
                if all(name in nodes and is_usable(nodes[name]) for name in names):
                    return
                if problem := self._problems():
                    raise NodesError(problem)
                if time.monotonic() > deadline:
                    raise NodesError(f"not Ready after {READY_SECONDS:.0f} s\n{self._tails()}")
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _problems(self) -> str:
        """What the first processes of the nodes complain of."""
        return "".join((self.folder / f"{name}.log").read_text() for name in self.running)

    def _tails(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-_TAIL:]}" for log in logs)

    async def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        try:
            if "metrics" in command:
                await self._have_metrics(command["metrics"])
                return self.describe()
            if command["node"] not in self.running:
                raise NodesError(f"no node {command['node']} is running")  # noqa: TRY301
            await self.running[command.pop("node")].tell(command)
        except (NodesError, OSError) as problem:
            return {"error": str(problem)}
        return self.describe()

    async def _have_metrics(self, programs: str) -> None:
        """Started from this folder, or ended where none is named."""
        if self.metrics:
            await self.metrics.stop()
            self.metrics = None
        if programs:
            self.metrics = await metrics.start(
                self.fabric, self.instance, Path(programs), self.folder
            )

    def describe(self) -> dict[str, Any]:
        return {
            "metrics": self.metrics.describe() if self.metrics else {},
            "supervisor": os.getpid(),
            "folder": str(self.folder),
            "pids": {name: running.pid for name, running in self.running.items()},
            "addresses": {node.name: node.address for node in self.wanted},
        }

    async def stop(self) -> None:
        await self._have_metrics("")
        await asyncio.gather(*map(_end, self.running.values()))
        self.running.clear()
        cgroups.remove(os.getpid())
        shutil.rmtree(self.folder, ignore_errors=True)


def _begin(parent: int, own: list[Path]) -> None:
    namespaces.die_with_parent()
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)
    cgroups.join(own)


async def _end(running: Running) -> None:
    if running.relay:
        running.relay.close()
    if running.handle < 0:
        # Its first process, if there is one, dies with it, and all others with that.
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()
    else:
        # The process that made it hears of its end, and ends.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(running.handle, signal.SIGKILL)
        os.close(running.handle)
    await running.process.wait()


def remove_stale() -> None:
    """What supervisors left that were killed before they could clean up."""
    cgroups.remove_stale()
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        pid = path.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if pid.isdigit() and not has_mark(int(pid), MARK):
            shutil.rmtree(path, ignore_errors=True)


async def serve(nodes: Nodes, ended: asyncio.Event) -> None:
    """Obeys until the owner ends, or SIGTERM."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    ending = asyncio.create_task(ended.wait())
    while not ended.is_set():
        asking = asyncio.create_task(reader.readline())
        await asyncio.wait([asking, ending], return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
        elif line := asking.result():
            _answer(await nodes.obey(json.loads(line)))
        else:
            await ending  # nobody commands it any more, and somebody may still need it


def _answer(document: dict[str, Any]) -> None:
    os.write(sys.stdout.fileno(), json.dumps(document).encode() + b"\n")


async def run(nodes: Nodes, owner: int, *, commanded: bool) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_reader(owner, ended.set)
    starting = asyncio.create_task(nodes.start())
    ending = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait([starting, ending], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return
        try:
            starting.result()
        except (NodesError, network.NetworkError, OSError, ApiError) as problem:
            _answer({"error": str(problem)})
            return
        _answer(nodes.describe())
        if commanded:
            await serve(nodes, ended)
        else:
            let_go_of_streams()
            await ended.wait()
    finally:
        loop.remove_reader(owner)
        ending.cancel()
        await nodes.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owner", type=int, required=True, help="pid that these nodes belong to")
    arguments = parser.parse_args()
    # Who starts them for somebody else leaves them alone from then on.
    commanded = os.getppid() == arguments.owner
    try:
        owner = os.pidfd_open(arguments.owner)
    except ProcessLookupError:
        return  # it has ended already
    remove_stale()
    told = json.loads(FileIO(0, closefd=False).readline())
    instance = Instance.from_json(told["instance"])
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-"))
    wanted = [Node(**(each | {"folder": str(folder)})) for each in told["nodes"]]
    with contextlib.suppress(BrokenPipeError):  # nobody is left to be told
        nodes = Nodes(folder=folder, instance=instance, wanted=wanted)
        asyncio.run(run(nodes, owner, commanded=commanded))


if __name__ == "__main__":
    main()
