"""Somebody who has never heard of us drains a node under traffic, by plain kubectl, with the guard
on: not one request fails, also not of servers that exit at SIGTERM and have no preStop.
"""

import asyncio
import os

from testbed import build
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import REPLICAS, are_all_elsewhere, deploy, server
from testbed.realnodes.traffic import LONG, SHORT, traffic
from testbed.world import World
from tests.cluster.guarding import DRAIN, guarded
from tests.nodes.serving import moments_of_pods, report
from tests.scenarios.judging import assert_nobody_noticed

EXITS = server("-sigterm=exit")


async def kubectl_drain(world: World, node: str) -> tuple[int, str]:
    """Its exit code, and all that it printed."""
    login = f"--kubeconfig={world.admin_kubeconfig()}"
    process = await asyncio.create_subprocess_exec(
        *(build.programs() / "kubectl", "drain", node, *DRAIN, "--timeout=300s", login),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "HOME": str(world.folder)},
    )
    out, _ = await process.communicate()
    return await process.wait(), out.decode()


async def test_an_outsiders_drain_loses_none(world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    names = await deploy(world, EXITS, full)
    async with (
        guarded(world) as guard,
        guard.running(),
        world.auditor() as auditor,
        moments_of_pods(world) as moments,
        traffic(world.instance, nodes, world.name, *names, kinds=(*SHORT, *LONG)) as seen,
    ):
        code, printed = await kubectl_drain(world, full)
        assert code == 0, printed
        await world.wait("all are elsewhere", lambda: are_all_elsewhere(world, names, full))
        audit = await world.audit(auditor)
    report("kubectl drain, guarded, no preStop, exits at SIGTERM", seen, moments)
    assert seen.failures == []
    assert_nobody_noticed(audit)
    records = await world.records()
    assert [each["status"]["phase"] for each in records] == ["Completed"] * sum(REPLICAS)
