"""Pods of lower priority go for those of higher, and no more of them than must."""

import asyncio

from rescheduler import wire
from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.ground import NAMESPACE, Ground, on_ground

HIGH: Object = {"priorityClassName": "high"}
MIDDLE: Object = {"priorityClassName": "middle"}


async def prepare(ground: Ground, *names: str) -> None:
    for name, value, policy in (
        ("high", 1000, "PreemptLowerPriority"),
        ("middle", 10, "PreemptLowerPriority"),
        ("polite", 1000, "Never"),
    ):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        ground.api.create(wire.PRIORITY_CLASSES, None, body)
    await ground.nodes(*names, cpu="2")


def guard(ground: Ground, app: str, allowed: int) -> Object:
    selector = {"matchLabels": {"app": app}}
    body = {"metadata": {"name": app}, "spec": {"minAvailable": 1, "selector": selector}}
    made = ground.api.create(wire.POD_DISRUPTION_BUDGETS, NAMESPACE, body)
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1}
    return ground.api.set_status(wire.POD_DISRUPTION_BUDGETS, made, status)


@on_ground
async def test_only_those_go_who_must(ground: Ground) -> None:
    await prepare(ground, "a")
    slow = {"exit-after-seconds": "5"}
    for name in ("one", "two", "three"):
        await ground.placed(name, cpu="600m", does=slow)
    ground.create("boss", cpu="700m", **HIGH)
    await asyncio.sleep(1)
    leaving = [
        name
        for name in ("one", "two", "three")
        if "deletionTimestamp" in ground.pod(name)["metadata"]
    ]
    # The youngest is the least important.
    assert leaving == ["three"]
    told = conditions.find(ground.pod("three"), "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "PreemptionByScheduler"
    waiting = ground.pod("boss")
    assert waiting["status"]["nominatedNodeName"] == "a"
    assert "nodeName" not in waiting["spec"]
    # Nobody of lower rank takes the room that is being made.
    assert await ground.placed("thief", cpu="100m") == ""
    await asyncio.sleep(5)
    assert ground.place("boss") == "a"
    assert ground.place("thief") == "a"
    assert [name for name in ("one", "two", "three") if ground.find(name)] == ["one", "two"]


@on_ground
async def test_nobody_goes_in_vain(ground: Ground) -> None:
    await prepare(ground, "a")
    await ground.placed("one", cpu="600m")
    assert await ground.placed("giant", cpu="3", **HIGH) == ""
    assert await ground.placed("polite", cpu="1500m", priorityClassName="polite") == ""
    assert "preemptionPolicy=Never" in ground.why_not("polite")
    assert ground.is_ready("one")
    assert "nominatedNodeName" not in ground.pod("giant")["status"]


@on_ground
async def test_budgets_and_priorities_decide_where(ground: Ground) -> None:
    await prepare(ground, "a", "b", "c")
    hosts = {"a": "guarded", "b": "middle", "c": "plain"}
    for node, name in hosts.items():
        selector = {"nodeSelector": {"kubernetes.io/hostname": node}}
        rank = MIDDLE if name == "middle" else {}
        await ground.placed(name, cpu="1500m", **selector, **rank)
    guard(ground, "guarded", 0)
    assert await ground.placed("boss", cpu="1500m", **HIGH) in ("", "c")
    await asyncio.sleep(2)
    assert ground.place("boss") == "c"
    await ground.placed("boss2", cpu="1500m", **HIGH)
    await asyncio.sleep(2)
    # A budget is worth more than a rank, and is violated only where nothing else helps.
    assert ground.place("boss2") == "b"
    await ground.placed("boss3", cpu="1500m", **HIGH)
    await asyncio.sleep(2)
    assert ground.place("boss3") == "a"
