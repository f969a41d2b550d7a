"""A NoExecute taint drives out who does not tolerate it, or not for long: on both clusters."""

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import pod, pod_spec
from tests.scenarios.world import World

TAINT = {"key": "example.com/gone", "value": "yes", "effect": "NoExecute"}


def tolerating(seconds: int | None = None) -> Object:
    made: Object = {"key": TAINT["key"], "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        made["tolerationSeconds"] = seconds
    return {**pod_spec(), "tolerations": [made]}


async def test_who_goes_and_when(world: World) -> None:
    [node] = await world.add_nodes(1)
    await world.create(
        pod("stranger", exit_after_seconds="1"),
        pod("guest", spec=tolerating(4)),
        pod("saved", spec=tolerating(8)),
        pod("friend", spec=tolerating()),
    )

    async def all_ready() -> bool:
        found = [await world.find_pod(name) for name in ("stranger", "guest", "saved", "friend")]
        return all(each is not None and is_ready(each) for each in found)

    await world.wait("all are Ready", all_ready)
    before = (await world.api.get("Node", None, node))["spec"]["taints"]
    await world.api.patch("Node", None, node, {"spec": {"taints": [*before, TAINT]}})

    async def is_told() -> bool:
        found = await world.find_pod("stranger")
        return found is not None and bool(found["metadata"].get("deletionTimestamp"))

    await world.wait("the stranger is told to go", is_told)
    leaving = await world.api.get("Pod", world.name, "stranger")
    [why] = [each for each in leaving["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert (why["status"], why["reason"]) == ("True", "DeletionByTaintManager")
    assert await world.find_pod("guest") is not None

    async def guest_is_gone() -> bool:
        return await world.find_pod("guest") is None

    await world.wait("the guest has gone", guest_is_gone)
    assert await world.find_pod("stranger") is None
    await world.api.patch("Node", None, node, {"spec": {"taints": before}})
    taken_at = world.clock.monotonic()

    async def would_be_gone() -> bool:
        return world.clock.monotonic() > taken_at + 6

    await world.wait("its time is over", would_be_gone)
    for name in ("saved", "friend"):
        assert is_ready(await world.api.get("Pod", world.name, name))
