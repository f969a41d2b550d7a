"""python -m bench.real_requests: requests that fail while a real node is emptied, and by whom.

Three real nodes, Deployments of 1, 2 and 3 replicas on one of them, and clients on every node that
ask without a pause (`testbed.realnodes.traffic`). Each row is one run, one after the other.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbed import build
from testbed.api import Object
from testbed.instance import Instance, OwnedInstance
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import (
    PRE_STOP,
    are_all_elsewhere,
    deploy,
    server,
    world_of_real_nodes,
)
from testbed.realnodes.traffic import Traffic, traffic
from testbed.world import World, install_rights

_QUIET_SECONDS = 10.0

Contender = Callable[[World, str, Sequence[str]], Awaitable[None]]

SERVERS: dict[str, Object] = {
    "preStop of 3 s": server(**PRE_STOP),
    "exits at SIGTERM": server("-sigterm=exit"),
}


async def nobody(world: World, node: str, names: Sequence[str]) -> None:
    del world, node, names
    await asyncio.sleep(_QUIET_SECONDS)


async def kubectl_drain(world: World, node: str, names: Sequence[str]) -> None:
    await _kubectl(world, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data")
    await _until_elsewhere(world, node, names)


async def rollout_restart(world: World, node: str, names: Sequence[str]) -> None:
    await world.cordon(node)
    await _kubectl(world, "rollout", "restart", "--namespace", world.name, "deployment")
    await _until_elsewhere(world, node, names)


async def ours(world: World, node: str, names: Sequence[str]) -> None:
    path = str(world.default_configuration())
    run = await (await world.start_as_admin("drain", node, "--config", path)).finish()
    if run.code:
        sys.exit(f"rescheduler drain failed: {run.errors}")
    await _until_elsewhere(world, node, names)


CONTENDERS: dict[str, Contender] = {
    "nobody": nobody,
    "kubectl drain": kubectl_drain,
    "kubectl rollout restart": rollout_restart,
    "rescheduler drain": ours,
}


async def _until_elsewhere(world: World, node: str, names: Sequence[str]) -> None:
    await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, node))


async def _kubectl(world: World, *arguments: str) -> None:
    login = ("--kubeconfig", str(world.instance.admin_kubeconfig))
    process = await asyncio.create_subprocess_exec(
        *(str(build.programs() / "kubectl"), *arguments, *login),
        stdout=asyncio.subprocess.DEVNULL,
    )
    if await process.wait():
        sys.exit(f"kubectl {' '.join(arguments)} failed")


async def _measure(
    instance: Instance, nodes: RealNodes, contender: Contender, spec: Object
) -> Traffic:
    node = nodes.names[0]
    with tempfile.TemporaryDirectory() as folder:
        async with world_of_real_nodes(instance, nodes, Path(folder), "requests") as world:
            names = await deploy(world, spec, node)
            async with traffic(instance, nodes, world.name, *names) as seen:
                await contender(world, node, names)
            return seen


async def main() -> None:
    table = Table("who empties the node", "the server", "requests", "failed", "p50", "p99", "worst")
    with OwnedInstance() as owned, RealNodes(owned.instance) as nodes:
        await install_rights(owned.instance)
        for kind, spec in SERVERS.items():
            for name, contender in CONTENDERS.items():
                seen = await _measure(owned.instance, nodes, contender, spec)
                print(f"{name}, {kind}: {seen}", file=sys.stderr, flush=True)
                times = [f"{seen.all.percentile(share):.0f} ms" for share in (0.5, 0.99, 1.0)]
                table.add_row(name, kind, f"{seen.sent:,}", f"{len(seen.failures):,}", *times)
    Console(highlight=False, width=120).print(table)


if __name__ == "__main__":
    asyncio.run(main())
