"""Starting a neighbour, and what is asked of each: who did what, and how often it looked."""

import asyncio
import json
from typing import Any

import aiohttp

from testbed.scenarios import Scene
from testbed.world import World
from tests.scenarios.looping import Ended, as_admin
from tests.scenarios.own_cluster import OwnControlPlane


async def start(own: OwnControlPlane, program: str, **options: Any) -> None:  # noqa: ANN401
    """Builds it first, if need be. Returns when it answers."""
    await asyncio.to_thread(own.owned.start, program, **options)


async def drain(world: Scene, node: str) -> Ended:
    settings = {"inFlight": {"perNode": 0, "perWorkload": 5}}
    return await as_admin(world, "drain", node, "--config", str(world.configuration(**settings)))


def evicted_by(world: World, program: str) -> list[str]:
    """The pods of this namespace that this neighbour has evicted, in order."""
    found = []
    for line in world.instance.audit_log.read_text().splitlines():
        if f'"testbed:{program}"' not in line:
            continue
        entry = json.loads(line)
        target = entry.get("objectRef") or {}
        if (
            target.get("subresource") == "eviction"
            and target.get("namespace") == world.name
            and entry["responseStatus"]["code"] < 300
        ):
            found.append(target["name"])
    return found


async def metric(own: OwnControlPlane, program: str, series: str) -> float:
    """What the program tells of itself; 0 as long as it does not."""
    url = f"{own.owned.instance.urls[program]}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=False) as answer:
        lines = (await answer.text()).splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{series} ")), 0.0)
