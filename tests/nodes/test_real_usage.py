"""Load as kubelets measure it: a node that is hot by what its pods really use is relieved."""

import pytest

from testbed.api import Object
from testbed.builders import budget, deployment, service
from testbed.flags import METRICS_API
from testbed.realnodes.measuring import measuring
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import PRE_STOP, server
from testbed.world import World
from tests.nodes.burning import burning
from tests.nodes.conftest import MILLICORES, say
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left
from tests.scenarios.looping import default_controller

BURNERS = tuple(f"burner-{number}" for number in range(1, 7))
OVERLOADED = 80.0
"""Per cent: the default of cpuThreshold."""
APART = 20.0
"""Points: the default of imbalanceThreshold."""
UNTIL_BELIEVED = 240.0
"""Seconds: three samples are needed, one every half minute, and then a pass."""
WHOLE = 600
"""Seconds of the test: its waits are to name what did not come, and are longer than those of others
together.
"""


def burner(name: str) -> Object:
    """Asks for next to nothing, and uses what it may."""
    resources = {
        "requests": {"cpu": "5m", "memory": "16Mi"},
        "limits": {"cpu": "70m", "memory": "64Mi"},
    }
    return deployment(name, replicas=1, spec=server(resources=resources, **PRE_STOP))


async def loads(world: World) -> dict[str, float]:
    """What metrics-server says of each node, in per cent of what pods may have there."""
    found = await world.api.request("GET", f"{METRICS_API}/nodes")
    return {
        each["metadata"]["name"]: 100 * millicores(each["usage"]["cpu"]) / MILLICORES
        for each in found["items"]
    }


def millicores(quantity: str) -> float:
    units = {"n": 1e-6, "u": 1e-3, "m": 1.0}
    return (
        float(quantity[:-1]) * units[quantity[-1]]
        if quantity[-1] in units
        else 1e3 * float(quantity)
    )


async def have_all_ended(world: World) -> bool:
    phases = {(each.get("status") or {}).get("phase") for each in await world.records()}
    return phases == {"Completed"}


def words(measured: dict[str, float]) -> str:
    return ", ".join(f"{node} {load:.0f} %" for node, load in sorted(measured.items()))


@pytest.mark.timeout(WHOLE)
async def test_a_node_that_is_hot_by_what_pods_really_use_is_relieved(
    world: World, nodes: RealNodes
) -> None:
    """By what they ask for it would be nearly idle."""
    hot = nodes.names[0]
    await world.create(
        *map(service, BURNERS), *(budget(name, maxUnavailable=0) for name in BURNERS)
    )
    await world.deploy(*map(burner, BURNERS), on=hot)

    async def is_hot() -> bool:
        return (await loads(world))[hot] > OVERLOADED + 5

    async def is_relieved() -> bool:
        measured = (await loads(world)).values()
        return (
            max(measured) < OVERLOADED
            and max(measured) - min(measured) < APART
            and await have_all_ended(world)
        )

    async with (
        burning(world, nodes, BURNERS) as failures,
        measuring(world.instance, nodes),
        world.auditor() as auditor,
    ):
        await world.wait("its kubelet says that the node is hot", is_hot)
        before = await loads(world)
        async with default_controller(world):
            await world.wait("it is relieved", is_relieved, seconds=UNTIL_BELIEVED)
        after = await loads(world)
        audit = await world.audit(auditor)
    records = await world.records()
    say(f"by what kubelets measure: {words(before)}, then {words(after)}; {len(records)} moves")
    for record in records:
        say(f"{record['spec']['strategy']}: {record['spec']['reason']}")
    assert failures == []
    assert {each["spec"]["strategy"] for each in records} == {
        "LoadBalancing",
        "ResourceOptimization",
    }
    assert all("cpu usage" in each["spec"]["reason"] for each in records)
    assert_nobody_noticed(audit)
    await assert_nothing_of_ours_is_left(world)
