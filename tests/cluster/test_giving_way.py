"""The user acts in the middle of a migration, and wins."""

from collections.abc import Awaitable, Callable

import pytest

from testbed.api import Object
from testbed.world import World, finish
from tests.cluster.stage import set_stage

HISTORY = "scheduler.alpha.kubernetes.io/"


async def scale_to_zero(world: World, _: str) -> int:
    await world.api.patch("Deployment", world.name, "web", {"spec": {"replicas": 0}})
    return 0


async def roll_out(world: World, _: str) -> int:
    template = {"metadata": {"annotations": {"version": "2"}}}
    await world.api.patch("Deployment", world.name, "web", {"spec": {"template": template}})
    return 3


async def delete_workload(world: World, _: str) -> int:
    await world.api.delete("Deployment", world.name, "web")
    return 0


async def delete_original(world: World, copy: str) -> int:
    found = await world.api.get("Pod", world.name, copy)
    original = found["metadata"]["annotations"][HISTORY + "original-pod-name"]
    await world.api.delete("Pod", world.name, original)
    return 3


async def delete_copy(world: World, copy: str) -> int:
    await world.api.delete("Pod", world.name, copy)
    return 3


async def pause(world: World, _: str) -> int:
    await world.api.patch("Deployment", world.name, "web", {"spec": {"paused": True}})
    return 3


@pytest.mark.parametrize(
    "act",
    [scale_to_zero, roll_out, delete_workload, delete_original, delete_copy, pause],
)
async def test_gives_way_while_the_copy_starts(
    world: World, act: Callable[[World, str], Awaitable[int]]
) -> None:
    await set_stage(world, 3)
    await world.afflict_copies(ready_after="60s")
    async with world.faults() as proxy:
        process = await world.start()
        await proxy.wait_until(lambda: any(write.status for write in proxy.writes), within=30)
        copy = proxy.writes[0].name
        wanted = await act(world, copy)
        run = await finish(process)
    assert run.code == 1, run
    await world.wait("the pods are as the user wants", lambda: _has_pods(world, wanted))
    assert copy not in [pod["metadata"]["name"] for pod in await world.pods("web")]


@pytest.mark.parametrize("replicas", [5, 2])
async def test_ends_with_the_right_number_when_scaled_meanwhile(
    world: World, replicas: int
) -> None:
    """Whether the move completes or gives way depends on who is faster; the number does not."""
    await set_stage(world, 3)
    await world.afflict_copies(ready_after="2s")
    async with world.faults() as proxy:
        process = await world.start()
        await proxy.wait_until(lambda: any(write.status for write in proxy.writes), within=30)
        await world.api.patch("Deployment", world.name, "web", {"spec": {"replicas": replicas}})
        await finish(process)
    await world.wait("web is complete", lambda: world.is_complete("web"))
    statuses = [
        pod["metadata"]["labels"].get(HISTORY + "migration-status")
        for pod in await world.pods("web")
    ]
    assert "in-progress" not in statuses
    marks = [key for pod in await world.pods("web") for key in _annotations(pod) if "cost" in key]
    assert marks == []


async def _has_pods(world: World, wanted: int) -> bool:
    pods = await world.pods("web")
    ours = [key for pod in pods for key in pod["metadata"]["labels"] if key.startswith(HISTORY)]
    return len(pods) == wanted and ours == []


def _annotations(pod: Object) -> Object:
    return pod["metadata"].get("annotations") or {}
