"""NoExecute taints drive out who does not tolerate them, or not for long."""

import asyncio

from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import NodeCluster

TAINT = {"key": "example.com/gone", "value": "yes", "effect": "NoExecute"}


def tolerating(seconds: int | None = None) -> Object:
    made: Object = {"key": TAINT["key"], "operator": "Exists"}
    return made if seconds is None else made | {"tolerationSeconds": seconds, "effect": "NoExecute"}


async def test_who_goes_and_when(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("stranger", does={"exit-after-seconds": "2"})
    cluster.create("guest", tolerations=[tolerating(60)])
    cluster.create("friend", tolerations=[tolerating()])
    await asyncio.sleep(1)
    cluster.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(1)
    leaving = cluster.pod("stranger")
    assert "deletionTimestamp" in leaving["metadata"]
    told = conditions.find(leaving, "DisruptionTarget")
    assert told is not None
    assert (told["status"], told["reason"]) == ("True", "DeletionByTaintManager")
    assert "deletionTimestamp" not in cluster.pod("guest")["metadata"]
    await asyncio.sleep(61)
    assert cluster.find("stranger") is None
    assert cluster.find("guest") is None
    assert cluster.is_ready("friend")


async def test_when_the_taint_goes_so_does_the_plan(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("guest", tolerations=[tolerating(60)])
    await asyncio.sleep(1)
    cluster.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(50)
    cluster.change_node("a", spec={"taints": None})
    await asyncio.sleep(50)
    assert cluster.is_ready("guest")
    # It begins anew.
    cluster.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(50)
    assert cluster.is_ready("guest")
    await asyncio.sleep(11)
    assert cluster.find("guest") is None
