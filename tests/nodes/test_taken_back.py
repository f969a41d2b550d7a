"""What real kubelets refuse, or never do: the copy is taken back, and not one request fails."""

import signal

import pytest

from testbed.builders import MOVED, deployment, service
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import server
from testbed.realnodes.settings import CRASHING_IMAGE
from testbed.realnodes.traffic import traffic
from testbed.world import World
from tests.nodes.serving import drain, report, start_draining
from tests.scenarios.judging import assert_as_if_nothing_happened
from tests.scenarios.looping import ended

ABSENT_IMAGE = "testbed.rescheduler.io/absent:1"


async def deploy_web(world: World, on: str) -> None:
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=1, spec=server("-sigterm=exit")), on=on)


@pytest.mark.parametrize(
    ("image", "shown"),
    [(ABSENT_IMAGE, "ErrImageNeverPull"), (CRASHING_IMAGE, "CrashLoopBackOff")],
)
async def test_a_copy_that_cannot_start_is_taken_back(
    image: str, shown: str, world: World, nodes: RealNodes
) -> None:
    full = nodes.names[0]
    await deploy_web(world, full)
    await world.afflict_copies(image=image)
    async with (
        world.auditor() as auditor,
        traffic(world.instance, nodes, world.name, "web") as seen,
    ):
        run = await drain(world, full)
        assert run.code == 1, run
        assert shown in run.err, run
        audit = await world.audit(auditor)
    report(f"rescheduler drain, {shown} on the target", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [full]
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_kubelet_that_stands_still_with_the_copy_on_it(
    world: World, nodes: RealNodes
) -> None:
    full, silent, other = nodes.names
    await deploy_web(world, full)
    await world.cordon(other)
    nodes.send_signal(silent, "kubelet", signal.SIGSTOP)
    try:
        async with (
            world.auditor() as auditor,
            traffic(world.instance, nodes, world.name, "web") as seen,
        ):
            draining = await start_draining(world, full, migration={"readyTimeout": "5s"})
            await world.wait("the copy is taken back", lambda: has_ending_copy(world))
            # Else nobody says that it has ended before the node is given up.
            nodes.send_signal(silent, "kubelet", signal.SIGCONT)
            run = await ended(draining)
            assert run.code == 1, run
            assert "NotReadyInTime" in run.err, run
            await world.wait("the copy is gone", lambda: is_alone(world))
            audit = await world.audit(auditor)
    finally:
        nodes.send_signal(silent, "kubelet", signal.SIGCONT)
    report("rescheduler drain, the target's kubelet stands still", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [full]
    await assert_as_if_nothing_happened(world, audit, app="web")


async def is_alone(world: World) -> bool:
    return len(await world.pods("web")) == 1


async def has_ending_copy(world: World) -> bool:
    copies = await world.api.list("Pod", world.name, f"app=web,{MOVED}")
    return any("deletionTimestamp" in copy["metadata"] for copy in copies)
