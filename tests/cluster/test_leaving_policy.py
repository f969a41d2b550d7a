"""A kubelet that gives an original back to its Services is put off by the admission policy
`rescheduler-leaving`, so often as the condition says: as a kubelet writes it, and as others do.
"""

import pytest

from rescheduler.model import names
from testbed.api import Api, Object, path_of
from testbed.builders import pod
from testbed.world import World

KUBELET = "nodes"
MOVING = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}
SINCE = "2026-01-02T03:04:05Z"
OUT = "2026-01-02T04:05:06Z"
WORDS = f"times its kubelet is put off; web-b serves in its place; it was Ready since {SINCE}"
READY = {"type": "Ready", "status": "True", "reason": None, "message": None, "lastProbeTime": None}
FAILING = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "app"}
STRATEGIC = "application/strategic-merge-patch+json"


def out(number: int) -> Object:
    return {
        "type": "Ready",
        "status": "False",
        "reason": names.LEAVING,
        "message": f"{number} {WORDS}",
        "lastProbeTime": OUT,
        "lastTransitionTime": OUT,
    }


async def leaving(world: World, number: int, **labels: str) -> None:
    """A pod that has left its Services, on no node: nobody but the test writes its status."""
    for name, given in (("probe", MOVING), ("web", labels or MOVING)):
        made = pod(name)
        made["metadata"].setdefault("labels", {}).update(given)
        made["spec"]["schedulerName"] = "nobody"
        await world.create(made)
        await told(world, "admin", out(number), of=name)
    # A control plane that has just started needs a moment.
    await world.wait("the policy is in force", lambda: _is_in_force(world))


async def _is_in_force(world: World) -> bool:
    ready = await told(world, KUBELET, READY, of="probe", dryRun="All")
    return bool(ready["status"] == "False")


async def told(
    world: World, who: str, condition: Object, *, of: str = "web", **query: str
) -> Object:
    """The condition Ready, after this user has said so."""
    token = world.instance.tokens[who]
    async with Api(world.instance.url, token, world.instance.client_ssl()) as api:
        path = path_of("Pod", world.name, of) + "/status"
        body: Object = {"status": {"conditions": [condition]}}
        answer = await api.request("PATCH", path, query=query, body=body, content_type=STRATEGIC)
    [ready] = [each for each in answer["status"]["conditions"] if each["type"] == "Ready"]
    return dict(ready)


async def test_its_kubelet_is_put_off_so_often_as_the_condition_says(world: World) -> None:
    await leaving(world, 11)
    for number in range(10, -1, -1):
        assert await told(world, KUBELET, READY) == out(number)
    assert (await told(world, KUBELET, READY))["status"] == "True"


async def test_that_containers_fail_is_heard_and_so_is_what_comes_after_it(world: World) -> None:
    await leaving(world, 2)
    assert (await told(world, KUBELET, FAILING))["reason"] == "ContainersNotReady"
    assert (await told(world, KUBELET, READY))["status"] == "True"


async def test_whoever_is_no_kubelet_is_heard(world: World) -> None:
    await leaving(world, 2)
    assert (await told(world, "admin", READY))["status"] == "True"


@pytest.mark.parametrize("label", ["", names.STATUS_COMPLETED])
async def test_of_a_pod_that_nobody_moves_the_kubelet_is_heard(label: str, world: World) -> None:
    labels = {names.MIGRATION_STATUS: label} if label else {"other": "label"}
    await leaving(world, 2, **labels)
    assert (await told(world, KUBELET, READY))["status"] == "True"
