"""A pod that was resized in place keeps its size when it moves, if nobody else sets it."""

from typing import Any

import pytest

from testbed.api import Object, path_of
from testbed.builders import deployment, service
from testbed.world import World
from tests.cluster.injecting import SIZE, by_owner, injecting, size
from tests.scenarios.asking import ask

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
NO_STRATEGY: dict[str, Any] = {"enabledStrategies": []}
WANTED = "750m"
KEPT = "it keeps the size that it was resized to (app)"


async def resize(world: World, pod: Object, cpu: str) -> None:
    """As kubectl does: `kubectl patch --subresource resize`."""
    path = path_of("Pod", world.name, pod["metadata"]["name"])
    found = await world.api.request("GET", path)
    # What only a kubelet that can resize reports; without it the API server refuses.
    held = found["spec"]["containers"][0]["resources"]
    statuses = [{**each, "resources": held} for each in found["status"]["containerStatuses"]]
    status = {"status": {"containerStatuses": statuses}}
    await world.api.request("PATCH", f"{path}/status", body=status, content_type=MERGE)
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    body = {"spec": {"containers": [container]}}
    await world.api.request("PATCH", f"{path}/resize", body=body, content_type=STRATEGIC)


def cores(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


async def moved(world: World, pod: Object, to: str) -> tuple[Object, Object]:
    """The record, and the pod that took its place."""
    record = await ask(world, pod, to)
    run = await world.run(**NO_STRATEGY)
    assert run.code == 0, run
    found = await world.api.get("PodMigration", world.name, record["metadata"]["name"])
    name = found["status"]["newPod"]["name"]
    return found["status"], await world.api.get("Pod", world.name, name)


async def test_it_keeps_its_size_however_often_it_moves(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=2), on=full)
    one, other = await world.pods("web")
    await resize(world, one, WANTED)

    status, there = await moved(world, one, empty)
    assert cores(there) == WANTED
    assert KEPT in status["message"]
    status, back = await moved(world, there, full)
    assert cores(back) == WANTED
    assert KEPT in status["message"]
    # Its sibling never had another size than its template.
    status, there = await moved(world, other, empty)
    assert cores(there) == "500m"
    assert "resized" not in status["message"]


async def test_one_that_is_resized_while_it_moves_is_moved_later_with_its_new_size(
    world: World,
) -> None:
    """Nobody takes it for a fault of admission's, by which its siblings would stay, too."""
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=2), on=full)
    one, other = await world.pods("web")
    await world.afflict_copies(ready_after="4s")
    record = await ask(world, one, empty)
    process = await world.start(**NO_STRATEGY)
    await world.wait_for_copy("web")
    await resize(world, one, WANTED)
    run = await process.finish()
    status = (await world.api.get("PodMigration", world.name, record["metadata"]["name"]))["status"]
    assert status["reason"] == "WorkloadChanged", run
    assert status["message"] == "the pod was resized meanwhile"
    await world.heal_copies()
    await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
    status, there = await moved(world, one, empty)
    assert cores(there) == WANTED
    assert KEPT in status["message"]
    _, there = await moved(world, other, empty)
    assert cores(there) == "500m"


@pytest.mark.parametrize("resized", [False, True])
async def test_the_size_that_admission_gives_comes_first(world: World, *, resized: bool) -> None:
    """Whoever resized it was overruled, or was the same autoscaler some time ago."""
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=1), on=full)
    [pod] = await world.pods("web")
    if resized:
        await resize(world, pod, WANTED)
    async with injecting(world, by_owner, size):
        status, there = await moved(world, pod, empty)
    assert cores(there) == SIZE
    assert "resized" not in status["message"]


async def test_a_target_without_room_for_its_new_size_is_no_target(world: World) -> None:
    """Before anything is made: it is the copy's size that counts, not that of the pod."""
    [full] = await world.add_nodes(1)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=1), on=full)
    [small] = await world.add_nodes(1, cpu="900m")
    [pod] = await world.pods("web")
    async with injecting(world, by_owner, size), world.auditor() as auditor:
        record = await ask(world, pod, small)
        await world.run(**NO_STRATEGY)
        audit = await world.audit(auditor)
    found = await world.api.get("PodMigration", world.name, record["metadata"]["name"])
    assert found["status"]["reason"] == "NotNow"
    assert "not enough cpu: requests 1, 900m free" in found["status"]["message"]
    assert audit.pods_made() == []
