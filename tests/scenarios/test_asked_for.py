"""Migrations that somebody asks for by creating a PodMigration."""

from dataclasses import replace

import pytest

from rescheduler.config import Configuration, Migration, Scope
from rescheduler.migrate import migrating
from testbed.api import Object
from testbed.builders import behaviour, budget, pod_spec, service, workload
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import (
    assert_exactly_one_moved,
    assert_nobody_noticed,
    assert_nothing_of_ours_is_left,
)
from tests.scenarios.looping import controller
from tests.scenarios.world import World


def settings(world: World) -> Configuration:
    brief = replace(Migration(), ready_timeout_seconds=20.0)
    return replace(Configuration(), scope=Scope(namespaces=(world.name,)), migration=brief)


async def test_a_pod_is_moved_where_a_person_wants_it(world: World) -> None:
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor:
        asked = await ask(world, pod, empty)
        async with (
            world.connect() as kube,
            migrating(kube, world.clock, settings(world), holder="a test") as migrator,
        ):
            await migrator.synced()
            await migrator.idle()
            figures = migrator.figures
        audit = await world.audit(auditor)
    record = await world.api.get("PodMigration", world.name, asked["metadata"]["name"])
    assert record["status"]["phase"] == "Completed", record["status"]
    assert (figures.completed, figures.failed) == (1, 0)
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    await assert_nothing_of_ours_is_left(world)


def spread_web(kind: str, replicas: int, *, skew: int, by_hash: bool = False) -> Object:
    constraint = {
        "maxSkew": skew,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"] if by_hash else [],
    }
    spec = pod_spec() | {"topologySpreadConstraints": [constraint]}
    web = workload(kind, "web", spec=spec, replicas=replicas)
    web["spec"]["template"]["metadata"]["annotations"] = behaviour(ready_after="5s")
    return web


async def assert_only_the_first_moves(world: World, pods: list[Object], target: str) -> None:
    """The second is asked for while the copy of the first is not Ready yet."""
    first, second = (pod["metadata"]["name"] for pod in pods)
    async with controller(world, inFlight={"perNode": 0, "perWorkload": 2}):
        await ask(world, pods[0], target)
        await world.wait_for_record(first, step="WaitReady")
        await ask(world, pods[1], target)
        refused = await world.wait_for_record(second, phase="Failed")
        await world.wait_for_record(first, phase="Completed")
    assert f"{target} does not take it: its topology spread" in refused["status"]["message"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
async def test_of_two_asked_for_at_once_the_second_sees_the_first(world: World, kind: str) -> None:
    """Both go by the label that copies lack, and neither copy is there when they are judged."""
    *_, target, empty = await world.add_nodes(4)
    for node in (target, empty):
        await world.cordon(node)
    await world.create(spread_web(kind, 2, skew=1, by_hash=kind == "Deployment"))
    await world.wait("web is complete", lambda: world.is_complete("web", kind))
    for node in (target, empty):
        await world.uncordon(node)
    pods = await world.pods("web")
    for pod in pods:
        await ask(world, pod, target)
    async with controller(world, inFlight={"perNode": 0, "perWorkload": 2}):
        refused = await world.wait_for_record(phase="Failed")
        await world.wait_for_record(phase="Completed")
    assert f"{target} does not take it: its topology spread" in refused["status"]["message"]
    assert (await world.nodes_of("web")).count(target) == 1


async def test_a_copy_on_its_way_counts_though_it_lacks_the_label(world: World) -> None:
    *_, target, empty = await world.add_nodes(4)
    for node in (target, empty):
        await world.cordon(node)
    await world.create(spread_web("ReplicaSet", 2, skew=1))
    await world.wait("web is complete", lambda: world.is_complete("web", "ReplicaSet"))
    for node in (target, empty):
        await world.uncordon(node)
    pods = await world.pods("web")
    await assert_only_the_first_moves(world, pods, target)
    assert await world.nodes_of("web") == sorted([target, pods[1]["spec"]["nodeName"]])


async def test_a_pod_whose_copy_is_on_its_way_counts_no_more(world: World) -> None:
    nodes = await world.add_nodes(2)
    await world.create(spread_web("Deployment", 3, skew=2))
    await world.wait("web is complete", lambda: world.is_complete("web"))
    [target] = [node for node in nodes if (await world.nodes_of("web")).count(node) == 1]
    pods = [pod for pod in await world.pods("web") if pod["spec"]["nodeName"] != target]
    await assert_only_the_first_moves(world, pods, target)
    assert (await world.nodes_of("web")).count(target) == 2


async def test_the_copy_of_a_sibling_is_no_other_revision(world: World) -> None:
    """Both go by their hash, and the second is asked for while the copy of the first has none."""
    *_, one, other = await world.add_nodes(4)
    for node in (one, other):
        await world.cordon(node)
    await world.create(service("web"), spread_web("Deployment", 2, skew=1, by_hash=True))
    await world.wait("web is complete", lambda: world.is_complete("web"))
    for node in (one, other):
        await world.uncordon(node)
    first, second = await world.pods("web")
    async with world.auditor() as auditor:
        async with controller(world, inFlight={"perNode": 0, "perWorkload": 2}):
            await ask(world, first, one)
            await world.wait_for_record(first["metadata"]["name"], step="WaitReady")
            await ask(world, second, other)
            for each in (first, second):
                await world.wait_for_record(each["metadata"]["name"], phase="Completed")
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)
    assert await world.nodes_of("web") == sorted([one, other])


@pytest.mark.parametrize(
    ("kind", "by_hash"), [("ReplicaSet", False), ("Deployment", True), ("Deployment", False)]
)
async def test_a_scale_up_meanwhile_leaves_the_spread_even(
    world: World, kind: str, *, by_hash: bool
) -> None:
    """Whether the scheduler counts the copy or not, it counts the original for the new one."""
    nodes = await world.add_nodes(2)
    await world.create(spread_web(kind, 3, skew=1, by_hash=by_hash))
    await world.wait("web is complete", lambda: world.is_complete("web", kind))
    [target] = [node for node in nodes if (await world.nodes_of("web")).count(node) == 1]
    [pod, *_] = [each for each in await world.pods("web") if each["spec"]["nodeName"] != target]
    async with controller(world):
        await ask(world, pod, target)
        await world.wait_for_record(step="WaitReady")
        # The only place for one more; how many are here counts all the same.
        await world.cordon(pod["spec"]["nodeName"])
        await world.api.patch(kind, world.name, "web", {"spec": {"replicas": 4}})
        record = await world.wait_for_record(phase="Failed")
    await world.wait("web is complete", lambda: world.is_complete("web", kind))
    assert record["status"]["reason"] == "TargetLost", record["status"]
    assert "(maxSkew 1) would not hold" in record["status"]["message"]
    assert sorted(await world.nodes_of("web")) == sorted(2 * nodes)
    await assert_nothing_of_ours_is_left(world)


async def test_who_has_left_its_services_by_then_comes_back(world: World) -> None:
    nodes = await world.add_nodes(2)
    web = spread_web("Deployment", 3, skew=1, by_hash=True)
    await world.create(service("web"), web)
    await world.wait("web is complete", lambda: world.is_complete("web"))
    [target] = [node for node in nodes if (await world.nodes_of("web")).count(node) == 1]
    [pod, *_] = [each for each in await world.pods("web") if each["spec"]["nodeName"] != target]
    async with controller(world, migration={"linger": "6s"}):
        await ask(world, pod, target)
        await world.wait_for_record(step="Leave")
        await world.scale("web", 4)
        record = await world.wait_for_record(phase="Failed")
    # Seen before the new replica is placed, it is the workload that has changed.
    assert record["status"]["reason"] in ("TargetLost", "WorkloadChanged"), record["status"]
    await world.wait("web is complete", lambda: world.is_complete("web"))
    assert sorted(await world.nodes_of("web")) == sorted(2 * nodes)
    assert pod["metadata"]["uid"] in {each["metadata"]["uid"] for each in await world.pods("web")}
    await assert_nothing_of_ours_is_left(world)
