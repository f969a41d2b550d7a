"""A kubelet has the last word on what runs on its node: what it refuses goes there no more."""

from testbed.api import Object
from testbed.builders import deployment, service, workload
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import PRE_STOP, server
from testbed.realnodes.traffic import traffic
from testbed.world import World
from tests.nodes.serving import drain, report
from tests.nodes.static_pods import static_pod
from tests.scenarios.judging import assert_as_if_nothing_happened, assert_nothing_of_ours_is_left

# Of each node pods may have 500m.
TAKEN = "400m"
SIZE = {"resources": {"requests": {"cpu": "150m", "memory": "16Mi"}}}
FEW = 30
"""Pods that a ReplicaSet makes, and leaves, until we have heard of the first and the API server of
that, which takes some seconds on a busy machine. One that is steered to such a node for as long as
a successor has to become Ready, five minutes, makes some each second.
"""


async def test_where_there_is_no_room_after_all_the_copy_is_taken_back(
    world: World, nodes: RealNodes
) -> None:
    """By all that the scheduler knows there is room."""
    full, taken, other = nodes.names
    await world.create(service("web"))
    spec = server("-sigterm=exit", **SIZE)
    await world.deploy(deployment("web", replicas=1, spec=spec), on=full)
    await world.cordon(other)
    async with (
        static_pod(world, nodes, taken, cpu=TAKEN),
        world.auditor() as auditor,
        traffic(world.instance, nodes, world.name, "web") as seen,
    ):
        run = await drain(world, full)
        assert run.code == 1, run
        assert "the copy ended: OutOfcpu" in run.err, run
        audit = await world.audit(auditor)
    report("rescheduler drain, OutOfcpu on the target", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [full]
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_successor_that_is_refused_is_steered_there_no_more(
    world: World, nodes: RealNodes
) -> None:
    """Its own wish, which the steering outweighs, then brings it to the other node."""
    full, taken, other = nodes.names
    await world.create(service("web"))
    await world.deploy(deployment("ballast", replicas=1, spec=server()), on=other)
    spec = server("-sigterm=exit", **SIZE, **PRE_STOP) | {"affinity": wishing(other)}
    recreate = {"strategy": {"type": "Recreate"}}
    await world.deploy(workload("Deployment", "web", spec=spec, replicas=2, **recreate), on=full)
    async with (
        static_pod(world, nodes, taken, cpu=TAKEN),
        world.auditor() as auditor,
        traffic(world.instance, nodes, world.name, "web") as seen,
    ):
        run = await drain(world, full)
        audit = await world.audit(auditor)
    report("rescheduler drain, OutOfcpu for a steered successor", seen)
    assert run.code == 0, run
    assert seen.failures == []
    assert await world.nodes_of("web") == [other, other]
    assert taken in {each["spec"]["target"] for each in await world.records()}
    assert len(audit.pods_made()) > 2
    failed = [each for each in await world.pods("web") if each["status"]["phase"] == "Failed"]
    assert len(failed) < FEW
    await assert_nothing_of_ours_is_left(world)


def wishing(node: str) -> Object:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    wish = {"weight": 50, "preference": {"matchExpressions": [term]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
