"""Simulated kubelets do what testbed/stages.yaml says."""

import asyncio

from rescheduler import wire
from rescheduler.embedded import virtual_time
from rescheduler.model import conditions
from tests.unit.embedded.ground import NAMESPACE, PREFIX, Ground, on_ground, pod


@on_ground
async def test_a_pod_is_accepted_and_then_ready(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("web", does={"ready-after": "3s"})
    await asyncio.sleep(0.5)
    status = ground.pod("web")["status"]
    assert status["phase"] == "Pending"
    assert status["podIP"]
    assert status["startTime"]
    assert ground.waiting_for("web") == "ContainerCreating"
    await asyncio.sleep(2)
    assert not ground.is_ready("web")
    await asyncio.sleep(1)
    status = ground.pod("web")["status"]
    assert (status["phase"], ground.is_ready("web")) == ("Running", True)
    assert status["containerStatuses"][0]["ready"] is True
    assert conditions.holds(ground.pod("web"), "PodScheduled")


@on_ground
async def test_by_default_it_takes_a_moment(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("web")
    await asyncio.sleep(0.25)
    assert not ground.is_ready("web")
    await asyncio.sleep(0.25)
    assert ground.is_ready("web")


def test_start_up_times_are_drawn_from_a_range() -> None:
    async def main() -> None:
        with Ground(start_seconds=(2.0, 20.0)) as ground:
            await ground.nodes("a")
            for number in range(8):
                ground.create(f"p{number}", cpu="1m")
            await asyncio.sleep(2)
            assert not any(ground.is_ready(f"p{each}") for each in range(8))
            await asyncio.sleep(9)
            assert 0 < sum(ground.is_ready(f"p{each}") for each in range(8)) < 8
            await asyncio.sleep(10)
            assert all(ground.is_ready(f"p{each}") for each in range(8))

    virtual_time.run(main())


@on_ground
async def test_pods_that_never_become_ready(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("shy", does={"never-ready": "true"})
    ground.create("crashing", does={"crashes": "true"})
    ground.create("crashed", does={"crashes": "true"}, restartPolicy="Never")
    ground.create("imageless", image="registry.invalid/app:1")
    ground.create("unconfigured", image="x/lacks-config")
    await asyncio.sleep(0.35)
    assert ground.waiting_for("imageless") == "ErrImagePull"
    await asyncio.sleep(60)
    names = ("shy", "crashing", "crashed", "imageless", "unconfigured")
    assert not any(map(ground.is_ready, names))
    phases = [ground.pod(name)["status"]["phase"] for name in names]
    assert phases == ["Running", "Running", "Failed", "Pending", "Pending"]
    assert ground.waiting_for("crashing") == "CrashLoopBackOff"
    assert ground.waiting_for("imageless") == "ImagePullBackOff"
    assert ground.waiting_for("unconfigured") == "CreateContainerConfigError"


@on_ground
async def test_a_pod_that_flaps(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("web", does={"flap-after": "2s"})
    await asyncio.sleep(1)
    seen = []
    for _ in range(4):
        seen.append(ground.is_ready("web"))
        await asyncio.sleep(2.05)
    assert seen == [True, False, True, False]


@on_ground
async def test_a_pod_waits_for_its_readiness_gates(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("web", readinessGates=[{"conditionType": "served"}])
    await asyncio.sleep(2)
    version = ground.pod("web")["metadata"]["resourceVersion"]
    await asyncio.sleep(60)
    waiting = ground.pod("web")
    assert waiting["metadata"]["resourceVersion"] == version
    assert not ground.is_ready("web")
    assert conditions.holds(waiting, "ContainersReady")
    served = {"type": "served", "status": "True"}
    told = [*waiting["status"]["conditions"], served]
    ground.api.set_status(wire.PODS, waiting, {**waiting["status"], "conditions": told})
    await asyncio.sleep(1)
    assert ground.is_ready("web")


@on_ground
async def test_how_long_a_pod_takes_to_end(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("quick")
    ground.create("slow", does={"exit-after-seconds": "10"})
    ground.create("slower", does={"exit-after-seconds": "100"})
    ground.create("deaf", does={"ignores-sigterm": "true"}, terminationGracePeriodSeconds=20)
    names = ("quick", "slow", "slower", "deaf")
    await asyncio.sleep(1)
    for name in names:
        ground.delete(name)
    await asyncio.sleep(0.25)
    assert all(ground.find(name) for name in names)
    assert all(ground.is_ready(name) for name in names)
    left = []
    for seconds in (1, 9, 10, 10):
        await asyncio.sleep(seconds)
        left.append([name for name in names if ground.find(name)])
    assert left == [["slow", "slower", "deaf"], ["slower", "deaf"], ["slower"], []]


@on_ground
async def test_told_to_end_sooner_it_does(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("deaf", does={"ignores-sigterm": "true"})
    await asyncio.sleep(1)
    ground.delete("deaf")
    await asyncio.sleep(2)
    ground.delete("deaf", grace=5)
    await asyncio.sleep(4)
    assert ground.find("deaf") is None


@on_ground
async def test_a_pod_that_completes(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("once", does={"completes-after": "1m"}, restartPolicy="OnFailure")
    ground.create("always", does={"completes-after": "1m"})
    await asyncio.sleep(59)
    assert ground.is_ready("once")
    await asyncio.sleep(2)
    assert ground.pod("once")["status"]["phase"] == "Succeeded"
    assert not ground.is_ready("once")
    assert ground.pod("always")["status"]["phase"] == "Running"


@on_ground
async def test_on_a_hung_node_nothing_begins_and_what_has_begun_ends(ground: Ground) -> None:
    await ground.nodes("a")
    ground.create("idle")
    await asyncio.sleep(1)
    ground.create("starting", does={"ready-after": "5s"})
    await asyncio.sleep(1)
    ground.change_node("a", metadata={"labels": {PREFIX + "kubelet": "hung"}})
    ground.create("late")
    ground.delete("idle")
    await asyncio.sleep(10)
    assert ground.is_ready("starting")
    assert ground.find("idle") is not None
    assert ground.place("late") == "a"
    assert "podIP" not in ground.pod("late")["status"]
    ground.change_node("a", metadata={"labels": {PREFIX + "kubelet": "alive"}})
    await asyncio.sleep(1)
    assert ground.find("idle") is None
    assert ground.is_ready("late")


@on_ground
async def test_a_pod_with_a_finalizer_stays(ground: Ground) -> None:
    await ground.nodes("a")
    made = pod("web")
    made["metadata"]["finalizers"] = ["example.com/wait"]
    ground.api.create(wire.PODS, NAMESPACE, made)
    await asyncio.sleep(1)
    ground.delete("web")
    await asyncio.sleep(60)
    assert ground.find("web") is not None
    ground.api.patch(wire.PODS, NAMESPACE, "web", {"metadata": {"finalizers": None}})
    await asyncio.sleep(1)
    assert ground.find("web") is None


@on_ground
async def test_pods_are_refused_where_they_do_not_fit(ground: Ground) -> None:
    await ground.nodes("a", cpu="1", pods="3")
    ground.create("fits", nodeName="a", cpu="600m")
    await asyncio.sleep(1)
    ground.create("large", nodeName="a", cpu="600m")
    ground.create("lost", nodeName="a", cpu="1m", nodeSelector={"disk": "ssd"})
    await asyncio.sleep(1)
    assert ground.is_ready("fits")
    told = [ground.pod(name)["status"] for name in ("large", "lost")]
    assert [(each["phase"], each["reason"]) for each in told] == [
        ("Failed", "OutOfcpu"),
        ("Failed", "NodeAffinity"),
    ]
    assert told[0]["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, "
        "requested: 600, used: 600, capacity: 1000"
    )
    # Those that were refused hold nothing.
    ground.delete("fits", grace=0)
    await asyncio.sleep(1)
    ground.create("next", nodeName="a", cpu="900m")
    await asyncio.sleep(1)
    assert ground.is_ready("next")


@on_ground
async def test_a_node_has_what_a_kubelet_gives_it(ground: Ground) -> None:
    await ground.nodes("a")
    status = ground.node("a")["status"]
    told = {each["type"]: each["status"] for each in status["conditions"]}
    assert told["Ready"] == "True"
    assert told["MemoryPressure"] == "False"
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "Hostname"}
    assert status["allocatable"]["cpu"] == "4"
    ground.change_node("a", metadata={"annotations": {PREFIX + "down": "true"}})
    await asyncio.sleep(1)
    assert not conditions.holds(ground.node("a"), "Ready")
    ground.change_node("a", metadata={"annotations": {PREFIX + "down": None}})
    await asyncio.sleep(1)
    assert conditions.holds(ground.node("a"), "Ready")
