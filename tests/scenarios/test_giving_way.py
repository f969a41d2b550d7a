"""The user acts in the middle of a migration, and wins."""

from collections.abc import Awaitable, Callable

import pytest

from testbed.api import Object
from testbed.scenarios import Scene
from tests.scenarios.stage import set_stage

HISTORY = "scheduler.alpha.kubernetes.io/"


async def scale_to_zero(world: Scene, _: Object) -> int:
    await world.scale("web", 0)
    return 0


async def roll_out(world: Scene, _: Object) -> int:
    await world.roll_out("web", "app:2")
    return 3


async def delete_workload(world: Scene, _: Object) -> int:
    await world.delete_workload("web")
    return 0


async def delete_original(world: Scene, copy: Object) -> int:
    await world.delete_pod(copy["metadata"]["annotations"][HISTORY + "original-pod-name"])
    return 3


async def delete_copy(world: Scene, copy: Object) -> int:
    await world.delete_pod(copy["metadata"]["name"])
    return 3


async def pause(world: Scene, _: Object) -> int:
    await world.pause("web")
    return 3


@pytest.mark.parametrize(
    "act",
    [scale_to_zero, roll_out, delete_workload, delete_original, delete_copy, pause],
)
async def test_gives_way_while_the_copy_starts(
    world: Scene, act: Callable[[Scene, Object], Awaitable[int]]
) -> None:
    await set_stage(world, 3)
    await world.afflict_copies(ready_after="60s")
    process = await world.start()
    copy = await world.wait_for_copy("web")
    wanted = await act(world, copy)
    run = await process.finish()
    assert run.code == 1, run
    await world.wait("the pods are as the user wants", lambda: _has_pods(world, wanted))
    assert await world.find_pod(copy["metadata"]["name"]) is None


@pytest.mark.parametrize("replicas", [5, 2])
async def test_ends_with_the_right_number_when_scaled_meanwhile(
    world: Scene, replicas: int
) -> None:
    """Whether the move completes or gives way depends on who is faster; the number does not."""
    await set_stage(world, 3)
    await world.afflict_copies(ready_after="2s")
    process = await world.start()
    await world.wait_for_copy("web")
    await world.scale("web", replicas)
    await process.finish()
    await world.wait("web is complete", lambda: world.is_complete("web"))
    statuses = [
        pod["metadata"]["labels"].get(HISTORY + "migration-status")
        for pod in await world.pods("web")
    ]
    assert "in-progress" not in statuses
    marks = [key for pod in await world.pods("web") for key in _annotations(pod) if "cost" in key]
    assert marks == []


async def _has_pods(world: Scene, wanted: int) -> bool:
    pods = await world.pods("web")
    ours = [key for pod in pods for key in pod["metadata"]["labels"] if key.startswith(HISTORY)]
    return len(pods) == wanted and ours == []


def _annotations(pod: Object) -> Object:
    return pod["metadata"].get("annotations") or {}
