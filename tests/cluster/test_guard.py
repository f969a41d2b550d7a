"""An outsider's kubectl drain, and other evictions, beside a process whom the API server asks."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from testbed.api import Object
from testbed.audit import Audit
from testbed.builders import behaviour, budget, deployment, pod_spec, service, workload
from testbed.processes import stopped
from testbed.world import World
from tests.cluster.guarding import Guarded, drain, guarded

OFF = "rescheduler.io/guard"
EVICTED_BY = "rescheduler.io/evicted-by"
USER = "testbed:admin"


@pytest.fixture
async def guard(world: World) -> AsyncIterator[Guarded]:
    async with guarded(world, migration={"linger": "1s"}) as made:
        yield made


def web(name: str, replicas: int) -> Object:
    annotations = behaviour(ready_after="2s")
    return deployment(name, replicas=replicas, spec=pod_spec(cpu="100m"), annotations=annotations)


def database(replicas: int = 3) -> Object:
    made = workload(
        "StatefulSet", "db", spec=pod_spec(cpu="100m"), replicas=replicas, serviceName="db"
    )
    made["spec"]["podManagementPolicy"] = "Parallel"
    return made


def nobody_missed(audit: Audit) -> None:
    assert audit.replicas_missing() == []
    assert audit.endpoints_missing() == []
    assert audit.budgets_violated() == []


async def first_of(world: World, app: str) -> str:
    return min(str(each["metadata"]["name"]) for each in await world.pods(app))


@pytest.mark.parametrize("budgets", [False, True], ids=["no budgets", "budgets that allow 0"])
async def test_an_outsiders_drain_dips_nobody(
    world: World,
    guard: Guarded,
    kubectl: Path,
    budgets: bool,  # noqa: FBT001
) -> None:
    full, *_ = await world.add_nodes(3)
    apps = {"one": 1, "two": 2, "three": 3}
    await world.create(*(service(app) for app in apps))
    await world.deploy(*(web(app, size) for app, size in apps.items()), on=full)
    if budgets:
        await world.create(*(budget(app, minAvailable=size) for app, size in apps.items()))
    async with guard.running(), world.auditor() as auditor:
        drained = await drain(world, kubectl, full, "--timeout=120s")
        assert drained.code == 0, drained
        for app, size in apps.items():
            await world.wait(f"{app} is complete", partial(world.is_complete, app))
            nodes = await world.nodes_of(app)
            assert len(nodes) == size
            assert full not in nodes
        audit = await world.audit(auditor)
    nobody_missed(audit)
    assert "moves it first: migration" in drained.err or "has been asked for" in drained.err
    records = await world.records()
    assert len(records) == 6
    for each in records:
        assert each["status"]["phase"] == "Completed", each
        assert each["spec"]["strategy"] == "Manual"
        assert each["metadata"]["annotations"][EVICTED_BY] == USER
        assert each["spec"]["reason"].startswith(f"{USER} evicts it from {full}")


async def test_of_a_stateful_set_never_two_are_away(
    world: World, guard: Guarded, kubectl: Path
) -> None:
    full, *_ = await world.add_nodes(3)
    await world.deploy(database(), on=full)
    async with guard.running(), world.auditor() as auditor:
        drained = await drain(world, kubectl, full, "--timeout=200s")
        assert drained.code == 0, drained
        await world.wait("it is complete", lambda: world.is_complete("db", "StatefulSet"))
        assert full not in await world.nodes_of("db")
        audit = await world.audit(auditor)
    assert {each.had for each in audit.replicas_missing()} <= {2}


async def test_without_room_it_ends_when_its_patience_does(
    world: World, guard: Guarded, kubectl: Path
) -> None:
    [only] = await world.add_nodes(1)
    await world.deploy(web("web", 2), database(2), on=only)
    async with guard.running(guard={"patience": "8s"}):
        drained = await drain(world, kubectl, only, "--timeout=120s")
        assert drained.code == 0, drained
        assert await guard.metric(
            'guard_evictions_total{reason="failed",verdict="granted"}'
        ) + await guard.metric('guard_evictions_total{reason="patience",verdict="granted"}')
    failed = [each["status"] for each in await world.records()]
    assert {each["reason"] for each in failed} <= {"NoTarget", "NotNow"}, failed


async def test_while_nobody_answers_evictions_pass(world: World, guard: Guarded) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(web("web", 3), on=full)
    async with guard.running() as running:
        first = await first_of(world, "web")
        assert "moves it first" in await guard.evict(first)
        # Half open: it takes connections, and says nothing.
        async with stopped(running):
            others = sorted(each["metadata"]["name"] for each in await world.pods("web"))
            other = next(each for each in others if each != first)
            async with asyncio.timeout(20):
                assert await guard.evict(other) == ""
    # Down.
    assert await guard.evict(await first_of(world, "web")) == ""


async def test_with_a_certificate_that_is_too_old_evictions_pass(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(web("web", 1), on=full)
    yesterday = datetime.now(UTC) - timedelta(days=1)  # noqa: TID251 - of the machine
    async with guarded(world, good_until=yesterday) as old, old.running():
        assert await old.evict(await first_of(world, "web")) == ""


async def test_who_opts_out_and_dry_runs_pass_at_once(world: World, guard: Guarded) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(web("web", 4), on=full)
    async with guard.running():
        pods = sorted(each["metadata"]["name"] for each in await world.pods("web"))
        assert await guard.evict(pods[0], dryRun=["All"]) == ""
        path = f"/api/v1/namespaces/{world.name}/pods/{pods[0]}/eviction?dryRun=All"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pods[0]}}
        await world.api.request("POST", path, body=body)
        assert await world.find_pod(pods[0]) is not None
        # Of these the API server does not even ask.
        for reason in ("dry_run", "ourselves"):
            series = f'guard_evictions_total{{reason="{reason}",verdict="passed"}}'
            assert await guard.metric(series) == 0
        # One that is gone passes on to whoever says so.
        assert "not found" in await guard.evict("gone")

        await world.annotate_pod(pods[1], {OFF: "off"})
        await passes(guard, pods[1])
        await world.api.patch("Node", None, full, {"metadata": {"annotations": {OFF: "off"}}})
        await passes(guard, pods[2])
        await world.api.patch("Node", None, full, {"metadata": {"annotations": {OFF: None}}})
        labels = {"metadata": {"labels": {OFF: "off"}}}
        await world.api.patch("Namespace", None, world.name, labels)
        await passes(guard, pods[3])


async def passes(guard: Guarded, pod: str) -> None:
    """As soon as it is known."""

    async def is_granted() -> bool:
        return await guard.evict(pod) == ""

    await guard.world.wait(f"the eviction of {pod} passes", is_granted)


async def test_users_win(world: World, guard: Guarded, kubectl: Path) -> None:
    """Who rolls out, scales or deletes meanwhile gets what he wants, and the drain ends."""
    full, *_ = await world.add_nodes(3)
    await world.deploy(web("rolled", 2), web("scaled", 2), web("deleted", 2), on=full)
    await world.afflict_copies(ready_after="6s")
    async with guard.running():
        draining = asyncio.create_task(drain(world, kubectl, full, "--timeout=150s"))
        await world.wait_for_copy("rolled")
        await world.roll_out("rolled", "app:2")
        await world.scale("scaled", 1)
        await world.delete_workload("deleted")
        drained = await draining
        assert drained.code == 0, drained
        await world.wait("rolled is complete", lambda: world.is_complete("rolled"))
        await world.wait("scaled is complete", lambda: world.is_complete("scaled"))
        images = {each["spec"]["containers"][0]["image"] for each in await world.pods("rolled")}
        assert images == {"app:2"}
        assert len(await world.nodes_of("scaled")) == 1
        assert await world.pods("deleted") == []


async def test_the_next_replica_goes_on(world: World, guard: Guarded, kubectl: Path) -> None:
    """Killed in mid-drain: what is held passes or is moved by whoever follows."""
    full, *_ = await world.add_nodes(3)
    await world.deploy(web("web", 3), on=full)
    await world.afflict_copies(ready_after="5s")
    async with guard.running() as first:
        draining = asyncio.create_task(drain(world, kubectl, full, "--timeout=150s"))
        await world.wait_for_copy("web")
        first.kill()
        await first.finish()
    async with guard.running():
        drained = await draining
        assert drained.code == 0, drained
        await world.wait("it is complete", lambda: world.is_complete("web"))
        assert full not in await world.nodes_of("web")

        async def is_tidy() -> bool:
            return all(
                each["status"]["phase"] in ("Completed", "Failed") for each in await world.records()
            )

        await world.wait("no record is unfinished", is_tidy)


async def test_a_held_eviction_is_told_on_the_pod(world: World, guard: Guarded) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(web("web", 1), on=full)
    async with guard.running():
        pod = await first_of(world, "web")
        said = await guard.evict(pod)
        assert "guard.rescheduler.io" in said
        assert "denied the request: kube-rescheduler moves it first" in said
        assert "the eviction passes in 5m00s at the latest" in said

        async def is_told() -> bool:
            events = await world.api.list("Event", world.name)
            return any(
                each["reason"] == "EvictionHeld" and each["involvedObject"]["name"] == pod
                for each in events
            )

        await world.wait("an Event says so", is_told)
        held = 'guard_evictions_by_user_total{user="testbed:admin",verdict="held"}'
        await world.wait("it is counted", lambda: guard.counts(held))
