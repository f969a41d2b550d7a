"""descheduler: it evicts what it finds misplaced, while we move what we find misplaced."""

import asyncio
from typing import Any

from testbed.api import Object
from testbed.builders import budget, deployment, pod_spec, service
from testbed.scenarios import Scene
from tests.neighbours.beside import drain, evicted_by, metric, start
from tests.scenarios.looping import controller
from tests.scenarios.own_cluster import OwnControlPlane

LOOPS = 5
_LOOPED = "descheduler_loop_duration_seconds_count"

WATCHED = ("one", "two", "three", "four")
"""Their budgets let nobody evict a pod of them, so that whoever misses one was moved by us."""
FREE = ("five", "six")


def policy(profile: str, plugin: str, arguments: Object) -> Object:
    made = {
        "name": profile,
        "pluginConfig": [
            {"name": "DefaultEvictor", "args": {"nodeFit": True}},
            {"name": plugin, "args": arguments},
        ],
        "plugins": {"balance": {"enabled": [plugin]}},
    }
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [made],
    }


def evening_out() -> Object:
    """As its documentation shows it."""
    thresholds = dict.fromkeys(("cpu", "memory", "pods"), 20)
    targets = dict.fromkeys(("cpu", "memory", "pods"), 50)
    return policy(
        "balance",
        "LowNodeUtilization",
        {"thresholds": thresholds, "targetThresholds": targets},
    )


async def deploy_web(world: Scene) -> tuple[str, ...]:
    """Six workloads of two cores each on the first of three nodes, which they fill to three
    quarters.
    """
    nodes = await world.add_nodes(3, cpu="16", memory="32Gi")
    for name in WATCHED:
        await world.create(service(name), budget(name, maxUnavailable=0))
    for name in (*WATCHED, *FREE):
        await world.deploy(deployment(name, replicas=2, spec=pod_spec(cpu="1")), on=nodes[0])
    return tuple(nodes)


async def let_loose(own: OwnControlPlane) -> None:
    """Returns when it has begun to evict."""
    await start(own, "descheduler", policy=evening_out(), interval="1s")

    async def has_evicted() -> bool:
        return bool(evicted_by(own.real, "descheduler"))

    await own.real.wait("descheduler has evicted a pod", has_evicted)


async def looks_again(own: OwnControlPlane) -> None:
    looked = await metric(own, "descheduler", _LOOPED)

    async def has_looked() -> bool:
        return await metric(own, "descheduler", _LOOPED) >= looked + LOOPS

    await own.real.wait("descheduler has looked several times", has_looked)


async def are_complete(world: Scene) -> bool:
    found = await asyncio.gather(*(world.is_complete(name) for name in (*WATCHED, *FREE)))
    return all(found)


async def uids(world: Scene) -> set[str]:
    return {each["metadata"]["uid"] for each in await world.api.list("Pod", world.name)}


def moves(records: list[Object]) -> dict[str, str]:
    """Pod -> the pod that came in its place, of all moves that are done."""
    return {
        each["spec"]["pod"]["name"]: each["status"]["newPod"]["name"]
        for each in records
        if each["status"]["phase"] == "Completed"
    }


async def test_both_even_out_and_come_to_rest(own: OwnControlPlane) -> None:
    world = own.real
    await deploy_web(world)
    balancing: dict[str, Any] = {"enabledStrategies": ["LoadBalancing"], "maxReschedulePods": 50}
    async with world.auditor() as auditor:
        await let_loose(own)
        async with controller(world, reschedulingInterval="1s", **balancing) as ours:
            await ours.says("pass ended", times=3)
            await looks_again(own)
            await world.wait("all pods are there", lambda: are_complete(world))
            settled = await uids(world)
            await ours.says("pass ended", times=len(ours.said("pass ended")) + 3)
            await looks_again(own)
        audit = await world.audit(auditor)
    assert await are_complete(world)
    # Neither undoes what the other did, and then does it again.
    assert await uids(world) == settled
    moved = moves(await world.records())
    assert moved
    assert not set(moved) & set(moved.values())
    assert not set(moved.values()) & set(evicted_by(world, "descheduler"))
    short = {each.what for each in (*audit.replicas_missing(), *audit.endpoints_missing())}
    assert not short - {f"Deployment {name}" for name in FREE}
    assert audit.budgets_violated() == []


async def test_a_node_is_drained_while_descheduler_evicts(own: OwnControlPlane) -> None:
    """Whom it evicts is on the node that is drained, and where we bring them it may look, too."""
    world = own.real
    full, *_ = await deploy_web(world)
    async with world.auditor() as auditor:
        await let_loose(own)
        run = await drain(world, full)
        await looks_again(own)
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await world.wait("all pods are there", lambda: are_complete(world))
    left = [
        each["metadata"]["name"]
        for each in await world.api.list("Pod", world.name)
        if each["spec"].get("nodeName") == full
    ]
    assert left == []
    moved = moves(await world.records())
    assert moved
    assert not set(moved.values()) & set(evicted_by(world, "descheduler"))
    short = {each.what for each in (*audit.replicas_missing(), *audit.endpoints_missing())}
    assert not short - {f"Deployment {name}" for name in FREE}
    assert audit.budgets_violated() == []
