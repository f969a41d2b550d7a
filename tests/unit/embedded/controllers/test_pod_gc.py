"""Pods whose node is gone, or out of service."""

import asyncio

from rescheduler import wire
from rescheduler.embedded.store import Change
from rescheduler.model import conditions
from tests.unit.embedded.ground import PREFIX, Ground, on_ground


@on_ground
async def test_pods_of_a_deleted_node_go_after_a_quarantine(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    ground.create("other", nodeName="b")
    await asyncio.sleep(1)
    last: list[Change] = []
    ground.store.listen(wire.PODS, last.append)
    ground.api.delete(wire.NODES, None, "a")
    await asyncio.sleep(39)
    assert ground.find("web") is not None
    await asyncio.sleep(22)
    assert ground.find("web") is None
    assert ground.is_ready("other")
    failed, gone = last[-2:]
    assert failed.object["status"]["phase"] == "Failed"
    told = conditions.find(failed.object, "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "DeletionByPodGC"
    assert gone.kind == "DELETED"


@on_ground
async def test_a_node_that_comes_back_in_time_keeps_its_pods(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    await asyncio.sleep(1)
    ground.api.delete(wire.NODES, None, "a")
    await asyncio.sleep(20)
    await ground.nodes("a")
    await asyncio.sleep(100)
    assert ground.is_ready("web")


@on_ground
async def test_pods_that_end_on_a_node_out_of_service_are_gone(ground: Ground) -> None:
    await ground.nodes("a", "b")
    ground.create("web", nodeName="a")
    await asyncio.sleep(1)
    ground.change_node("a", metadata={"labels": {PREFIX + "kubelet": "hung"}})
    ground.delete("web")
    await asyncio.sleep(100)
    assert ground.find("web") is not None
    taints = ground.node("a")["spec"]["taints"]
    out = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    ground.change_node("a", spec={"taints": [*taints, out]})
    await asyncio.sleep(21)
    assert ground.find("web") is None
