"""Simulated nodes and pods behave as `testbed/stages.yaml` promises."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import groupby
from typing import Any

import pytest

from testbed.api import Object
from testbed.audit import Audit, is_ready, is_usable
from testbed.builders import deployment, pod, pod_spec
from tests.scenarios.world import World

KEPT = "testbed.rescheduler.io/kept"


async def is_pod(world: World, name: str, condition: Callable[[Object], Any]) -> bool:
    found = await world.api.find("Pod", world.name, name)
    return found is not None and bool(condition(found))


async def until(world: World, name: str, what: str, condition: Callable[[Object], Any]) -> Object:
    await world.wait(f"{name} {what}", lambda: is_pod(world, name, condition))
    return await world.api.get("Pod", world.name, name)


async def until_ready(world: World, *names: str) -> None:
    for name in names:
        await until(world, name, "is Ready", is_ready)


async def until_gone(world: World, name: str) -> None:
    async def gone() -> bool:
        return await world.api.find("Pod", world.name, name) is None

    await world.wait(f"{name} is gone", gone)


async def delete(world: World, *names: str, **options: int) -> None:
    await asyncio.gather(
        *(world.api.delete("Pod", world.name, name, options or None) for name in names)
    )


def condition_of(found: Object, kind: str) -> Object:
    [condition] = [each for each in found["status"]["conditions"] if each["type"] == kind]
    return dict(condition)


def seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def waiting_reason(found: Object) -> str:
    [status] = found["status"]["containerStatuses"]
    return str(status["state"].get("waiting", {}).get("reason"))


def removed_in_order(audit: Audit) -> list[str]:
    names = {
        seen.uid: seen.object["metadata"]["name"]
        for seen in audit.history
        if seen.object is not None
    }
    return [names[seen.uid] for seen in audit.history if seen.kind == "Pod" and seen.object is None]


def phases_of(audit: Audit, name: str) -> list[tuple[str, bool]]:
    """Phase and readiness over time, each as long as it lasted."""
    seen = [
        (each.object["status"]["phase"], is_ready(each.object))
        for each in audit.history
        if each.kind == "Pod" and each.object and each.object["metadata"]["name"] == name
    ]
    return [phase for phase, _ in groupby(seen)]


# ------------------------------------------------------------------ nodes


async def test_a_hundred_nodes(world: World) -> None:
    started = time.monotonic()
    names = await world.add_nodes(100)
    print(f"100 nodes were Ready after {time.monotonic() - started:.1f} s")  # noqa: T201
    found = await world.api.list("Node", selector=f"testbed.rescheduler.io/owner={world.name}")
    ready = [node for node in found if condition_of(node, "Ready")["status"] == "True"]
    assert sorted(node["metadata"]["name"] for node in ready) == sorted(names)


async def test_a_cordoned_node_takes_no_pods_until_it_is_uncordoned(world: World) -> None:
    [node] = await world.add_nodes(1)
    await world.cordon(node)
    await world.create(pod("late"))

    def is_refused(found: Object) -> bool:
        conditions = found["status"].get("conditions") or ()
        return any(each.get("reason") == "Unschedulable" for each in conditions)

    refused = await until(world, "late", "is refused", is_refused)
    assert "nodeName" not in refused["spec"]
    await world.uncordon(node)
    placed = await until(world, "late", "is Ready", is_ready)
    assert placed["spec"]["nodeName"] == node


async def test_a_node_turns_not_ready_and_comes_back(world: World) -> None:
    # The node controller evicts from no node while none is Ready, so there are two.
    node, other = await world.add_nodes(2)
    await world.cordon(other)
    await world.create(pod("web"))
    await until_ready(world, "web")

    async def is_tainted() -> bool:
        found = await world.api.get("Node", None, node)
        taints = {(each["key"], each["effect"]) for each in found["spec"]["taints"]}
        key = "node.kubernetes.io/not-ready"
        return taints >= {(key, "NoSchedule"), (key, "NoExecute")}

    async with world.auditor() as auditor:
        await world.make_not_ready(node)
        await world.wait("the node controller taints it", is_tainted)
        found = await world.api.get("Node", None, node)
        assert condition_of(found, "Ready")["status"] == "False"
        await world.make_ready_again(node)

        await world.wait("it is back", lambda: is_back(world, node))
        audit = await world.audit(auditor)
    # It was not away for long enough for its pod to be moved.
    assert phases_of(audit, "web") == [("Running", True)]


async def test_on_a_hung_node_nothing_starts_and_nothing_ends(world: World) -> None:
    hung, alive = await world.add_nodes(2)

    def on(node: str) -> Object:
        return pod_spec() | {"nodeSelector": {"kubernetes.io/hostname": node}}

    await world.create(
        pod("ending", spec=on(hung)), pod("control", spec=on(alive), exit_after_seconds="2")
    )
    await until_ready(world, "ending", "control")
    await world.hang(hung)

    await world.create(pod("starting", spec=on(hung)))
    await until(world, "starting", "is bound", lambda found: "nodeName" in found["spec"])
    await world.create(pod("started", spec=on(alive), ready_after="2s"))
    await delete(world, "ending", "control")
    # What takes longer on the other node is over; so it would be here, too.
    await until_gone(world, "control")
    await until_ready(world, "started")
    starting = await world.api.get("Pod", world.name, "starting")
    assert starting["spec"]["nodeName"] == hung
    assert starting["status"]["phase"] == "Pending"
    assert "podIP" not in starting["status"]
    ending = await world.api.get("Pod", world.name, "ending")
    assert "deletionTimestamp" in ending["metadata"]

    await world.revive(hung)
    await until_gone(world, "ending")
    await until_ready(world, "starting")


async def test_a_node_that_hangs_for_long_is_lost_with_its_pods_until_it_is_back(
    world: World,
) -> None:
    [node] = await world.add_nodes(1)
    await world.create(pod("web"))
    await until_ready(world, "web")
    await world.hang(node)
    async with asyncio.timeout(150):  # the node controller waits 50 s for a heartbeat
        while not await is_lost(world, node):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
    await until(world, "web", "is not Ready", lambda found: not is_ready(found))
    await world.revive(node)
    await until_ready(world, "web")
    await world.wait("the node is back", lambda: is_back(world, node))


async def is_lost(world: World, node: str) -> bool:
    found = await world.api.get("Node", None, node)
    return bool(condition_of(found, "Ready")["status"] == "Unknown")


async def is_back(world: World, node: str) -> bool:
    return is_usable(await world.api.get("Node", None, node))


async def test_a_deleted_node_is_gone_and_nothing_starts_there(world: World) -> None:
    doomed, other = await world.add_nodes(2)
    await world.deploy(deployment("web", replicas=2), on=doomed)
    await world.delete_node(doomed)
    assert await world.api.find("Node", None, doomed) is None
    # The pods go when the garbage collector finds them, 40 s and more later. Told to go at once,
    # they go, and the others come on the node that is left.
    names = [found["metadata"]["name"] for found in await world.pods("web")]
    await delete(world, *names, gracePeriodSeconds=0)
    await world.wait("web is complete", lambda: world.is_complete("web"))
    assert await world.nodes_of("web") == [other, other]


# ------------------------------------------------------------------ starting


async def test_a_pod_is_ready_after_its_delay_and_not_before(world: World) -> None:
    await world.add_nodes(1)
    async with world.auditor() as auditor:
        await world.create(pod("slow", ready_after="3s"), pod("quick"))
        await until_ready(world, "slow", "quick")
        audit = await world.audit(auditor)
    for name, delay in (("slow", 3), ("quick", 0)):
        assert phases_of(audit, name) == [("Pending", False), ("Running", True)]
        found = await world.api.get("Pod", world.name, name)
        began = seconds(found["status"]["startTime"])
        assert seconds(condition_of(found, "Ready")["lastTransitionTime"]) - began >= delay


async def test_delays_end_even_for_a_pod_that_is_written_to_all_the_time(world: World) -> None:
    await world.add_nodes(1)
    async with writing(world, "busy"):
        await world.create(pod("busy", ready_after="1s", exit_after_seconds="1"))
        await until_ready(world, "busy")
        await delete(world, "busy")
        await until_gone(world, "busy")


@asynccontextmanager
async def writing(world: World, name: str) -> AsyncIterator[None]:
    async def write() -> None:
        while True:
            if await world.api.find("Pod", world.name, name):
                change = {"metadata": {"annotations": {"touched": str(time.monotonic_ns())}}}
                await world.api.patch("Pod", world.name, name, change)
            await asyncio.sleep(0.1)

    writer = asyncio.create_task(write())
    try:
        yield
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def test_a_pod_that_is_never_ready_runs(world: World) -> None:
    await world.add_nodes(1)
    async with world.auditor() as auditor:
        await world.create(pod("never", never_ready="true"))
        await until(world, "never", "runs", lambda found: found["status"]["phase"] == "Running")
        # Made later and slower, so it would be Ready by then, were it ever to be.
        await world.create(pod("other", ready_after="2s"))
        await until_ready(world, "other")
        audit = await world.audit(auditor)
    assert phases_of(audit, "never") == [("Pending", False), ("Running", False)]
    found = await world.api.get("Pod", world.name, "never")
    assert condition_of(found, "Ready")["status"] == "False"
    assert condition_of(found, "ContainersReady")["status"] == "False"


async def test_a_flapping_pod_is_ready_then_not_then_ready(world: World) -> None:
    await world.add_nodes(1)
    async with world.auditor() as auditor:
        await world.create(pod("flaps", flap_after="1s"))
        ready, unready = ("Running", True), ("Running", False)
        wanted = [("Pending", False), ready, unready, ready, unready]

        async def has_flapped() -> bool:
            return phases_of(await world.audit(auditor), "flaps")[:5] == wanted

        await world.wait("it has flapped twice", has_flapped)


@pytest.mark.parametrize(
    ("image", "what", "reasons"),
    [
        ("registry.invalid/app:1", {}, ["ErrImagePull", "ImagePullBackOff"]),
        ("registry.example/lacks-config", {}, ["CreateContainerConfigError"]),
        ("app:1", {"crashes": "true"}, ["CrashLoopBackOff"]),
    ],
)
async def test_a_container_that_cannot_run_says_why(
    world: World, image: str, what: dict[str, str], reasons: list[str]
) -> None:
    await world.add_nodes(1)
    async with world.auditor() as auditor:
        await world.create(pod("broken", spec=pod_spec(image=image), **what))
        await until(world, "broken", "gives up", lambda found: is_waiting(found, reasons[-1]))
        # Made later and slower, so it would be Ready by then, were it ever to be.
        await world.create(pod("other", ready_after="1s"))
        await until_ready(world, "other")
        audit = await world.audit(auditor)
    said = [
        waiting_reason(seen.object)
        for seen in audit.history
        if seen.kind == "Pod"
        and seen.object
        and seen.object["metadata"]["name"] == "broken"
        and "containerStatuses" in seen.object["status"]
    ]
    assert [reason for reason, _ in groupby(said)] == ["ContainerCreating", *reasons]
    assert not any(ready for _, ready in phases_of(audit, "broken"))


def is_waiting(found: Object, reason: str) -> bool:
    return "containerStatuses" in found["status"] and waiting_reason(found) == reason


async def test_a_crash_is_final_for_a_pod_that_is_not_restarted(world: World) -> None:
    await world.add_nodes(1)
    await world.create(pod("once", spec=pod_spec() | {"restartPolicy": "Never"}, crashes="true"))
    found = await until(world, "once", "fails", lambda found: found["status"]["phase"] == "Failed")
    [status] = found["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 1


# ------------------------------------------------------------------ ending


async def test_pods_end_when_they_want_to_but_within_their_grace_period(world: World) -> None:
    await world.add_nodes(1)

    def lasting(grace: int) -> Object:
        return pod_spec() | {"terminationGracePeriodSeconds": grace}

    await world.create(
        pod("stubborn", spec=lasting(7), ignores_sigterm="true"),
        pod("capped", spec=lasting(4), exit_after_seconds="100"),
        pod("slow", spec=lasting(100), exit_after_seconds="2"),
        pod("quick", spec=lasting(100)),
    )
    names = ("stubborn", "capped", "slow", "quick")
    await until_ready(world, *names)
    async with world.auditor() as auditor:
        await delete(world, *names)
        for name in names:
            await until_gone(world, name)
        audit = await world.audit(auditor)
    # All were told at once, so the order of their ends tells how long each took.
    assert removed_in_order(audit) == ["quick", "slow", "capped", "stubborn"]


async def test_a_forced_deletion_does_not_wait(world: World) -> None:
    await world.add_nodes(1)
    spec = pod_spec() | {"terminationGracePeriodSeconds": 1000}
    await world.create(pod("stubborn", spec=spec, ignores_sigterm="true"))
    await until_ready(world, "stubborn")
    await delete(world, "stubborn")
    found = await world.api.get("Pod", world.name, "stubborn")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 1000
    await delete(world, "stubborn", gracePeriodSeconds=0)
    assert await world.api.find("Pod", world.name, "stubborn") is None


async def test_a_shorter_grace_period_cuts_a_longer_one_short(world: World) -> None:
    await world.add_nodes(1)
    spec = pod_spec() | {"terminationGracePeriodSeconds": 1000}
    await world.create(pod("stubborn", spec=spec, ignores_sigterm="true"))
    await until_ready(world, "stubborn")
    await delete(world, "stubborn")
    await delete(world, "stubborn", gracePeriodSeconds=1)
    await until_gone(world, "stubborn")


async def test_a_pod_that_ends_keeps_its_room_until_it_is_gone(world: World) -> None:
    await world.add_nodes(1, cpu="1")
    grace = {"terminationGracePeriodSeconds": 3}
    await world.create(pod("first", spec=pod_spec(cpu="800m") | grace, ignores_sigterm="true"))
    await until_ready(world, "first")
    async with world.auditor() as auditor:
        await delete(world, "first")
        await world.create(pod("second", spec=pod_spec(cpu="800m")))
        await until_ready(world, "second")
        audit = await world.audit(auditor)
    gone = [seen.version for seen in audit.history if seen.kind == "Pod" and seen.object is None]
    bound = [
        seen.version
        for seen in audit.history
        if seen.kind == "Pod"
        and seen.object
        and seen.object["metadata"]["name"] == "second"
        and "nodeName" in seen.object["spec"]
    ]
    assert len(gone) == 1
    assert gone[0] < bound[0]


async def test_a_finalizer_keeps_a_pod(world: World) -> None:
    await world.add_nodes(1)
    kept = pod("kept")
    kept["metadata"]["finalizers"] = [KEPT]
    await world.create(kept, pod("control", exit_after_seconds="2"))
    await until_ready(world, "kept", "control")
    await delete(world, "kept", "control")
    await until_gone(world, "control")
    found = await world.api.get("Pod", world.name, "kept")
    assert "deletionTimestamp" in found["metadata"]
    await world.api.patch("Pod", world.name, "kept", {"metadata": {"finalizers": None}})
    await until_gone(world, "kept")
