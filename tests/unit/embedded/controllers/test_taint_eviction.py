"""NoExecute taints drive out who does not tolerate them, or not for long."""

import asyncio

from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.ground import Ground, on_ground

TAINT = {"key": "example.com/gone", "value": "yes", "effect": "NoExecute"}


def tolerating(seconds: int | None = None) -> Object:
    made: Object = {"key": TAINT["key"], "operator": "Exists"}
    return made if seconds is None else made | {"tolerationSeconds": seconds, "effect": "NoExecute"}


@on_ground
async def test_who_goes_and_when(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("stranger", does={"exit-after-seconds": "2"})
    ground.create("guest", tolerations=[tolerating(60)])
    ground.create("friend", tolerations=[tolerating()])
    await asyncio.sleep(1)
    ground.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(1)
    leaving = ground.pod("stranger")
    assert "deletionTimestamp" in leaving["metadata"]
    told = conditions.find(leaving, "DisruptionTarget")
    assert told is not None
    assert (told["status"], told["reason"]) == ("True", "DeletionByTaintManager")
    assert "deletionTimestamp" not in ground.pod("guest")["metadata"]
    await asyncio.sleep(61)
    assert ground.find("stranger") is None
    assert ground.find("guest") is None
    assert ground.is_ready("friend")


@on_ground
async def test_when_the_taint_goes_so_does_the_plan(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("guest", tolerations=[tolerating(60)])
    await asyncio.sleep(1)
    ground.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(50)
    ground.change_node("a", spec={"taints": None})
    await asyncio.sleep(50)
    assert ground.is_ready("guest")
    # It begins anew.
    ground.change_node("a", spec={"taints": [TAINT]})
    await asyncio.sleep(50)
    assert ground.is_ready("guest")
    await asyncio.sleep(11)
    assert ground.find("guest") is None
