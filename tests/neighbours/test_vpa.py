"""VerticalPodAutoscaler: its admission controller gives pods their size, its updater evicts those
that have another.
"""

from testbed.api import Object, path_of
from testbed.builders import deployment
from testbed.scenarios import Scene
from tests.neighbours.beside import drain, evicted_by, metric, start
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.own_cluster import OwnControlPlane

LOOPS = 5
_LOOPED = 'vpa_updater_execution_latency_seconds_count{step="total"}'
_STATUS = "application/merge-patch+json"


def autoscaler(name: str) -> Object:
    """Of the Deployment of the same name."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"targetRef": target, "updatePolicy": {"updateMode": "Recreate"}},
    }


async def recommend(world: Scene, name: str, cpu: str) -> None:
    """As its recommender does when it has watched for long enough."""
    size = {"cpu": cpu, "memory": "256Mi"}
    bounds = dict.fromkeys(("target", "lowerBound", "upperBound", "uncappedTarget"), size)
    status = {"recommendation": {"containerRecommendations": [{"containerName": "app", **bounds}]}}
    path = path_of("VerticalPodAutoscaler", world.name, name) + "/status"
    await world.api.request("PATCH", path, body={"status": status}, content_type=_STATUS)


async def sizes(world: Scene, app: str) -> list[str]:
    return [
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        for pod in await world.pods(app)
    ]


async def names(world: Scene, app: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in await world.pods(app)}


async def test_moved_pods_keep_the_size_that_it_gives_and_its_updater_leaves_them_alone(
    own: OwnControlPlane,
) -> None:
    world = own.real
    await start(own, "vpa-admission-controller")
    await start(own, "vpa-updater", interval="1s")
    full, empty = await world.add_nodes(2, cpu="8")
    await world.deploy(deployment("web", replicas=2), on=full)
    await world.cordon(empty)
    await world.create(autoscaler("web"))
    await recommend(world, "web", "2")

    async def are_grown() -> bool:
        return await sizes(world, "web") == ["2", "2"] and await world.is_complete("web")

    # So both do their work: the updater evicts what is too small, and the successors are given 2.
    await world.wait("VPA has given the pods 2 cores", are_grown)
    assert len(evicted_by(world, "vpa-updater")) == 2
    await world.uncordon(empty)
    before = await names(world, "web")

    async with world.auditor() as auditor:
        run = await drain(world, full)
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert_nobody_noticed(audit)
    assert await world.nodes_of("web") == [empty] * 2
    moved = await names(world, "web")
    assert not moved & before
    assert await sizes(world, "web") == ["2", "2"]

    looked = await metric(own, "vpa-updater", _LOOPED)

    async def has_looked_again() -> bool:
        return await metric(own, "vpa-updater", _LOOPED) >= looked + LOOPS

    await world.wait("the updater has looked several times", has_looked_again)
    assert len(evicted_by(world, "vpa-updater")) == 2
    assert await names(world, "web") == moved
