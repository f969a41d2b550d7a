"""How many pods move at once: as many as take nothing away from anybody."""

from testbed.builders import behaviour, deployment, service
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import controller
from tests.scenarios.world import World

MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}


async def test_originals_that_are_ending_hold_up_nobody(world: World) -> None:
    """Neither a worker, of which there is one, nor the next pod of their workload."""
    full, empty = await world.add_nodes(2)
    slow = behaviour(exit_after_seconds="25")
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=3, annotations=slow), on=full)

    async def are_all_ending() -> bool:
        steps = [(each.get("status") or {}).get("step") for each in await world.records()]
        return steps == ["WaitGone"] * 3

    async with (
        world.auditor() as auditor,
        controller(world, enabledStrategies=["NodeMaintenance"], migration={"workers": 1}),
    ):
        await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
        await world.wait("all originals are ending at the same time", are_all_ending)
        assert await world.nodes_of("web") == [empty] * 3
        await world.wait("they are gone", lambda: _are_gone(world, full))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


async def _are_gone(world: World, node: str) -> bool:
    return all(pod["spec"]["nodeName"] != node for pod in await world.pods("web"))
