"""Argo Rollouts: its controller owns the ReplicaSets, and its Services may select by their hash."""

from testbed.api import Object
from testbed.builders import pod_spec, service, workload
from testbed.scenarios import Scene
from tests.neighbours.beside import drain, start
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.own_cluster import OwnControlPlane

ROLLOUTS = {"canary": 3, "coloured": 2, "single": 1}
"""Name -> replicas; the second is a blueGreen one."""


def rollout(name: str, replicas: int, strategy: Object) -> Object:
    made = workload("Rollout", name, spec=pod_spec(), replicas=replicas, strategy=strategy)
    return {**made, "apiVersion": "argoproj.io/v1alpha1"}


def canary() -> Object:
    steps = [{"setWeight": 50}, {"pause": {"duration": "1s"}}]
    return {"canary": {"maxSurge": 1, "maxUnavailable": 0, "steps": steps}}


def blue_green() -> Object:
    """Its Service selects by the hash, which the controller writes into it."""
    return {"blueGreen": {"activeService": "coloured", "autoPromotionEnabled": True}}


async def deploy_web(world: Scene) -> tuple[str, str]:
    full, empty = await world.add_nodes(2, cpu="16")
    await world.cordon(empty)
    for name, replicas in ROLLOUTS.items():
        strategy = blue_green() if name == "coloured" else canary()
        await world.create(service(name), rollout(name, replicas, strategy))
    await wait_until_healthy(world)
    await world.uncordon(empty)
    return full, empty


async def wait_until_healthy(world: Scene) -> None:
    async def are_healthy() -> bool:
        found = await world.api.list("Rollout", world.name)
        return len(found) == len(ROLLOUTS) and all(map(is_healthy, found))

    await world.wait("the rollouts are complete", are_healthy)


def is_healthy(found: Object) -> bool:
    status = found.get("status") or {}
    wanted = found["spec"]["replicas"]
    return (
        status.get("phase") == "Healthy"
        and status.get("observedGeneration") == str(found["metadata"]["generation"])
        and status.get("stableRS") == status.get("currentPodHash")
        and status.get("availableReplicas") == wanted == status.get("replicas")
    )


async def specs(world: Scene) -> dict[str, tuple[int, Object]]:
    return {
        each["metadata"]["name"]: (each["metadata"]["generation"], each["spec"])
        for each in await world.api.list("Rollout", world.name)
    }


async def roll_out(world: Scene, image: str) -> None:
    """A new revision of each."""
    template = {"spec": pod_spec(image=image)}
    for name in ROLLOUTS:
        await world.api.patch("Rollout", world.name, name, {"spec": {"template": template}})


async def images(world: Scene) -> set[str]:
    pods = await world.api.list("Pod", world.name)
    return {
        each["spec"]["containers"][0]["image"]
        for each in pods
        if "deletionTimestamp" not in each["metadata"]
    }


async def test_a_drain_goes_unnoticed_and_the_next_revision_completes(
    own: OwnControlPlane,
) -> None:
    world = own.real
    await start(own, "rollouts-controller")
    full, empty = await deploy_web(world)
    before = await specs(world)
    async with world.auditor() as auditor:
        run = await drain(world, full)
        audit = await world.audit(auditor)
    assert run.code == 0, run
    for name, replicas in ROLLOUTS.items():
        assert await world.nodes_of(name) == [empty] * replicas
    assert len(audit.pods_made()) == sum(ROLLOUTS.values())
    assert_nobody_noticed(audit)
    assert await specs(world) == before
    await wait_until_healthy(world)

    await roll_out(world, "app:2")

    async def is_rolled_out() -> bool:
        return await images(world) == {"app:2"}

    await world.wait("the new revision is everywhere", is_rolled_out)
    await wait_until_healthy(world)
