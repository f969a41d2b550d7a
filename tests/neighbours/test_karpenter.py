"""karpenter adds nodes for pods that wait and removes those that it can do without, while we even
out what there is: neither may undo the other's work over and over.

MINUTES in the environment says how long, LOAD_SEED gives another load.
"""

import asyncio
import os
import random
import time

import pytest

from testbed.api import Object
from testbed.builders import BEHAVIOUR, deployment, pod_spec
from testbed.scenarios import OWNER, Scene
from tests.neighbours.beside import start
from tests.neighbours.chronicle import Chronicle
from tests.scenarios.looping import default_controller
from tests.scenarios.own_cluster import OwnControlPlane

MINUTES = float(os.environ.get("MINUTES", "30"))
SEED = int(os.environ.get("LOAD_SEED", "0"))
LOAD_SECONDS = 60.0
LOOK_SECONDS = 1.0

SIZES = {"small": "250m", "middle": "500m", "large": "1", "wide": "1500m"}
MOST = 12


def node_class() -> Object:
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
        "spec": {},
    }


def node_pool(world: Scene) -> Object:
    """Nodes as the testbed makes them: with simulated kubelets, and for this test's pods alone."""
    allowed = {
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
        "karpenter.sh/capacity-type": ["on-demand"],
        "karpenter.kwok.sh/instance-cpu": ["4", "8"],
    }
    spec = {
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [
            {"key": key, "operator": "In", "values": values} for key, values in allowed.items()
        ],
        "taints": [{"key": OWNER, "value": world.name, "effect": "NoSchedule"}],
        "expireAfter": "Never",
    }
    labels = {OWNER: world.name, BEHAVIOUR + "kubelet": "alive"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "30s",
                "budgets": [{"nodes": "50%"}],
            },
        },
    }


async def change_load(world: Scene, draws: random.Random, until: float) -> None:
    while time.monotonic() < until:
        for name in SIZES:
            await world.scale(name, draws.randint(1, MOST))
        await asyncio.sleep(LOAD_SECONDS)


async def watch(world: Scene, chronicle: Chronicle, until: float) -> None:
    while time.monotonic() < until:
        chronicle.note(time.monotonic(), await world.records(), await world.api.list("Node"))
        await asyncio.sleep(LOOK_SECONDS)


@pytest.mark.timeout(60 * MINUTES + 300)
async def test_under_a_changing_load_neither_undoes_the_work_of_the_other(
    own: OwnControlPlane,
) -> None:
    world, draws, chronicle = own.real, random.Random(SEED), Chronicle()  # noqa: S311 - repeatable
    await start(own, "karpenter")
    await world.api.create(node_class())
    await world.api.create(node_pool(world))
    for name, cpu in SIZES.items():
        await world.create(deployment(name, replicas=MOST // 2, spec=pod_spec(cpu=cpu)))

    async def are_complete() -> bool:
        return all([await world.is_complete(name) for name in SIZES])

    await world.wait("karpenter has made nodes, and all pods run there", are_complete)
    settings = {"imbalanceThreshold": 10, "reschedulingInterval": "10s"}
    async with default_controller(world, **settings) as ours:
        until = time.monotonic() + 60 * MINUTES
        await asyncio.gather(change_load(world, draws, until), watch(world, chronicle, until))
        assert not ours.has_ended, ours.told()
        passes = len(ours.said("cycle"))
    print(  # noqa: T201 - what it was like, for make test-neighbours
        f"{MINUTES:g} minutes, seed {SEED}: {len(chronicle.nodes)} nodes, of which karpenter"
        f" removed {len(chronicle.removed)}; {passes} passes of ours,"
        f" pods moved: {len(chronicle.moved())}"
    )
    await world.wait("all pods run", are_complete)
    assert passes
    assert chronicle.removed, "karpenter removed no node: this shows nothing"
    assert chronicle.moved_twice() == []
    assert chronicle.filled_before_removal() == []
