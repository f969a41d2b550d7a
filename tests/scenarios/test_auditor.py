"""The judge must be able to find fault: bad migrations, done on purpose."""

from testbed.builders import behaviour, budget, deployment, service, workload
from testbed.scenarios import Scene
from tests.scenarios.deploying import deploy_web


async def test_sees_a_pod_deleted_before_its_successor_is_ready(world: Scene) -> None:
    [node] = await world.add_nodes(1)
    slow = deployment("web", replicas=4, annotations=behaviour(ready_after="3s"))
    await world.create(service("web"), budget("web", minAvailable=4))
    await world.deploy(slow, on=node)
    victim, *_ = await world.pods("web")
    async with world.auditor() as auditor:
        await world.delete_pod(victim["metadata"]["name"])
        await world.wait("web is complete again", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)
    [dip] = audit.replicas_missing()
    assert (dip.what, dip.had, dip.wanted) == ("Deployment web", 3, 4)
    [loss] = audit.endpoints_missing()
    assert (loss.what, loss.had, loss.wanted) == ("Service web", 3, 4)
    [violation] = audit.budgets_violated()
    assert (violation.what, violation.had) == ("PodDisruptionBudget web", 3)
    # It was not the process under test.
    assert audit.writes() == []


async def test_sees_a_dip_of_a_replica_set_that_no_deployment_has(world: Scene) -> None:
    [node] = await world.add_nodes(1)
    alone = workload("ReplicaSet", "web", replicas=2)
    alone["spec"]["template"]["metadata"]["annotations"] = behaviour(ready_after="2s")
    await world.create(budget("web", maxUnavailable=0))
    await world.deploy(alone, on=node)
    victim, _ = await world.pods("web")
    async with world.auditor() as auditor:
        await world.delete_pod(victim["metadata"]["name"])
        await world.wait("web is complete", lambda: world.is_complete("web", "ReplicaSet"))
        audit = await world.audit(auditor)
    [dip] = audit.replicas_missing()
    assert (dip.what, dip.had, dip.wanted) == ("ReplicaSet web", 1, 2)
    [violation] = audit.budgets_violated()
    assert (violation.what, violation.had) == ("PodDisruptionBudget web", 1)


async def test_sees_a_rollout(world: Scene) -> None:
    await deploy_web(world, 2)
    async with world.auditor() as auditor:
        await world.roll_out("web", "app:2")
        await world.wait("web is complete again", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)
    changes = audit.changed_objects()
    assert "Deployment web: spec changed" in changes
    assert any(change.startswith("ReplicaSet") and change.endswith("made") for change in changes)
    assert len(audit.pods_made()) == 2


async def test_names_every_request_of_the_process_and_of_no_other(world: Scene) -> None:
    await deploy_web(world, 2)
    async with world.auditor() as auditor:
        await world.run()
        audit = await world.audit(auditor)
    created = [write for write in audit.writes() if write.permission == "create pods"]
    assert [write.name for write in created] == audit.pods_made()
    assert {write.namespace for write in audit.writes()} == {world.name}
    asked = [request for request in audit.requests if request.dry_run]
    assert {request.permission for request in asked} == {"create pods", "create pods/eviction"}
