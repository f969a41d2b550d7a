"""Nodes that are not Ready or silent: taints with their timing, and what becomes of their pods."""

import asyncio

from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import PREFIX, NodeCluster

DOWN = {"metadata": {"annotations": {PREFIX + "down": "true"}}}
UP = {"metadata": {"annotations": {PREFIX + "down": None}}}
HUNG = {"metadata": {"labels": {PREFIX + "kubelet": "hung"}}}
ALIVE = {"metadata": {"labels": {PREFIX + "kubelet": "alive"}}}
NOT_READY = {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
UNREACHABLE = {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}


def ready(cluster: NodeCluster, name: str) -> str:
    found = conditions.find(cluster.node(name), "Ready")
    return str(found["status"]) if found else ""


async def test_a_cordon_is_a_taint_too(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.change_node("a", spec={"unschedulable": True})
    await asyncio.sleep(0.1)
    assert cluster.taints("a") == {("unschedulable", "NoSchedule")}
    own = {"key": "example.com/mine", "effect": "NoSchedule"}
    taints = [*cluster.node("a")["spec"]["taints"], own]
    cluster.change_node("a", spec={"unschedulable": False, "taints": taints})
    await asyncio.sleep(0.1)
    assert cluster.taints("a") == {("mine", "NoSchedule")}


async def test_a_node_that_says_it_is_not_ready(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    await asyncio.sleep(1)
    cluster.change_node("a", **DOWN)
    await asyncio.sleep(1.5)
    assert cluster.taints("a") == NOT_READY
    # Its kubelet is there, and says of its pods what it says.
    assert cluster.is_ready("web")
    cluster.change_node("a", **UP)
    await asyncio.sleep(1.5)
    assert cluster.taints("a") == set()


async def test_while_no_node_is_ready_nobody_is_driven_out(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.change_node("a", **DOWN)
    await asyncio.sleep(2)
    assert cluster.taints("a") == NOT_READY
    cluster.change_node("b", **DOWN)
    await asyncio.sleep(2)
    assert cluster.taints("a") == cluster.taints("b") == {("not-ready", "NoSchedule")}
    cluster.change_node("b", **UP)
    await asyncio.sleep(2)
    assert cluster.taints("a") == NOT_READY
    assert cluster.taints("b") == set()


async def test_a_silent_node_is_given_up_after_fifty_seconds(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    await asyncio.sleep(1)
    cluster.change_node("a", **HUNG)
    await asyncio.sleep(39)
    assert ready(cluster, "a") == "True"
    assert cluster.is_ready("web")
    await asyncio.sleep(13)
    assert ready(cluster, "a") == "Unknown"
    assert cluster.taints("a") == UNREACHABLE
    assert not cluster.is_ready("web")
    assert conditions.holds(cluster.pod("web"), "ContainersReady")
    cluster.change_node("a", **ALIVE)
    await asyncio.sleep(2)
    assert ready(cluster, "a") == "True"
    assert cluster.taints("a") == set()
    assert cluster.is_ready("web")


async def test_a_node_that_falls_silent_as_soon_as_it_is_there(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.change_node("a", **DOWN)
    cluster.change_node("a", **HUNG)
    await asyncio.sleep(53)
    assert ready(cluster, "a") == "Unknown"


async def test_a_node_that_is_heard_of_again_in_time(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.change_node("a", **HUNG)
    await asyncio.sleep(35)
    cluster.change_node("a", **ALIVE)
    await asyncio.sleep(5)
    cluster.change_node("a", **HUNG)
    await asyncio.sleep(35)
    assert ready(cluster, "a") == "True"


async def test_pods_of_a_lost_node_are_replaced_after_five_minutes(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    cluster.create("brief", nodeName="a", tolerations=[brief()])
    await asyncio.sleep(1)
    cluster.change_node("a", **DOWN)
    await asyncio.sleep(35)
    assert cluster.find("brief") is None
    await asyncio.sleep(264)
    assert "deletionTimestamp" not in cluster.pod("web")["metadata"]
    await asyncio.sleep(4)
    assert cluster.find("web") is None


def brief() -> dict[str, object]:
    return {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    }
