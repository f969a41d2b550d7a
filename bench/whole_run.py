"""`rescheduler run` as an operator starts it, and what it has cost so far."""

import asyncio
import compileall
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rescheduler
from testbed.api import Api
from testbed.instance import Instance
from testbed.processes import Line, Process
from testbed.world import token_of_ours

_CONFIGURATION = (
    "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
    "serving: {bindAddress: 127.0.0.1, port: %d}\n"
)
"""All defaults, but for the port: another one may run on this machine."""
_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    seconds: float
    """Since it was started."""
    cpu: float
    """Seconds."""
    megabytes: float
    peak_megabytes: float

    def share_since(self, before: "Cost") -> float:
        """Of one core."""
        return (self.cpu - before.cpu) / (self.seconds - before.seconds)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class WholeRun:
    def __init__(self, process: Process, pid: int, port: int) -> None:
        self.port = port
        """Where it answers."""
        self._process = process
        self._pid = pid
        self._started = time.monotonic()

    async def first_pass(self) -> Cost:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not self.passes:
                if self._process.has_ended:
                    raise RuntimeError(f"the rescheduler ended: {self._process.told()}")
                await asyncio.sleep(0.01)
        return self.cost()

    @property
    def passes(self) -> list[Line]:
        return self._process.said("pass ended")

    def cost(self) -> Cost:
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        status: dict[str, Any] = dict(line.split(":", 1) for line in lines)
        return Cost(
            seconds=time.monotonic() - self._started,
            cpu=cpu_seconds(self._pid),
            megabytes=int(status["VmRSS"].split()[0]) / 1024,
            peak_megabytes=int(status["VmHWM"].split()[0]) / 1024,
        )


@asynccontextmanager
async def whole_run(instance: Instance, folder: Path) -> AsyncIterator[WholeRun]:
    """With its rights installed. Whatever is under way at the end is left behind."""
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        token, _ = await token_of_ours(api)
    configuration, kubeconfig = folder / "configuration.yaml", folder / "kubeconfig"
    port = free_port()
    configuration.write_text(_CONFIGURATION % port)
    kubeconfig.write_text(instance.kubeconfig(token))
    # As whoever installs a package does: else the first start would count the compiler.
    compileall.compile_dir(Path(rescheduler.__file__).parent, quiet=1)
    files = ("--config", str(configuration), "--kubeconfig", str(kubeconfig))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rescheduler", "run", *files, "--log-format", "json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    running = Process(process)
    try:
        yield WholeRun(running, process.pid, port)
    finally:
        running.kill()
        await running.finish()
