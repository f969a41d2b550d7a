"""Pods that must not overlap with their successors, moved on a real control plane: by eviction, the
API server steering what their workload makes anew.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rescheduler.config import Migration
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.migrate.deciding.recreate import probing
from testbed.api import Object, path_of
from testbed.builders import behaviour, budget, job, pod_spec, workload
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_no_trace, assert_nothing_of_ours_is_left
from tests.scenarios.steered import (
    PATIENT,
    TEMPORARY,
    Moved,
    carry_out,
    history_of,
    load,
    move,
    pod_named,
    recreated,
    source_and_target,
    stateful_set,
)
from tests.scenarios.world import World


async def assert_moved_alone(world: World, moved: Moved, pod: Object, target: str) -> None:
    """This pod, no other, by one eviction, and never more than one was missing."""
    assert moved.verdict == ("Completed", "Completed"), moved.status
    assert moved.audit.pods_removed() == [pod["metadata"]["name"]]
    shortfalls = moved.audit.replicas_missing()
    assert all(each.had >= each.wanted - 1 for each in shortfalls), shortfalls
    assert moved.audit.budgets_violated() == []
    assert moved.audit.touched_pods() == []
    assert [write for write in moved.audit.writes() if not write.guarded] == []
    successor = await pod_named(world, moved.status["newPod"]["name"])
    assert successor["metadata"]["uid"] == moved.status["newPod"]["uid"] != pod["metadata"]["uid"]
    assert successor["spec"]["nodeName"] == moved.status["newPod"]["node"] == target
    told = history_of(successor)
    assert told.pop("migration-time")
    assert told.pop("migration-id")
    assert told == {
        "migration-status": "completed",
        "migrated-from": pod["spec"]["nodeName"],
        "migration-reason": "Manual",
        "original-pod": pod["metadata"]["uid"],
        "original-pod-name": pod["metadata"]["name"],
    }
    await assert_nothing_of_ours_is_left(world)


# ---------------------------------------------------------------------- to the target


async def test_a_pod_of_a_stateful_set_goes_where_it_should(world: World) -> None:
    source, target, _ = await world.add_nodes(3)
    await load(world, target)
    await world.deploy(stateful_set(3), on=source)
    pod = await pod_named(world, "web-1")
    moved = await move(world, pod, target)
    await assert_moved_alone(world, moved, pod, target)
    assert moved.figures.fallbacks == {}


@pytest.mark.parametrize(("own", "given"), [(2, 30), (45, 45)], ids=["shorter", "longer"])
async def test_an_eviction_gives_thirty_seconds_or_what_the_pod_asks_for(
    world: World, own: int, given: int
) -> None:
    """As the request says it."""
    source, target = await source_and_target(world)
    spec = pod_spec() | {"terminationGracePeriodSeconds": own}
    await world.deploy(recreated(1, spec), on=source)
    [pod] = await world.pods("web")
    moved = await move(world, pod, target)
    await assert_moved_alone(world, moved, pod, target)
    evictions = [each for each in moved.audit.writes() if each.subresource == "eviction"]
    assert [each.name for each in evictions] == [pod["metadata"]["name"]]
    assert [each.grace_seconds for each in evictions] == [given]


@pytest.mark.parametrize("kind", ["recreated", "bare"])
async def test_a_pod_of_a_replica_set_goes_where_it_should(world: World, kind: str) -> None:
    source, target, _ = await world.add_nodes(3)
    await load(world, target)
    bare = workload("ReplicaSet", "web", replicas=2)
    await world.deploy(recreated(2) if kind == "recreated" else bare, on=source)
    pod, _ = await world.pods("web")
    moved = await move(world, pod, target, way="Recreate")
    await assert_moved_alone(world, moved, pod, target)


async def test_a_pod_with_a_disk_that_one_node_at_a_time_may_have(world: World) -> None:
    source, target, _ = await world.add_nodes(3)
    await load(world, target)
    await _create_disk(world)
    spec = pod_spec()
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    await world.deploy(workload("Deployment", "web", replicas=1, spec=spec), on=source)
    [pod] = await world.pods("web")
    moved = await move(world, pod, target)
    assert moved.status["way"] == "Recreate"
    await assert_moved_alone(world, moved, pod, target)


async def _create_disk(world: World) -> None:
    modes = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    disk = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": world.name},
        "spec": modes
        | {
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/data"},
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": world.name, "name": "data"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": modes | {"volumeName": world.name, "resources": {"requests": {"storage": "1Gi"}}},
    }
    await world.api.create(disk)
    world.policies.append(disk)  # goes with the world, as what is in no namespace does
    await world.create(claim)

    async def is_bound() -> bool:
        found = await world.api.get("PersistentVolumeClaim", world.name, "data")
        return bool((found.get("status") or {}).get("phase") == "Bound")

    await world.wait("the claim is bound", is_bound)


async def test_a_pod_of_a_job(world: World) -> None:
    source, target, _ = await world.add_nodes(3)
    await load(world, target)
    for node in (target, world.nodes[2]):
        await world.cordon(node)
    await world.create(job("web"))

    async def runs() -> bool:
        return await world.nodes_of("web") == [source]

    await world.wait("the Job runs", runs)
    for node in (target, world.nodes[2]):
        await world.uncordon(node)
    [pod] = await world.pods("web")
    moved = await move(world, pod, target)
    assert moved.verdict == ("Completed", "Completed"), moved.status
    assert await world.nodes_of("web") == [target]
    await assert_nothing_of_ours_is_left(world)


async def test_asks_whether_it_is_steered_with_a_pod_that_could_be(world: World) -> None:
    """The disks of a StatefulSet stand in no template, and are mounted all the same."""
    source, target = await source_and_target(world)
    modes: Object = {"accessModes": ["ReadWriteOnce"]}
    claim = {"spec": modes | {"resources": {"requests": {"storage": "1Gi"}}}}
    made = stateful_set(1)
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, **claim}]
    mounts = [{"name": "data", "mountPath": "/data"}]
    made["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    await world.create(made)
    found = await world.api.get("StatefulSet", world.name, "web")
    owner = Owner("apps/v1", "StatefulSet", "web", found["metadata"]["uid"])
    intent = Intent(
        record="web-0",
        id="0123456789abcdef",
        namespace=world.name,
        pod="web-0",
        uid="any",
        source=source,
        target=target,
        strategy="Manual",
        reason="a test",
        requested_at=datetime(2026, 1, 1, tzinfo=UTC),
        settings=PATIENT,
    )
    body = probing.body(intent, owner, found)
    query = {"dryRun": "All"}
    answer = await world.api.request("POST", path_of("Pod", world.name), query=query, body=body)
    assert not probing.is_steered(answer, intent)


# ---------------------------------------------------------------------- elsewhere, or nowhere


async def test_landing_elsewhere_is_said_and_counted(world: World) -> None:
    source, target = await source_and_target(world, target_cpu="100m")
    [other] = await world.add_nodes(1)
    await world.deploy(stateful_set(2), on=source)
    moved = await move(world, await pod_named(world, "web-0"), target)
    assert moved.verdict == ("Completed", "LandedElsewhere"), moved.status
    assert moved.status["newPod"]["node"] == other
    assert moved.figures.landed_elsewhere == 1
    assert history_of(await pod_named(world, "web-0"))["migrated-from"] == source
    await assert_nothing_of_ours_is_left(world)


async def test_back_on_its_source_is_a_failure(world: World) -> None:
    source, target = await source_and_target(world, target_cpu="100m")
    await world.deploy(stateful_set(2), on=source)
    moved = await move(world, await pod_named(world, "web-0"), target)
    assert moved.verdict == ("Failed", "BackOnSource"), moved.status
    assert moved.status["newPod"]["node"] == source
    assert history_of(await pod_named(world, "web-0")) == {}
    await assert_nothing_of_ours_is_left(world)


async def test_a_successor_that_finds_no_node_is_a_failure(world: World) -> None:
    source, target = await source_and_target(world, target_cpu="100m")
    await world.deploy(stateful_set(2), on=source)
    await world.cordon(source)
    brief = replace(PATIENT, ready_timeout_seconds=2.0)
    moved = await move(world, await pod_named(world, "web-1"), target, brief)
    assert moved.verdict == ("Failed", "ReplacementNotReady"), moved.status
    assert "not scheduled" in moved.status["message"]
    await assert_nothing_of_ours_is_left(world)


# ---------------------------------------------------------------------- budgets


async def test_a_workload_without_a_budget_is_guarded_while_it_is_moved(world: World) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(3), on=source)
    pod = await pod_named(world, "web-2")
    moved = await move(world, pod, target)
    await assert_moved_alone(world, moved, pod, target)
    assert moved.budgets() == [[TEMPORARY], []]
    guards = [
        seen.object
        for seen in moved.audit.history
        if seen.kind == "PodDisruptionBudget" and seen.object is not None
    ]
    assert guards[0]["spec"]["minAvailable"] == 1
    assert guards[0]["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"
    # The eviction was counted against it, so it was in force by then.
    assert any(
        "web-2" in ((each.get("status") or {}).get("disruptedPods") or {}) for each in guards
    )


@pytest.mark.parametrize(
    ("replicas", "limit"),
    [
        pytest.param(1, None, id="the-only-pod"),
        pytest.param(3, budget("web", maxUnavailable=1), id="has-a-budget"),
    ],
)
async def test_no_other_budget_where_it_would_do_harm(
    world: World, replicas: int, limit: Object | None
) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(replicas), on=source)
    if limit:
        await world.create(limit)
    pod = await pod_named(world, "web-0")
    moved = await move(world, pod, target)
    await assert_moved_alone(world, moved, pod, target)
    assert moved.budgets() == ([["web"]] if limit else [])


async def test_what_a_budget_forbids_is_not_touched(world: World) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(2), on=source)
    await world.create(budget("web", maxUnavailable=0))
    brief = replace(PATIENT, budget_timeout_seconds=1.0)
    moved = await move(world, await pod_named(world, "web-0"), target, brief)
    assert moved.verdict == ("Failed", "BudgetRefused"), moved.status
    assert {write.resource for write in moved.audit.writes()} == {"podmigrations"}
    await assert_no_trace(world, moved.audit, app="web")


async def test_two_budgets_are_named_and_nothing_is_tried(world: World) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(2), on=source)
    for name in ("one", "two"):
        limit = budget("web", minAvailable=1)
        limit["metadata"]["name"] = name
        await world.create(limit)
    moved = await move(world, await pod_named(world, "web-0"), target)
    assert moved.verdict == ("Failed", "NotMovable"), moved.status
    assert "one, two" in moved.status["message"]
    assert {write.resource for write in moved.audit.requests if write.verb == "create"} == set()
    assert {write.resource for write in moved.audit.writes()} == {"podmigrations"}


async def test_the_temporary_budget_gives_way_to_one_of_the_user(world: World) -> None:
    _, target = await set_trap(world)
    [other] = await world.add_nodes(1)
    await world.cordon(other)
    async with world.auditor() as auditor:
        await ask(world, await pod_named(world, "web-2"), target, mayRecreate=True)
        moving = asyncio.create_task(carry_out(world, PATIENT))
        await world.wait_for_record("web-2", step="WaitReplacement")
        assert await _budgets(world) == [TEMPORARY]
        await world.create(budget("web", minAvailable=1))

        async def is_alone() -> bool:
            return await _budgets(world) == ["web"]

        await world.wait("only the user's budget is there", is_alone)
        under_way = await world.wait_for_record("web-2")
        await world.uncordon(other)
        await moving
        audit = await world.audit(auditor)
    assert under_way["status"]["phase"] == "InProgress"
    record = await world.api.get("PodMigration", world.name, "web-2")
    assert record["status"]["reason"] == "LandedElsewhere", record["status"]
    assert audit.pods_removed() == ["web-2"]
    assert await _budgets(world) == ["web"]
    await assert_nothing_of_ours_is_left(world)


async def _budgets(world: World) -> list[str]:
    found = await world.api.list("PodDisruptionBudget", world.name)
    return [each["metadata"]["name"] for each in found]


async def set_trap(world: World) -> tuple[str, str]:
    """A StatefulSet of three, and no node on which a further pod would find room."""
    source, target = await source_and_target(world, target_cpu="100m")
    await world.deploy(stateful_set(3), on=source)
    await world.cordon(source)
    return source, target


# ---------------------------------------------------------------------- as told


async def test_without_coordination_it_is_a_plain_eviction(world: World) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(2), on=source)
    pod = await pod_named(world, "web-1")
    moved = await move(world, pod, target, Migration(coordination=False))
    assert moved.status["phase"] == "Completed" or moved.status["reason"] == "BackOnSource"
    assert moved.budgets() == []
    assert moved.figures.fallbacks == {}
    assert moved.audit.pods_removed() == ["web-1"]
    await assert_nothing_of_ours_is_left(world)


async def test_two_pods_of_one_workload_go_one_after_the_other(world: World) -> None:
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(3), on=source)
    async with world.auditor() as auditor:
        for name in ("web-0", "web-2"):
            await ask(world, await pod_named(world, name), target, mayRecreate=True)
        figures = await carry_out(world, PATIENT)
        audit = await world.audit(auditor)
    assert figures.completed == 2
    assert sorted(audit.pods_removed()) == ["web-0", "web-2"]
    assert all(each.had >= 2 for each in audit.replicas_missing())
    assert await world.nodes_of("web") == sorted([source, target, target])
    await assert_nothing_of_ours_is_left(world)


@pytest.mark.parametrize("replicas", [0, 2])
async def test_who_scales_it_down_meanwhile_has_the_last_word(world: World, replicas: int) -> None:
    _, target = await set_trap(world)
    await ask(world, await pod_named(world, "web-2"), target, mayRecreate=True)
    moving = asyncio.create_task(carry_out(world, PATIENT))
    await world.wait_for_record("web-2", step="WaitReplacement")
    change = {"spec": {"replicas": replicas}}
    await world.api.patch("StatefulSet", world.name, "web", change)
    figures = await moving
    assert figures.failed == 1
    record = await world.api.get("PodMigration", world.name, "web-2")
    assert record["status"]["reason"] == "WorkloadChanged", record["status"]
    await assert_nothing_of_ours_is_left(world)


async def test_what_is_temporary_does_not_outlast_its_time(world: World) -> None:
    _, target = await set_trap(world)
    [other] = await world.add_nodes(1)
    await world.cordon(other)
    await ask(world, await pod_named(world, "web-2"), target, mayRecreate=True)
    brief = replace(PATIENT, clean_up_timeout_seconds=1.0)
    moving = asyncio.create_task(carry_out(world, brief))
    await world.wait_for_record("web-2", step="WaitReplacement")

    async def is_clean() -> bool:
        [now] = await world.records("web-2")
        steers = "rescheduler.io/steering" in (now["metadata"].get("labels") or {})
        return not steers and await _budgets(world) == []

    await world.wait("nothing temporary is there", is_clean)
    [record] = await world.records("web-2")
    assert record["status"]["phase"] == "InProgress", record["status"]
    await world.uncordon(other)
    figures = await moving
    assert figures.landed_elsewhere == 1
    await assert_nothing_of_ours_is_left(world)


async def test_a_group_waits_for_the_budget_that_lets_go_one_after_the_other(world: World) -> None:
    """Longer than a single one would: the first has left, and does not come back."""
    source, target = await source_and_target(world)
    slow = stateful_set(3)
    slow["spec"]["template"]["metadata"]["annotations"] = behaviour(ready_after="8s")
    await world.deploy(slow, on=source)
    await world.create(budget("web", maxUnavailable=1))
    pods = [await pod_named(world, name) for name in ("web-1", "web-2")]
    group = {"id": "gang", "size": len(pods)}
    for each in pods:
        await ask(world, each, target, mayRecreate=True, group=group)
    await carry_out(world, replace(PATIENT, budget_timeout_seconds=3.0))
    ends = [each["status"] for each in await world.records()]
    assert [each["phase"] for each in ends] == ["Completed"] * 2, ends
    await assert_nothing_of_ours_is_left(world)
