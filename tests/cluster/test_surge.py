"""One pod moved without a dip, judged by the auditor."""

from testbed.builders import deployment, service
from testbed.world import World


async def test_moves_one_pod_of_a_deployment_of_four(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=4), on=full)

    async with world.auditor() as auditor:
        run = await world.run()
        assert run.code == 0, run
        await world.wait("web is complete", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)

    assert await world.nodes_of("web") == [full, full, full, empty]
