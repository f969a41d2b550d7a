"""How many pods move at once: as many as take nothing away from anybody."""

from collections import Counter

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import behaviour, deployment, pod_spec, service
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import controller, default_controller
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


async def test_balancing_goes_on_while_originals_are_ending(world: World) -> None:
    """They are more than one pass may move, and all alike."""
    full, *others = await world.add_nodes(3, cpu="16")
    spec = pod_spec(cpu="400m", memory="32Mi") | {"terminationGracePeriodSeconds": 600}
    slow = behaviour(exit_after_seconds="600")
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=30, spec=spec, annotations=slow), on=full)

    async def is_balanced() -> bool:
        """No further apart than the threshold of 20 points, which are 8 pods."""
        pods = [each for each in await world.pods("web") if not _is_ending(each)]
        there = Counter(each["spec"]["nodeName"] for each in pods if is_ready(each))
        return len(pods) == 30 and max(there.values()) - min(there[each] for each in others) <= 8

    async with (
        world.auditor() as auditor,
        default_controller(world, enabledStrategies=["LoadBalancing"]) as running,
    ):
        await world.wait("the second pass has moved pods, too", is_balanced)
        early = [line.get("early", "") for line in running.said("pass ended")]
        assert any("ended at maxReschedulePods" in why for why in early)
        ending = [each for each in await world.pods("web") if _is_ending(each)]
        assert len(ending) > 10
        audit = await world.audit(auditor)
    assert (audit.replicas_missing(), audit.endpoints_missing()) == ([], [])


async def _are_gone(world: World, node: str) -> bool:
    return all(pod["spec"]["nodeName"] != node for pod in await world.pods("web"))


def _is_ending(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
