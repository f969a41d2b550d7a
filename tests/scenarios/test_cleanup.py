"""`rescheduler cleanup`: nothing of ours is left, however it was left."""

from collections.abc import Iterator

import pytest

from rescheduler.config import Migration
from rescheduler.controller.cleanup import NotClean, remove_lease
from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import budget, deployment
from testbed.faultproxy import Match, conflict, fail
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import as_admin, cleanup, controller, election
from tests.scenarios.steered import carry_out
from tests.scenarios.world import World

MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
OURS = (
    "scheduler.alpha.kubernetes.io/mig",
    "scheduler.alpha.kubernetes.io/prev",
    "scheduler.alpha.kubernetes.io/original",
    "rescheduler.io/",
)


async def everything(world: World) -> list[Object]:
    found = [
        each
        for kind in ("Pod", "PodDisruptionBudget", "PodMigration", "Lease", "ReplicaSet")
        for each in await world.api.list(kind, world.name)
    ]
    return found + [await world.api.get("Node", None, node) for node in world.nodes]


def traces(each: Object) -> Iterator[str]:
    metadata = each["metadata"]
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    yield from (f"{metadata['name']}: {key}" for key in marks if key.startswith(OURS))


async def assert_nothing_is_left(world: World) -> None:
    found = await everything(world)
    assert [trace for each in found for trace in traces(each)] == []
    assert await world.records() == []
    assert await world.api.find("Lease", world.name, "rescheduler") is None


async def test_after_moves_records_cordons_and_history_go_and_nobody_notices(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
    async with world.auditor() as auditor:
        run = await world.run(enabledStrategies=["NodeMaintenance"], **election(world))
        assert run.code == 0, run
        cleaned = await cleanup(world, "--all")
        audit = await world.audit(auditor)
    assert cleaned.code == 0, cleaned
    assert cleaned.out.count("podmigration.rescheduler.io/web-") == 3
    assert cleaned.out.count(" history removed") == 3
    # It is labelled, so it may be under repair.
    stays = f"node/{full} unannotated, stays cordoned until kubectl uncordon {full}"
    assert stays in cleaned.lines
    lease = f"lease.coordination.k8s.io/rescheduler in namespace {world.name} deleted"
    assert lease in cleaned.lines
    await assert_nothing_is_left(world)
    assert (await world.api.get("Node", None, full))["spec"]["unschedulable"]
    assert await world.nodes_of("web") == [empty] * 3
    again = await cleanup(world, "--all")
    assert (again.code, again.out) == (0, "nothing of the rescheduler is left\n")
    assert_nobody_noticed(audit)


async def test_without_all_the_history_stays(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run()).code == 0
    assert (await cleanup(world)).code == 0
    again = await cleanup(world)
    assert again.out == "nothing of the rescheduler is left\n"
    [moved] = [pod for pod in await world.pods("web") if list(traces(pod))]
    status = "scheduler.alpha.kubernetes.io/migration-status"
    assert moved["metadata"]["labels"][status] == "completed"
    assert await world.records() == []


async def test_what_is_in_flight_is_ended_first(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    await world.afflict_copies(ready_after="4s")
    async with world.auditor() as auditor:
        process = await world.start()
        await world.wait_for_copy("web")
        process.kill()
        await process.finish()
        cleaned = await cleanup(world, "--all")
        audit = await world.audit(auditor)
    assert cleaned.code == 0, cleaned
    assert "ending 1 migration under way" in cleaned.lines
    await assert_nothing_is_left(world)
    assert empty in await world.nodes_of("web")
    assert_nobody_noticed(audit)


async def test_what_was_only_asked_for_is_not_begun(world: World) -> None:
    full, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    spec = {
        "pod": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
        "source": full,
        "target": empty,
    }
    await world.create(
        {
            "kind": "PodMigration",
            "apiVersion": "rescheduler.io/v1alpha1",
            "metadata": {"name": "by-hand"},
            "spec": spec,
        }
    )
    cleaned = await cleanup(world)
    assert cleaned.code == 0, cleaned
    assert cleaned.lines[0] == (
        f"podmigration.rescheduler.io/by-hand in namespace {world.name} deleted"
    )
    assert await world.nodes_of("web") == [full]
    await assert_nothing_is_left(world)


async def test_what_failed_before_is_not_begun_again(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    failing, going, _ = await world.pods("web")
    await world.afflict_copies(never_ready="true")
    await ask(world, failing, empty)
    await carry_out(world, Migration(ready_timeout_seconds=2.0))
    await world.heal_copies()
    await world.afflict_copies(ready_after="20s")
    await ask(world, going, empty)
    process = await world.start(enabledStrategies=[])
    await world.wait_for_copy("web")
    process.kill()
    await process.finish()
    cleaned = await cleanup(world, migration={"retry": {"backOff": "1s"}})
    assert cleaned.code == 0, cleaned
    assert sorted(await world.nodes_of("web")) == sorted([full, full, empty])


async def test_strays_are_put_in_order(world: World) -> None:
    """A mark, a copy and a temporary budget whose record somebody has deleted."""
    await deploy_web(world, 2)
    await world.create(deployment("other", replicas=1))
    await world.afflict_copies(never_ready="true")
    process = await world.start()
    copy = await _copy(world)
    process.kill()
    await process.finish()
    for record in await world.records():
        await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
    guard = budget("other", minAvailable=1)
    guard["metadata"] |= {
        "name": "other-rescheduler-pdb",
        "labels": {"rescheduler.io/migration": "gone-0123456789-1"},
    }
    await world.create(guard)
    before = await cleanup(world, "--dry-run")
    cleaned = await cleanup(world)
    assert cleaned.code == 0, cleaned
    name = copy["metadata"]["name"]
    left = f"pod/{name} in namespace {world.name} deleted, a copy that was left behind"
    assert left in cleaned.lines
    assert f"{left} (dry run)" in before.lines
    assert cleaned.out.count("unmarked") == before.out.count("unmarked") == 1
    assert (
        f"poddisruptionbudget.policy/other-rescheduler-pdb in namespace {world.name} deleted"
        in cleaned.lines
    )
    await world.wait("the copy is gone", lambda: _is_gone(world, name))
    await assert_nothing_is_left(world)


async def test_a_stray_copy_that_changes_meanwhile_goes_all_the_same(world: World) -> None:
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    process = await world.start()
    copy = await _copy(world)
    process.kill()
    await process.finish()
    for record in await world.records():
        await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
    async with world.faults() as proxy:
        rule = proxy.on(Match(verb="delete", resource="pods"), conflict(), times=1)
        cleaned = await cleanup(world)
    assert rule.fired
    assert cleaned.code == 0, cleaned
    await world.wait("the copy is gone", lambda: _is_gone(world, copy["metadata"]["name"]))
    await assert_nothing_is_left(world)


async def test_a_stray_copy_that_nobody_can_evict_goes_all_the_same(world: World) -> None:
    await deploy_web(world, 2)
    process = await world.start(migration={"settle": "5m"})
    name = (await _copy(world))["metadata"]["name"]
    await world.wait("the copy is Ready", lambda: _is_ready(world, name))
    process.kill()
    await process.finish()
    for record in await world.records():
        await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
    one, two = budget("web", minAvailable=1), budget("web", minAvailable=1)
    two["metadata"]["name"] = "again"
    await world.create(one, two)
    cleaned = await cleanup(world)
    assert cleaned.code == 0, cleaned
    await world.wait("the copy is gone", lambda: _is_gone(world, name))
    await world.wait("web is complete", lambda: world.is_complete("web"))


async def _copy(world: World) -> Object:
    found: list[Object] = []

    async def is_there() -> bool:
        selector = "app=web,scheduler.alpha.kubernetes.io/migrated-from"
        found[:] = await world.api.list("Pod", world.name, selector)
        return bool(found)

    await world.wait("there is a copy", is_there)
    return found[0]


async def _is_ready(world: World, pod: str) -> bool:
    found = await world.find_pod(pod)
    return found is not None and is_ready(found)


async def _is_gone(world: World, pod: str) -> bool:
    return await world.find_pod(pod) is None


async def test_refuses_while_somebody_leads_and_names_it(world: World) -> None:
    await world.add_nodes(1)
    async with controller(world, enabledStrategies=[], **election(world)) as leader:
        await leader.says("pass ended")
        refused = await cleanup(world)
        holder = leader.said("became leader")[0]["identity"]
    assert refused.code == 1
    first, second = refused.err.splitlines()
    lease = f"{world.name}/rescheduler"
    assert first == f"error: {holder} leads (lease {lease}): stop it first, for example with"
    assert second == "kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=0"


async def test_a_lease_that_somebody_has_just_taken_is_left(world: World) -> None:
    """Between our release of it and its end."""
    metadata = {"name": "rescheduler", "namespace": world.name}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    seen = await world.api.create(lease)
    holder = {"spec": {"holderIdentity": "another"}}
    taken = await world.api.patch("Lease", world.name, "rescheduler", holder)
    async with world.connect_as_admin() as kube:
        with pytest.raises(NotClean, match="another has taken it"):
            await remove_lease(kube, taken)
        with pytest.raises(NotClean, match="the lease could not be removed"):
            await remove_lease(kube, seen)
        assert await world.api.find("Lease", world.name, "rescheduler") is not None
        free = await world.api.patch(
            "Lease", world.name, "rescheduler", {"spec": {"holderIdentity": None}}
        )
        assert await remove_lease(kube, free)
        assert not await remove_lease(kube, free)


async def test_what_drain_cordoned_stays_cordoned(world: World) -> None:
    [node] = await world.add_nodes(1)
    path = str(world.configuration(**election(world)))
    assert (await as_admin(world, "drain", node, "--config", path)).code == 0
    cleaned = await cleanup(world)
    assert f"node/{node} unannotated, stays cordoned until kubectl uncordon {node}" in cleaned.lines
    assert (await world.api.get("Node", None, node))["spec"]["unschedulable"]
    await assert_nothing_is_left(world)


async def test_a_dry_run_changes_nothing(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run(**election(world))).code == 0
    before = await everything(world)
    previewed = await cleanup(world, "--all", "--dry-run")
    assert previewed.code == 0
    assert len(previewed.lines) == 4  # the plan, the record, the history, the lease
    assert all(line.endswith(" (dry run)") for line in previewed.lines)
    assert await everything(world) == before


async def test_what_cannot_be_removed_is_told_and_the_rest_goes(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run()).code == 0
    async with world.faults() as proxy:
        refused = Match(verb="delete", resource="podmigrations")
        proxy.on(refused, fail(403, reason="Forbidden", message="not yours"))
        cleaned = await cleanup(world, "--all")
    assert cleaned.code == 1
    assert "history removed" in cleaned.out
    assert cleaned.err.startswith("error: could not be removed; run it again:\npodmigration")
    assert cleaned.err.endswith(": not yours")
    assert (await cleanup(world, "--all")).code == 0
    await assert_nothing_is_left(world)


def webhook(name: str, namespace: str) -> Object:
    service = {"name": "rescheduler-guard", "namespace": namespace, "path": "/guard"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "guard.rescheduler.io",
                "clientConfig": {"service": service},
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


async def test_the_api_server_is_told_to_ask_us_no_more(world: World) -> None:
    """About evictions, if it asks us, and not another installation."""
    kind, name = "ValidatingWebhookConfiguration", "rescheduler-guard"
    line = f"validatingwebhookconfiguration.admissionregistration.k8s.io/{name} deleted"
    try:
        await world.api.create(webhook(name, "elsewhere"))
        assert line not in (await cleanup(world)).lines
        assert await world.api.find(kind, None, name) is not None
    finally:
        await world.api.delete(kind, None, name)
    await world.api.create(webhook(name, world.name))
    told = await cleanup(world, "--dry-run")
    assert f"{line} (dry run)" in told.lines
    assert (await cleanup(world)).lines[0] == line
    assert await world.api.find(kind, None, name) is None
