"""Deployments of our server on real nodes, for whoever moves them under traffic."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from testbed.api import Object
from testbed.builders import deployment, service
from testbed.instance import Instance
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.settings import IMAGE
from testbed.world import OWNER, World, make_world

REPLICAS = (1, 2, 3)

PRE_STOP = {"lifecycle": {"preStop": {"exec": {"command": ["/bin/sleep", "3"]}}}}
"""So long a pod that is told to end goes on serving, until all proxies have heard of it.

A server without it that stops listening at SIGTERM loses a few requests of every eviction and
rollout; of our moves none, for it leaves its Services first (tests/nodes/test_leaving_services.py).
"""


def server(*flags: str, **container: object) -> Object:
    """The spec of a pod that runs our server with these flags."""
    app = {
        "name": "app",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": list(flags),
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1},
        **container,
    }
    return {"containers": [app], "terminationGracePeriodSeconds": 30}


async def deploy(world: World, spec: Object, on: str) -> list[str]:
    """Deployments of one, two and three replicas, each with its Service, all on one node."""
    names = [f"web-{replicas}" for replicas in REPLICAS]
    await world.create(*map(service, names))
    made = [
        deployment(name, replicas=replicas, spec=spec)
        for name, replicas in zip(names, REPLICAS, strict=True)
    ]
    await world.deploy(*made, on=on)
    return names


async def are_all_elsewhere(world: World, names: Sequence[str], left: str) -> bool:
    """All complete, and none, also none that is ending, is where they were."""
    pods = [pod for name in names for pod in await world.pods(name)]
    return all([await world.is_complete(name) for name in names]) and all(
        pod["spec"].get("nodeName") != left for pod in pods
    )


@asynccontextmanager
async def world_of_real_nodes(
    instance: Instance, nodes: RealNodes, folder: Path, name: str
) -> AsyncIterator[World]:
    """The real nodes are this world's, as long as it lasts."""
    async with make_world(instance, folder, name) as made:
        mine = {"metadata": {"labels": {OWNER: made.name}}}
        await asyncio.gather(*(made.api.patch("Node", None, each, mine) for each in nodes.names))
        made.nodes = list(nodes.names)
        try:
            yield made
        finally:
            await asyncio.gather(*map(made.uncordon, made.nodes))
            made.nodes.clear()  # else they would be deleted
