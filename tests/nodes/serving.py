"""What tests do to Deployments on real nodes under traffic."""

from typing import Any

from testbed.processes import Running
from testbed.realnodes.traffic import Traffic
from testbed.world import World
from tests.nodes.conftest import say
from tests.scenarios.looping import Ended, election, ended


async def start_draining(world: World, node: str, **settings: Any) -> Running:  # noqa: ANN401
    path = str(world.default_configuration(**election(world), **settings))
    return await world.start_as_admin("drain", node, "--config", path)


async def drain(world: World, node: str, **settings: Any) -> Ended:  # noqa: ANN401
    return await ended(await start_draining(world, node, **settings))


def report(what: str, seen: Traffic) -> None:
    say("\n  ".join([f"{what}: {seen}", *seen.failures]))
