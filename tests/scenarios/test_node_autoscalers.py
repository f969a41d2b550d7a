"""Beside an autoscaler of nodes: what it is about to remove is not filled, and is emptied by it."""

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_as_if_nothing_happened, assert_nobody_noticed
from tests.scenarios.looping import as_admin, controller, default_controller
from tests.scenarios.world import World

Taint = dict[str, str]
CANDIDATE: Taint = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"}
REMOVED: Taint = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
DISRUPTED: Taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
MAINTENANCE = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1s"}


async def taint(world: World, node: str, *taints: Taint) -> None:
    """These, beside the one that keeps other tests away."""
    found = await world.api.get("Node", None, node)
    ours = [each for each in found["spec"]["taints"] if each.get("value") == world.name]
    await world.api.patch("Node", None, node, {"spec": {"taints": [*ours, *taints]}})


def web_is(world: World, by_node: dict[str, int]) -> Callable[[], Awaitable[bool]]:
    """And nothing is on its way any more."""

    async def is_so() -> bool:
        phases = {(each.get("status") or {}).get("phase") for each in await world.records()}
        return phases == {"Completed"} and Counter(await world.nodes_of("web")) == by_node

    return is_so


async def test_the_emptiest_node_is_not_filled_while_it_may_be_removed(world: World) -> None:
    full, candidate = await deploy_web(world, 4)
    [other] = await world.add_nodes(1)
    await taint(world, candidate, CANDIDATE)
    settings = {"enabledStrategies": ["LoadBalancing"], "reschedulingInterval": "1s"}
    async with world.auditor() as auditor:
        async with default_controller(world, **settings) as running:
            await world.wait("the other is filled", web_is(world, {full: 1, other: 3}))
            await running.says("pass ended", where=lambda line: not line["planned"])
            assert {each["spec"]["target"] for each in await world.records()} == {other}
            await taint(world, candidate)
            await world.wait("it is filled", web_is(world, {candidate: 1, other: 3}))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


@pytest.mark.parametrize("by", [REMOVED, DISRUPTED], ids=lambda each: each["key"])
async def test_what_is_being_removed_is_emptied_by_who_removes_it_unless_we_are_to_help(
    world: World, by: Taint
) -> None:
    full, empty = await deploy_web(world, 2)
    await taint(world, full, by)
    await world.cordon(full)
    async with world.auditor() as auditor:
        cordoned = {"nodeMaintenance": {"cordonedNodes": True}}
        async with controller(world, **MAINTENANCE, **cordoned) as running:
            last = await running.says("pass ended", times=3)
        assert "no node is in maintenance" in last["summary"]
        assert await world.records() == []
        helping = {"nodeMaintenance": {"removedNodes": True}}
        async with controller(world, **MAINTENANCE, **helping):
            await world.wait("the web is elsewhere", web_is(world, {empty: 2}))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


@pytest.mark.parametrize("by", [REMOVED, DISRUPTED], ids=lambda each: each["key"])
async def test_a_target_that_is_removed_meanwhile_is_a_target_no_longer(
    world: World, by: Taint
) -> None:
    full, empty = await deploy_web(world, 4)
    await world.afflict_copies(ready_after="5s")
    settings = {"enabledStrategies": ["LoadBalancing"], "maxReschedulePods": 1}
    async with world.auditor() as auditor:
        process = await world.start(**settings)
        await world.wait_for_copy("web")
        await taint(world, empty, by)
        await process.finish()
        audit = await world.audit(auditor)
    [record] = await world.records()
    assert record["status"]["reason"] == "TargetLost", record["status"]
    assert f"is about to remove {empty}" in record["status"]["message"]
    assert await world.nodes_of("web") == [full] * 4
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_what_karpenter_packs_is_not_evened_out_unless_we_are_to_and_then_it_is_asked_to_wait(
    world: World,
) -> None:
    full, empty = await deploy_web(world, 4)
    for node in (full, empty):
        labels = {"karpenter.sh/nodepool": "general"}
        await world.api.patch("Node", None, node, {"metadata": {"labels": labels}})
    evened = {"nodeAutoscaler": {"packedNodes": "", "scaleDownUtilization": 0}}
    async with world.auditor() as auditor:
        async with default_controller(world, reschedulingInterval="1s") as running:
            last = await running.says("pass ended", times=3)
        assert "packed by their autoscaler, and not evened out" in last["summary"]
        assert await world.records() == []
        async with default_controller(world, reschedulingInterval="1s", **evened):
            await world.wait("the other is filled", web_is(world, {full: 1, empty: 3}))
        moved = [pod for pod in await world.pods("web") if pod["spec"]["nodeName"] == empty]
        told = [pod["metadata"]["annotations"].get(DO_NOT_DISRUPT) for pod in moved]
        assert told == ["11m"] * 3
        # That is karpenter's to mind, and no one else's.
        ended = await as_admin(
            world, "drain", empty, "--config", str(world.default_configuration(**evened))
        )
        assert ended.code == 0, ended.out + ended.err
        await world.wait("the web is back", web_is(world, {full: 4}))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)
    for pod in await world.pods("web"):
        assert DO_NOT_DISRUPT not in pod["metadata"].get("annotations", {})
