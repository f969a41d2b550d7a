"""Pods of lower priority go for those of higher, and no more of them than must."""

import asyncio

from rescheduler import wire
from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import NAMESPACE, NodeCluster

HIGH: Object = {"priorityClassName": "high"}
MIDDLE: Object = {"priorityClassName": "middle"}


async def prepare(cluster: NodeCluster, *names: str) -> None:
    for name, value, policy in (
        ("high", 1000, "PreemptLowerPriority"),
        ("middle", 10, "PreemptLowerPriority"),
        ("polite", 1000, "Never"),
    ):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        cluster.api.create(wire.PRIORITY_CLASSES, None, body)
    await cluster.nodes(*names, cpu="2")


def guard(cluster: NodeCluster, app: str, allowed: int) -> Object:
    selector = {"matchLabels": {"app": app}}
    body = {"metadata": {"name": app}, "spec": {"minAvailable": 1, "selector": selector}}
    made = cluster.api.create(wire.POD_DISRUPTION_BUDGETS, NAMESPACE, body)
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1}
    return cluster.api.set_status(wire.POD_DISRUPTION_BUDGETS, made, status)


async def test_only_those_go_who_must(cluster: NodeCluster) -> None:
    await prepare(cluster, "a")
    slow = {"exit-after-seconds": "5"}
    for name in ("one", "two", "three"):
        await cluster.placed(name, cpu="600m", does=slow)
    cluster.create("boss", cpu="700m", **HIGH)
    await asyncio.sleep(1)
    leaving = [
        name
        for name in ("one", "two", "three")
        if "deletionTimestamp" in cluster.pod(name)["metadata"]
    ]
    # The youngest is the least important.
    assert leaving == ["three"]
    told = conditions.find(cluster.pod("three"), "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "PreemptionByScheduler"
    waiting = cluster.pod("boss")
    assert waiting["status"]["nominatedNodeName"] == "a"
    assert "nodeName" not in waiting["spec"]
    # Nobody of lower rank takes the room that is being made.
    assert await cluster.placed("thief", cpu="100m") == ""
    await asyncio.sleep(5)
    assert cluster.place("boss") == "a"
    assert cluster.place("thief") == "a"
    assert [name for name in ("one", "two", "three") if cluster.find(name)] == ["one", "two"]


async def test_nobody_goes_in_vain(cluster: NodeCluster) -> None:
    await prepare(cluster, "a")
    await cluster.placed("one", cpu="600m")
    assert await cluster.placed("giant", cpu="3", **HIGH) == ""
    assert await cluster.placed("polite", cpu="1500m", priorityClassName="polite") == ""
    assert "preemptionPolicy=Never" in cluster.why_not("polite")
    assert cluster.is_ready("one")
    assert "nominatedNodeName" not in cluster.pod("giant")["status"]


async def test_budgets_and_priorities_decide_where(cluster: NodeCluster) -> None:
    await prepare(cluster, "a", "b", "c")
    hosts = {"a": "guarded", "b": "middle", "c": "plain"}
    for node, name in hosts.items():
        selector = {"nodeSelector": {"kubernetes.io/hostname": node}}
        rank = MIDDLE if name == "middle" else {}
        await cluster.placed(name, cpu="1500m", **selector, **rank)
    guard(cluster, "guarded", 0)
    assert await cluster.placed("boss", cpu="1500m", **HIGH) in ("", "c")
    await asyncio.sleep(2)
    assert cluster.place("boss") == "c"
    await cluster.placed("boss2", cpu="1500m", **HIGH)
    await asyncio.sleep(2)
    # A budget is worth more than a rank, and is violated only where nothing else helps.
    assert cluster.place("boss2") == "b"
    await cluster.placed("boss3", cpu="1500m", **HIGH)
    await asyncio.sleep(2)
    assert cluster.place("boss3") == "a"
