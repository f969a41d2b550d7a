"""What was done, and what could not be, is told on the objects that people look at."""

from collections.abc import Awaitable, Callable

from testbed.api import Object
from testbed.faultproxy import Match, fail
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.world import World

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
KEEPS = "scheduler.alpha.kubernetes.io/rescheduling"
LABELLED = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1h"}
EVENTS = Match(resource="events", write=None)


async def label(world: World, node: str) -> None:
    await world.api.patch("Node", None, node, {"metadata": {"labels": {MAINTENANCE: "true"}}})


async def events(world: World, reason: str, kind: str = "") -> list[Object]:
    """Of ours, on an object of this kind; those of nodes are in the namespace default."""
    found = await world.api.list("Event", "default" if kind == "Node" else world.name)
    return [
        each
        for each in found
        if each.get("source", {}).get("component") == "rescheduler"
        and each["reason"] == reason
        and each["involvedObject"]["kind"] == (kind or each["involvedObject"]["kind"])
        and (kind != "Node" or each["involvedObject"]["name"] in world.nodes)
    ]


def told(world: World, reason: str, kind: str, times: int) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return len(await events(world, reason, kind)) == times

    return is_so


async def test_moves_are_told_on_pod_owner_and_node_and_who_stays_on_itself(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    async with world.auditor() as auditor:
        async with controller(world, **LABELLED) as running:
            await running.says("pass ended")
            await label(world, full)
            await world.wait("the node says so", told(world, "NodeNotEmptied", "Node", 1))
            for kind in ("Pod", "Deployment", "Node"):
                await world.wait(f"{kind} says so", told(world, "Moved", kind, 2))
            await world.wait("who stays is told", told(world, "StaysOnNode", "Pod", 2))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)
    pods = {each["metadata"]["uid"]: each for each in await world.pods("web")}
    on_pods = await events(world, "Moved", "Pod")
    assert {each["involvedObject"]["uid"] for each in on_pods} == set(pods)
    for each in on_pods:
        assert each["type"] == "Normal"
        assert f" from {full} to {empty}" in each["message"]
        assert "NodeMaintenance: " in each["message"]
    deployment = await world.api.get("Deployment", world.name, "web")
    on_owner = await events(world, "Moved", "Deployment")
    assert {each["involvedObject"]["uid"] for each in on_owner} == {deployment["metadata"]["uid"]}
    [left] = await events(world, "NodeNotEmptied", "Node")
    node = await world.api.get("Node", None, full)
    assert left["involvedObject"]["uid"] == node["metadata"]["uid"]
    assert left["message"].startswith("2 pods left, 2 of them stay: ")
    for each in await events(world, "StaysOnNode", "Pod"):
        assert each["involvedObject"]["name"].startswith("ballast-")
        assert KEEPS in each["message"]


async def test_a_node_that_is_emptied_says_so_once(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    await world.delete_workload("ballast")

    async def is_gone() -> bool:
        return not await world.pods("ballast")

    await world.wait("the ballast is gone", is_gone)
    async with controller(world, **{**LABELLED, "reschedulingInterval": "1s"}) as running:
        await label(world, full)
        await world.wait("the node says so", told(world, "NodeEmptied", "Node", 1))
        passes = len(running.said("pass ended"))
        await running.says("pass ended", times=passes + 3)
    [emptied] = await events(world, "NodeEmptied", "Node")
    assert emptied["count"] == 1
    assert await events(world, "StaysOnNode") == []


async def test_nobody_asked_so_nobody_is_told_who_stays(world: World) -> None:
    """Every pass refuses many pods, which is in the log at --v=4 and in rescheduler explain."""
    await deploy_web(world, 2)
    run = await world.run()
    assert run.code == 0, run
    assert await events(world, "StaysOnNode") == []
    assert len(await events(world, "Moved", "Pod")) > 0


async def test_a_failed_move_is_told_on_pod_owner_and_node_with_its_reason(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    await world.afflict_copies(crashes="true")
    run = await world.run()
    assert run.code == 1, run
    pods = {each["metadata"]["uid"] for each in await world.pods("web")}
    deployment = await world.api.get("Deployment", world.name, "web")
    node = await world.api.get("Node", None, full)
    whom = {
        "Pod": pods,
        "Deployment": {deployment["metadata"]["uid"]},
        "Node": {node["metadata"]["uid"]},
    }
    for kind, uids in whom.items():
        failed = await events(world, "NotMoved", kind)
        assert failed, kind
        assert {each["involvedObject"]["uid"] for each in failed} <= uids
        for each in failed:
            assert each["type"] == "Warning"
            assert f" was not moved from {full} to {empty}: CopyFailed: " in each["message"]


async def test_events_that_cannot_be_written_hold_up_nobody(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    async with world.faults() as proxy:
        refused = proxy.on(EVENTS, fail(500, message="no room for events"))
        async with controller(world, **LABELLED) as running:
            await running.says("pass ended")
            await label(world, full)
            await running.says("pass ended", where=lambda line: line.get("moved") == 2)
        assert refused.fired
    assert await world.nodes_of("web") == [empty] * 2
    assert await events(world, "Moved") == []


async def test_drain_tells_the_same(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    path = str(world.configuration(**election(world)))
    await as_admin(world, "drain", full, "--config", path)
    assert len(await events(world, "Moved", "Pod")) == 1
    assert len(await events(world, "NodeNotEmptied", "Node")) == 1
    assert len(await events(world, "StaysOnNode", "Pod")) == 2
