"""karpenter adds nodes for pods that wait and removes those that it can do without, while we
relieve what is hot: neither may undo the other's work over and over.

It packs by requests. Some pods use more than they ask for, others less, and all of them now much
and now little: so nodes become hot that are not full, and we, with the default configuration, move
pods that karpenter had put there. What is scaled, and thereby makes karpenter add and remove nodes,
is so by HorizontalPodAutoscalers, as it would be.

MINUTES in the environment says how long, LOAD_SEED gives another load.
"""

import asyncio
import os
import random
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus

import pytest

from testbed.api import ApiError, Object
from testbed.builders import BEHAVIOUR, METRICS_PATH, behaviour, deployment, pod, pod_spec
from testbed.faultproxy import Match, hold
from testbed.processes import WAIT_SECONDS
from testbed.scenarios import OWNER, Scene
from tests.neighbours.beside import start
from tests.neighbours.chronicle import Chronicle
from tests.scenarios.asking import ask
from tests.scenarios.looping import default_controller
from tests.scenarios.own_cluster import OwnControlPlane

MINUTES = float(os.environ.get("MINUTES", "30"))
SEED = int(os.environ.get("LOAD_SEED", "0"))
LOAD_SECONDS = 60.0
LOOK_SECONDS = 1.0

SIZES = {"small": "250m", "middle": "500m", "large": "1", "wide": "1500m"}
"""What their pods ask for. They use a third of it."""
MOST = 12
USED = {"small": "80m", "middle": "170m", "large": "330m", "wide": "500m"}
NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"
BUSY = "busy"
BUSY_PODS = 10
BUSY_CPU = ("200m", "800m", "1500m")
"""What one of these pods uses, at one time or another; each asks for 250m."""


def node_class() -> Object:
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
        "spec": {},
    }


def node_pool(world: Scene, *, consolidate_after: str = "30s") -> Object:
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
                "consolidateAfter": consolidate_after,
                "budgets": [{"nodes": "50%"}],
            },
        },
    }


async def change_load(world: Scene, draws: random.Random, until: float) -> None:
    while time.monotonic() < until:
        for name in SIZES:
            await let_scale(world, name, draws.randint(1, MOST))
        for each in await world.pods(BUSY):
            await annotate(world, "Pod", each, behaviour(cpu_usage=draws.choice(BUSY_CPU)))
        await asyncio.sleep(LOAD_SECONDS)


async def let_scale(world: Scene, name: str, replicas: int) -> None:
    """By its HorizontalPodAutoscaler, whom the controller manager minds."""
    change = {"spec": {"minReplicas": replicas, "maxReplicas": replicas}}
    await world.api.patch("HorizontalPodAutoscaler", world.name, name, change)


def scaler(name: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "minReplicas": MOST // 2, "maxReplicas": MOST // 2},
    }


async def watch(world: Scene, chronicle: Chronicle, until: float) -> None:
    while time.monotonic() < until:
        nodes = await world.api.list("Node")
        chronicle.note(time.monotonic(), await world.records(), nodes)
        await let_measure(world, nodes)
        await asyncio.sleep(LOOK_SECONDS)


async def let_measure(world: Scene, nodes: Iterable[Object]) -> None:
    """karpenter does not know where simulated kubelets tell what is used."""
    for node in nodes:
        path = f"/metrics/nodes/{node['metadata']['name']}/metrics/resource"
        if METRICS_PATH not in (node["metadata"].get("annotations") or {}):
            await annotate(world, "Node", node, {METRICS_PATH: path})


async def annotate(world: Scene, kind: str, what: Object, told: Mapping[str, str]) -> None:
    """Unless it is gone by now."""
    metadata, change = what["metadata"], {"metadata": {"annotations": dict(told)}}
    try:
        await world.api.patch(kind, metadata.get("namespace"), metadata["name"], change)
    except ApiError as problem:
        if problem.status != HTTPStatus.NOT_FOUND:
            raise


@pytest.mark.timeout(60 * MINUTES + 300)
async def test_under_a_changing_load_neither_undoes_the_work_of_the_other(
    own: OwnControlPlane,
) -> None:
    world, draws, chronicle = own.real, random.Random(SEED), Chronicle()  # noqa: S311 - repeatable
    await start(own, "metrics-server")
    await start(own, "karpenter")
    await world.api.create(node_class())
    await world.api.create(node_pool(world))
    for name, cpu in SIZES.items():
        used = behaviour(cpu_usage=USED[name])
        await world.create(
            deployment(name, replicas=MOST // 2, spec=pod_spec(cpu=cpu), annotations=used),
            scaler(name),
        )
    busy = behaviour(cpu_usage=BUSY_CPU[1])
    await world.create(
        deployment(BUSY, replicas=BUSY_PODS, spec=pod_spec(cpu="250m"), annotations=busy)
    )
    workloads = [*SIZES, BUSY]

    async def are_complete() -> bool:
        return all([await world.is_complete(name) for name in workloads])

    async def are_measured() -> bool:
        nodes = await world.api.list("Node")
        await let_measure(world, nodes)
        measured = await world.api.request("GET", NODE_METRICS)
        return len(measured["items"]) == len(nodes)

    await world.wait("karpenter has made nodes, and all pods run there", are_complete)
    # Who finds no figures when it begins goes by requests from then on.
    await world.wait("all nodes are measured", are_measured)
    async with default_controller(world) as ours:
        until = time.monotonic() + 60 * MINUTES
        await asyncio.gather(change_load(world, draws, until), watch(world, chronicle, until))
        assert not ours.has_ended, ours.told()
        passes = len(ours.said("pass ended"))
        assert any("(usage)" in each["summary"] for each in ours.said("pass ended")), ours.told()
    print(  # noqa: T201 - what it was like, for make test-neighbours
        f"{MINUTES:g} minutes, seed {SEED}: {len(chronicle.nodes)} nodes, of which karpenter"
        f" removed {len(chronicle.removed)}; {passes} passes of ours,"
        f" pods moved: {len(chronicle.moved())}"
    )
    await world.wait("all pods run", are_complete)
    assert passes
    assert chronicle.removed, "karpenter removed no node: this shows nothing"
    assert chronicle.moved(), "we moved no pod: this shows nothing"
    assert chronicle.moved_twice() == []
    assert chronicle.filled_before_removal() == []


# ---------------------------------------------------------------------- a copy that waits

COPIES = Match(verb="create", resource="pods", write=True)


async def test_a_copy_that_waits_makes_it_add_no_node(own: OwnControlPlane) -> None:
    """Its target becomes full in the moment before it is made: it waits there for the room, while
    karpenter, which makes a node for any other pod that waits, looks at it and makes none.
    """
    world = own.real
    await start(own, "karpenter")
    await world.api.create(node_class())
    await world.api.create(node_pool(world, consolidate_after="Never"))
    await world.create(deployment("web", replicas=1, spec=pod_spec(cpu="1")))
    await world.wait("karpenter has made a node", lambda: world.is_complete("web"))
    before = await node_claims(world)
    assert before
    [target] = await world.add_nodes(1, cpu="2")
    [original] = await world.pods("web")
    await ask(world, original, target)
    is_full = asyncio.Event()
    async with world.faults() as proxy:
        held = proxy.on(COPIES, hold(is_full), times=1)
        process = await world.start(enabledStrategies=[], migration={"readyTimeout": "100s"})
        await held.wait_fired(within=WAIT_SECONDS)
        # Of another scheduler's making, so to speak.
        ballast = pod("ballast", spec=pod_spec(cpu="1500m") | {"nodeName": target})
        await world.create(ballast)
        is_full.set()
        copy = await world.wait_for_copy("web")
        await world.wait("karpenter has looked at the copy", lambda: is_judged(world, copy))
        assert await node_claims(world) == before
        await world.delete_pod("ballast")
        run = await process.finish()
    assert run.code == 0, run
    assert await world.nodes_of("web") == [target]
    assert await node_claims(world) == before


async def is_judged(world: Scene, copy: Object) -> bool:
    """It says so of each pod that it makes no node for."""
    name = copy["metadata"]["name"]
    return any(
        each["involvedObject"].get("name") == name
        and each["reason"] == "FailedScheduling"
        and "karpenter" in (each.get("source") or {}).get("component", "")
        for each in await world.api.list("Event", world.name)
    )


async def node_claims(world: Scene) -> list[str]:
    return sorted(each["metadata"]["name"] for each in await world.api.list("NodeClaim"))
