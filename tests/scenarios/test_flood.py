"""A flood of PodMigrations that somebody made by hand: told, bounded, and the loop goes on.

FLOOD is how many on the embedded cluster: `make test-full` makes 10,000.
"""

import asyncio
import os

import pytest

from rescheduler.embedded.virtual_time import VirtualTimeLoop
from testbed.api import Object
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import as_admin, controller
from tests.scenarios.world import World

AT_ONCE = 50
EMBEDDED = int(os.environ.get("FLOOD", "3000"))
REAL = 300
COUNTED = "more PodMigrations ended, or were ignored, before anything was done for them"


@pytest.mark.timeout(1200)
async def test_the_loop_goes_on_and_what_is_real_among_them_is_moved(world: World) -> None:
    many = EMBEDDED if isinstance(asyncio.get_running_loop(), VirtualTimeLoop) else REAL
    full, empty = await deploy_web(world, 2)
    pod = (await world.pods("web"))[0]
    for first in range(0, many, AT_ONCE):
        await asyncio.gather(*(_make(world, n, full, empty) for n in range(first, first + AT_ONCE)))
    await ask(world, pod, empty)
    settings = {"enabledStrategies": [], "reschedulingInterval": "1s"}
    retention = {"retention": {"maxCount": 100}, "retry": {"attempts": 1}}
    async with controller(world, **settings, migration=retention) as running:
        first_pass = await running.says("pass ended")
        await running.says("pass ended", times=3)
        assert first_pass["under_way"] > many / 2
        await world.wait("the real one is moved", lambda: _is_completed(world, pod))
        # What has ended goes, but for what is kept; the oldest last.
        await world.wait("the oldest is gone", lambda: _is_gone(world, "flood-0"))
        await world.wait("few are left", lambda: _are_few(world))
        told = await as_admin(world, "status", "--config", str(world.configuration(**settings)))
        assert told.code == 0
        assert (await running.stop()).code == 0
    # Told by a few of them, and by the number of the rest.
    ended = running.said("migration ended")
    named = sum(line["migration"].startswith("flood-") for line in ended)
    counted = sum(line["times"] for line in running.said(COUNTED))
    assert counted
    assert named + counted == many
    assert (await world.nodes_of("web")).count(empty) == 1


async def _make(world: World, number: int, source: str, target: str) -> None:
    name = f"flood-{number}"
    pod: Object = {"metadata": {"name": name, "uid": f"uid-{number}"}, "spec": {"nodeName": source}}
    await ask(world, pod, target)


async def _is_completed(world: World, pod: Object) -> bool:
    # By name: to list all of them all the time is what would take long.
    found = await world.api.get("PodMigration", world.name, pod["metadata"]["name"])
    return bool((found.get("status") or {}).get("phase") == "Completed")


async def _is_gone(world: World, name: str) -> bool:
    return await world.api.find("PodMigration", world.name, name) is None


async def _are_few(world: World) -> bool:
    return len(await world.records()) <= 100
