"""Moved pods have the size that admission gives pods of their owner, not that of their template."""

from testbed.api import Object
from testbed.builders import deployment, service
from testbed.scenarios import Scene
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_nobody_noticed

REPLICAS = 6


def cores(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


async def test_all_of_them_and_admission_is_asked_once(world: Scene) -> None:
    await world.size_owned_pods("1")
    full, empty = await world.add_nodes(2, cpu="16")
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=REPLICAS), on=full)
    for each in await world.pods("web"):
        await ask(world, each, empty)
    run, audit = await world.audited_run(enabledStrategies=[])
    assert run.code == 0, run
    assert {each["status"]["phase"] for each in await world.records()} == {"Completed"}
    pods = await world.pods("web")
    assert [each["spec"]["nodeName"] for each in pods] == [empty] * REPLICAS
    assert [cores(each) for each in pods] == ["1"] * REPLICAS
    assert_nobody_noticed(audit)
    asked = [each for each in audit.requests if each.permission == "create pods" and each.dry_run]
    assert len(asked) == 3


async def test_the_size_of_now_is_the_one_that_has_to_fit(world: Scene) -> None:
    """It was smaller when the pod was made: there would be room for that."""
    [full] = await world.add_nodes(1)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=1), on=full)
    [small] = await world.add_nodes(1, cpu="900m")
    await world.size_owned_pods("1")
    [pod] = await world.pods("web")
    await ask(world, pod, small)
    async with world.auditor() as auditor:
        await world.run(enabledStrategies=[])
        audit = await world.audit(auditor)
    [record] = await world.records()
    assert record["status"]["reason"] == "NotNow"
    assert "not enough cpu: requests 1, 900m free" in record["status"]["message"]
    assert audit.pods_made() == []
    assert_nobody_noticed(audit)
