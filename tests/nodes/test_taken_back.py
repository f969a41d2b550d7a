"""What real kubelets refuse, or never do: the copy is taken back, and not one request fails."""

import asyncio
import signal
import subprocess

import pytest

from testbed import build
from testbed.audit import is_ready
from testbed.builders import MOVED, deployment, service
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import server
from testbed.realnodes.settings import CONTAINERD_SOCKET, CRASHING_IMAGE, IMAGE
from testbed.realnodes.traffic import traffic
from testbed.world import World
from tests.nodes.serving import drain, report, start_draining
from tests.scenarios.judging import assert_as_if_nothing_happened, assert_nobody_noticed
from tests.scenarios.looping import ended

ABSENT_IMAGE = "testbed.rescheduler.io/absent:1"
LOADED_IMAGE = "testbed.rescheduler.io/loaded-by-hand:1"


async def deploy_web(world: World, on: str, *flags: str, **container: object) -> None:
    await world.create(service("web"))
    spec = server("-sigterm=exit", *flags, **container)
    await world.deploy(deployment("web", replicas=1, spec=spec), on=on)


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


async def test_an_image_that_the_source_has_and_no_target(world: World, nodes: RealNodes) -> None:
    full = nodes.names[0]
    await asyncio.to_thread(load_image, nodes, full)
    await deploy_web(world, full, image=LOADED_IMAGE)
    async with (
        world.auditor() as auditor,
        traffic(world.instance, nodes, world.name, "web") as seen,
    ):
        run = await drain(world, full)
        assert run.code == 1, run
        assert "ErrImageNeverPull" in run.err, run
        audit = await world.audit(auditor)
    report("rescheduler drain, an image that only the source has", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [full]
    await assert_as_if_nothing_happened(world, audit, app="web")


def load_image(nodes: RealNodes, node: str) -> None:
    """Another name of the server's image, that only this node knows."""
    socket = nodes.root(node) / CONTAINERD_SOCKET.lstrip("/")
    ctr = [str(build.programs("containerd") / "ctr"), "--address", str(socket)]
    name = ["--namespace", "k8s.io", "images", "tag", "--force", IMAGE, LOADED_IMAGE]
    subprocess.run([*ctr, *name], check=True, capture_output=True)


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


async def test_a_kubelet_that_stands_still_when_the_copy_runs_and_is_not_ready(
    world: World, nodes: RealNodes
) -> None:
    """Its server starts all the same, and nobody says that it is Ready."""
    full, silent, other = nodes.names
    await deploy_web(world, full, "-ready-after=8s")
    await world.cordon(other)
    try:
        async with (
            world.auditor() as auditor,
            traffic(world.instance, nodes, world.name, "web") as seen,
        ):
            draining = await start_draining(world, full, migration={"readyTimeout": "12s"})
            await world.wait("the copy runs", lambda: has_running_copy(world))
            nodes.send_signal(silent, "kubelet", signal.SIGSTOP)
            await world.wait("the copy is taken back", lambda: has_ending_copy(world))
            nodes.send_signal(silent, "kubelet", signal.SIGCONT)
            run = await ended(draining)
            assert run.code == 1, run
            assert "NotReadyInTime" in run.err, run
            await world.wait("the copy is gone", lambda: is_alone(world))
            audit = await world.audit(auditor)
    finally:
        nodes.send_signal(silent, "kubelet", signal.SIGCONT)
    report("rescheduler drain, the target's kubelet stands still when the copy runs", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [full]
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_kubelet_that_stands_still_when_the_copy_serves(
    world: World, nodes: RealNodes
) -> None:
    """It goes on serving without its kubelet, and so does the move."""
    full, silent, other = nodes.names
    await deploy_web(world, full)
    await world.cordon(other)
    try:
        async with (
            world.auditor() as auditor,
            traffic(world.instance, nodes, world.name, "web") as seen,
        ):
            draining = await start_draining(world, full)
            await world.wait("the original has left", lambda: has_left(world, full))
            nodes.send_signal(silent, "kubelet", signal.SIGSTOP)
            run = await ended(draining)
            assert run.code == 0, run
            nodes.send_signal(silent, "kubelet", signal.SIGCONT)
            await world.wait("web is complete", lambda: world.is_complete("web"))
            audit = await world.audit(auditor)
    finally:
        nodes.send_signal(silent, "kubelet", signal.SIGCONT)
    report("rescheduler drain, the target's kubelet stands still when the copy serves", seen)
    assert seen.failures == []
    assert await world.nodes_of("web") == [silent]
    assert_nobody_noticed(audit)


async def has_running_copy(world: World) -> bool:
    copies = await world.api.list("Pod", world.name, f"app=web,{MOVED}")
    return any(copy["status"].get("phase") == "Running" for copy in copies)


async def has_left(world: World, node: str) -> bool:
    """Not Ready any more, for its copy is."""
    pods = [each for each in await world.pods("web") if each["spec"].get("nodeName") == node]
    return not any(map(is_ready, pods))


async def is_alone(world: World) -> bool:
    return len(await world.pods("web")) == 1


async def has_ending_copy(world: World) -> bool:
    copies = await world.api.list("Pod", world.name, f"app=web,{MOVED}")
    return any("deletionTimestamp" in copy["metadata"] for copy in copies)
