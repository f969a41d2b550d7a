"""metrics-server beside real nodes: it asks their kubelets, in the network that connects them.

So it is on no node, and what it uses is not theirs.
"""

import asyncio
import contextlib
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testbed.flags import flags
from testbed.instance import Instance
from testbed.realnodes import namespaces, network

PROGRAM = "metrics-server"
LOG = f"{PROGRAM}.log"


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """One that runs."""

    process: asyncio.subprocess.Process
    port: int
    """Of the machine's loopback address."""
    relays: tuple[asyncio.Server, ...]

    def describe(self) -> dict[str, int]:
        return {"pid": self.process.pid, "port": self.port}

    async def stop(self) -> None:
        for relay in self.relays:
            relay.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


async def start(fabric: int, instance: Instance, programs: Path, folder: Path) -> MetricsServer:
    there = await network.relay_to_api_server(namespaces.within(fabric), instance.url)
    back, port = await network.relay_into(fabric)
    command = [str(programs / PROGRAM), *flags(PROGRAM, instance.folder, {PROGRAM: port}, {})]
    with (folder / LOG).open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=partial(_begin, os.getpid(), fabric),
        )
    return MetricsServer(process, port, (there, back))


def _begin(parent: int, fabric: int) -> None:
    namespaces.die_with_parent()
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)
    namespaces.enter(fabric)
