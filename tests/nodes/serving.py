"""Deployments of our server on real nodes, and what is done to them under traffic."""

from collections.abc import Sequence
from typing import Any

from testbed.api import Object
from testbed.builders import deployment, service
from testbed.processes import Running
from testbed.realnodes.settings import IMAGE
from testbed.realnodes.traffic import Traffic
from testbed.world import World
from tests.nodes.conftest import say
from tests.scenarios.looping import Ended, election, ended

REPLICAS = (1, 2, 3)

PRE_STOP = {"lifecycle": {"preStop": {"exec": {"command": ["/bin/sleep", "3"]}}}}
"""So long a pod that is told to end goes on serving, until all proxies have heard of it.

A server without it that stops listening at SIGTERM still loses a few requests of every move."""


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


async def start_draining(world: World, node: str, **settings: Any) -> Running:  # noqa: ANN401
    path = str(world.default_configuration(**election(world), **settings))
    return await world.start_as_admin("drain", node, "--config", path)


async def drain(world: World, node: str, **settings: Any) -> Ended:  # noqa: ANN401
    return await ended(await start_draining(world, node, **settings))


async def are_all_elsewhere(world: World, names: Sequence[str], left: str) -> bool:
    """All complete, and none, also none that is ending, is where they were."""
    pods = [pod for name in names for pod in await world.pods(name)]
    return all([await world.is_complete(name) for name in names]) and all(
        pod["spec"]["nodeName"] != left for pod in pods
    )


def report(what: str, seen: Traffic) -> None:
    say("\n  ".join([f"{what}: {seen}", *seen.failures]))
