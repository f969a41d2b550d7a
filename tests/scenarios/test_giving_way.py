"""The user acts in the middle of a migration, and wins."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from rescheduler.config import Configuration, Migration, Scope
from rescheduler.migrate import migrating
from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import budget
from testbed.scenarios import Scene
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.world import World

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
    await deploy_web(world, 3)
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
    await deploy_web(world, 3)
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


async def test_whoever_goes_on_with_it_tells_what_it_was_given_up_for(world: World) -> None:
    """Also when a budget has kept the copy for a while, which the log tells meanwhile."""
    _, empty = await deploy_web(world, 3, budget("web", minAvailable=3))
    pod, sibling, _ = await world.pods("web")
    settings = replace(
        Configuration(),
        scope=Scope(namespaces=(world.name,)),
        migration=Migration(settle_seconds=120.0),
    )
    asked = await ask(world, pod, empty)
    name = asked["metadata"]["name"]
    async with world.connect() as kube:
        async with migrating(kube, world.clock, settings, holder="first"):
            copy = await world.wait_for_copy("web")
            await world.wait("the copy is Ready", lambda: _is_ready(world, copy))
            await world.set_ready(sibling["metadata"]["name"], ready=False)
            await world.cordon(empty)
            await world.wait_for_record(name, step="TakeBack")
            await world.clock.sleep(8)  # a refusal that lasts is told
        await world.set_ready(sibling["metadata"]["name"], ready=True)
        async with migrating(kube, world.clock, settings, holder="second") as migrator:
            await migrator.synced()
            await migrator.idle()
    [record] = await world.records(name)
    assert record["status"]["reason"] == "TargetLost"
    assert record["status"]["message"] == f"{empty} is cordoned"


@pytest.mark.parametrize("lost", ["nothing", "target"])
async def test_a_copy_that_takes_the_last_of_a_quota_goes_when_its_user_scales_up(
    world: World, lost: str
) -> None:
    """Though the budget would keep it: it asks for the pod that the copy leaves no room for."""
    _, empty = await deploy_web(world, 3, budget("web", maxUnavailable=0))
    [sibling] = [each["metadata"]["name"] for each in (await world.pods("web"))[-1:]]
    brief = {"settle": "5s", "readyTimeout": "10s", "budgetTimeout": "5s"}
    process = await world.start(migration=brief)
    copy = await world.wait_for_copy("web")
    await world.wait("the copy is Ready", lambda: _is_ready(world, copy))
    await world.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "tight"},
            "spec": {"hard": {"pods": "6"}},
        }
    )
    await world.wait("the quota counts", lambda: _counts(world))
    if lost == "target":
        # It gives up, and may not take its copy back before its user scales up.
        await world.set_ready(sibling, ready=False)
        await world.cordon(empty)
        await world.wait_for_record(step="TakeBack")
    await world.scale("web", 4)
    if lost == "target":
        await world.clock.sleep(3)
        await world.set_ready(sibling, ready=True)
    run = await process.finish()
    assert run.code == 1, run
    assert await world.find_pod(copy["metadata"]["name"]) is None
    await world.wait("web is complete", lambda: world.is_complete("web"))


async def _counts(world: World) -> bool:
    [quota] = await world.api.list("ResourceQuota", world.name)
    return bool((quota.get("status") or {}).get("used"))


async def _is_ready(world: World, pod: Object) -> bool:
    found = await world.find_pod(pod["metadata"]["name"])
    return found is not None and is_ready(found)
