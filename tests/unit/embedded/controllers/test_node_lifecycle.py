"""Nodes that are not Ready or silent: taints with their timing, and what becomes of their pods."""

import asyncio

from rescheduler.model import conditions
from tests.unit.embedded.ground import PREFIX, Ground, on_ground

DOWN = {"metadata": {"annotations": {PREFIX + "down": "true"}}}
UP = {"metadata": {"annotations": {PREFIX + "down": None}}}
HUNG = {"metadata": {"labels": {PREFIX + "kubelet": "hung"}}}
ALIVE = {"metadata": {"labels": {PREFIX + "kubelet": "alive"}}}
NOT_READY = {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
UNREACHABLE = {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}


def ready(ground: Ground, name: str) -> str:
    found = conditions.find(ground.node(name), "Ready")
    return str(found["status"]) if found else ""


@on_ground
async def test_a_cordon_is_a_taint_too(ground: Ground) -> None:
    await ground.nodes("a")
    ground.change_node("a", spec={"unschedulable": True})
    await asyncio.sleep(0.1)
    assert ground.taints("a") == {("unschedulable", "NoSchedule")}
    own = {"key": "example.com/mine", "effect": "NoSchedule"}
    taints = [*ground.node("a")["spec"]["taints"], own]
    ground.change_node("a", spec={"unschedulable": False, "taints": taints})
    await asyncio.sleep(0.1)
    assert ground.taints("a") == {("mine", "NoSchedule")}


@on_ground
async def test_a_node_that_says_it_is_not_ready(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    await asyncio.sleep(1)
    ground.change_node("a", **DOWN)
    await asyncio.sleep(1.5)
    assert ground.taints("a") == NOT_READY
    # Its kubelet is there, and says of its pods what it says.
    assert ground.is_ready("web")
    ground.change_node("a", **UP)
    await asyncio.sleep(1.5)
    assert ground.taints("a") == set()


@on_ground
async def test_while_no_node_is_ready_nobody_is_driven_out(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.change_node("a", **DOWN)
    await asyncio.sleep(2)
    assert ground.taints("a") == NOT_READY
    ground.change_node("b", **DOWN)
    await asyncio.sleep(2)
    assert ground.taints("a") == ground.taints("b") == {("not-ready", "NoSchedule")}
    ground.change_node("b", **UP)
    await asyncio.sleep(2)
    assert ground.taints("a") == NOT_READY
    assert ground.taints("b") == set()


@on_ground
async def test_a_silent_node_is_given_up_after_fifty_seconds(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    await asyncio.sleep(1)
    ground.change_node("a", **HUNG)
    await asyncio.sleep(39)
    assert ready(ground, "a") == "True"
    assert ground.is_ready("web")
    await asyncio.sleep(13)
    assert ready(ground, "a") == "Unknown"
    assert ground.taints("a") == UNREACHABLE
    assert not ground.is_ready("web")
    assert conditions.holds(ground.pod("web"), "ContainersReady")
    ground.change_node("a", **ALIVE)
    await asyncio.sleep(2)
    assert ready(ground, "a") == "True"
    assert ground.taints("a") == set()
    assert ground.is_ready("web")


@on_ground
async def test_a_node_that_falls_silent_as_soon_as_it_is_there(ground: Ground) -> None:
    await ground.nodes("a")
    ground.change_node("a", **DOWN)
    ground.change_node("a", **HUNG)
    await asyncio.sleep(53)
    assert ready(ground, "a") == "Unknown"


@on_ground
async def test_a_node_that_is_heard_of_again_in_time(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.change_node("a", **HUNG)
    await asyncio.sleep(35)
    ground.change_node("a", **ALIVE)
    await asyncio.sleep(5)
    ground.change_node("a", **HUNG)
    await asyncio.sleep(35)
    assert ready(ground, "a") == "True"


@on_ground
async def test_pods_of_a_lost_node_are_replaced_after_five_minutes(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    ground.create("brief", nodeName="a", tolerations=[brief()])
    await asyncio.sleep(1)
    ground.change_node("a", **DOWN)
    await asyncio.sleep(35)
    assert ground.find("brief") is None
    await asyncio.sleep(264)
    assert "deletionTimestamp" not in ground.pod("web")["metadata"]
    await asyncio.sleep(4)
    assert ground.find("web") is None


def brief() -> dict[str, object]:
    return {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    }
