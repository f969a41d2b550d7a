"""Where DaemonSets will put pods, and how much these will ask for, against the real controller."""

import contextlib
import random
from collections import defaultdict
from typing import Any

from rescheduler.model import daemons_to_come, resources
from rescheduler.model.cluster import Node
from rescheduler.model.resources import Resources
from testbed.api import Object
from testbed.builders import BEHAVIOUR, node, workload
from testbed.world import OWNER, World
from tests.cluster import random_pods

NODES, SETS = 12, 24
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
OVERHEADS = {"boxed-daemons": {"cpu": "250m", "memory": "1500m"}}


async def test_the_controller_puts_pods_where_we_expect_them(world: World) -> None:
    luck = random.Random("daemons")  # noqa: S311 - to be repeated, not secret
    path = "/apis/node.k8s.io/v1/runtimeclasses"
    for name, overhead in OVERHEADS.items():
        body = {"metadata": {"name": name}, "handler": name, "overhead": {"podFixed": overhead}}
        await world.api.request("POST", path, body=body)
    try:
        await _make_nodes(world, luck)
        names = [f"set-{number}" for number in range(SETS)]
        await world.create(*(workload("DaemonSet", each, spec=_spec(luck)) for each in names))
        # In vain, the comparison below says more about it.
        with contextlib.suppress(AssertionError):
            await world.wait("every DaemonSet has its pods", lambda: _is_as_expected(world))
    finally:
        for name in OVERHEADS:
            await world.api.request("DELETE", f"{path}/{name}")
    expected = await _expected(world)
    assert await _found(world) == expected
    assert await _is_as_expected(world)
    # Neither nowhere nor everywhere, or this would prove little.
    assert len({len(where) for where in expected.values()}) > SETS / 4
    assert set.union(*expected.values()) == set(world.nodes)
    assert await _reserved(world) == await _asked_for(world)


async def _is_as_expected(world: World) -> bool:
    """The controller has judged every node as it is now, and its pods are there."""
    expected = await _expected(world)
    for each in await world.api.list("DaemonSet", world.name):
        name, status = each["metadata"]["name"], each["status"]
        judged = status.get("observedGeneration") == each["metadata"]["generation"]
        if not judged or status["desiredNumberScheduled"] != len(expected[name]):
            return False
    return await _found(world) == expected


async def _found(world: World) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {
        each["metadata"]["name"]: set() for each in await world.api.list("DaemonSet", world.name)
    }
    for pod in await world.api.list("Pod", world.name):
        found[pod["metadata"]["labels"]["app"]].add(_place(pod))
    return found


async def _expected(world: World) -> dict[str, set[str]]:
    nodes = await _nodes(world)
    return {
        each["metadata"]["name"]: {
            node.name for node in nodes if daemons_to_come.read(each, OVERHEADS).runs_on(node)
        }
        for each in await world.api.list("DaemonSet", world.name)
    }


async def _reserved(world: World) -> dict[str, Resources]:
    sets = [
        daemons_to_come.read(each, OVERHEADS)
        for each in await world.api.list("DaemonSet", world.name)
        if daemons_to_come.is_at_work(each)
    ]
    return dict(daemons_to_come.reserved(sets, await _nodes(world), {}))


async def _asked_for(world: World) -> dict[str, Resources]:
    """By the pods that the controller has created, as the API server completed them."""
    found: dict[str, list[Resources]] = defaultdict(list)
    for pod in await world.api.list("Pod", world.name):
        found[_place(pod)].append(resources.of_pod(pod["spec"]))
    return {name: resources.add(*each) for name, each in found.items()}


def _place(pod: Object) -> str:
    """The node that the controller made it for."""
    required = pod["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    [term] = required["nodeSelectorTerms"]
    return str(term["matchFields"][0]["values"][0])


async def _nodes(world: World) -> list[Node]:
    return [
        Node(
            name=raw["metadata"]["name"],
            labels=raw["metadata"]["labels"],
            taints=tuple(raw["spec"].get("taints") or ()),
            allocatable={},
            ready=True,
            unschedulable=False,
        )
        for raw in await world.api.list("Node", selector=f"{OWNER}={world.name}")
    ]


async def _make_nodes(world: World, luck: random.Random) -> None:
    for number in range(NODES):
        made = node(f"{world.name}-n{number}")
        labels = {key: luck.choice("xyz") for key in ("zone", "disk") if luck.random() < 0.7}
        made["metadata"]["labels"] |= {OWNER: world.name, "cores": str(number), **labels}
        own = [{"key": OWNER, "value": world.name, "effect": "NoSchedule"}]
        team = {"key": "team", "value": luck.choice("ab"), "effect": luck.choice(EFFECTS)}
        made["spec"] = {
            "taints": own + luck.choice([[], [], [team]]),
            "unschedulable": number % 4 == 0,
        }
        if number == NODES - 1:
            made["metadata"]["annotations"] = {BEHAVIOUR + "down": "true"}
        await world.api.create(made)
        world.nodes.append(made["metadata"]["name"])


def _spec(luck: random.Random) -> Object:
    made: dict[str, Any] = random_pods.spec(luck)
    del made["terminationGracePeriodSeconds"]
    made["hostNetwork"] = luck.random() < 0.2
    made["runtimeClassName"] = luck.choice([None, *OVERHEADS])
    if luck.random() < 0.4:
        made["nodeSelector"] = {luck.choice(["zone", "disk"]): luck.choice("xyz")}
    made["tolerations"] = luck.choice(TOLERATIONS)
    if luck.random() < 0.5:
        terms = [
            {"matchExpressions": luck.sample(REQUIREMENTS, luck.randint(1, 2))}
            for _ in range(luck.randint(1, 2))
        ]
        required = {"nodeSelectorTerms": terms}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        made["affinity"] = {"nodeAffinity": affinity}
    return made


TOLERATIONS: list[list[Object]] = [
    [],
    [{"operator": "Exists"}],
    [{"operator": "Exists", "effect": "NoExecute"}],
    [{"key": "team", "operator": "Exists"}],
    [{"key": "team", "value": "a"}],
    [{"key": "team", "value": "b", "effect": "NoSchedule"}],
]
REQUIREMENTS: list[Object] = [
    {"key": "zone", "operator": "In", "values": ["x", "y"]},
    {"key": "zone", "operator": "NotIn", "values": ["x"]},
    {"key": "disk", "operator": "Exists"},
    {"key": "disk", "operator": "DoesNotExist"},
    {"key": "cores", "operator": "Gt", "values": ["4"]},
    {"key": "cores", "operator": "Lt", "values": ["8"]},
]
