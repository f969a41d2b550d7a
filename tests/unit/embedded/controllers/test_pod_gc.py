"""Pods whose node is gone, or out of service."""

import asyncio

from rescheduler import wire
from rescheduler.embedded.store import Change
from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import PREFIX, NodeCluster


async def test_pods_of_a_deleted_node_go_after_a_quarantine(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    cluster.create("other", nodeName="b")
    await asyncio.sleep(1)
    last: list[Change] = []
    cluster.store.listen(wire.PODS, last.append)
    cluster.api.delete(wire.NODES, None, "a")
    await asyncio.sleep(39)
    assert cluster.find("web") is not None
    await asyncio.sleep(22)
    assert cluster.find("web") is None
    assert cluster.is_ready("other")
    failed, gone = last[-2:]
    assert failed.object["status"]["phase"] == "Failed"
    told = conditions.find(failed.object, "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "DeletionByPodGC"
    assert gone.kind == "DELETED"


async def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    await asyncio.sleep(1)
    cluster.api.delete(wire.NODES, None, "a")
    await asyncio.sleep(20)
    await cluster.nodes("a")
    await asyncio.sleep(100)
    assert cluster.is_ready("web")


async def test_pods_that_end_on_a_node_out_of_service_are_gone(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.create("web", nodeName="a")
    await asyncio.sleep(1)
    cluster.change_node("a", metadata={"labels": {PREFIX + "kubelet": "hung"}})
    cluster.delete("web")
    await asyncio.sleep(100)
    assert cluster.find("web") is not None
    taints = cluster.node("a")["spec"]["taints"]
    out = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    cluster.change_node("a", spec={"taints": [*taints, out]})
    await asyncio.sleep(21)
    assert cluster.find("web") is None
