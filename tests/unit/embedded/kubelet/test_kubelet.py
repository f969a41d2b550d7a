"""Simulated kubelets do what testbed/stages.yaml says."""

import asyncio

from rescheduler import wire
from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import (
    NAMESPACE,
    PREFIX,
    NodeCluster,
    pod,
)


async def test_a_pod_is_accepted_and_then_ready(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("web", does={"ready-after": "3s"})
    await asyncio.sleep(0.5)
    status = cluster.pod("web")["status"]
    assert status["phase"] == "Pending"
    assert status["podIP"]
    assert status["startTime"]
    assert cluster.waiting_for("web") == "ContainerCreating"
    await asyncio.sleep(2)
    assert not cluster.is_ready("web")
    await asyncio.sleep(1)
    status = cluster.pod("web")["status"]
    assert (status["phase"], cluster.is_ready("web")) == ("Running", True)
    assert status["containerStatuses"][0]["ready"] is True
    assert conditions.holds(cluster.pod("web"), "PodScheduled")


async def test_by_default_it_takes_a_moment(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("web")
    await asyncio.sleep(0.25)
    assert not cluster.is_ready("web")
    await asyncio.sleep(0.25)
    assert cluster.is_ready("web")


async def test_start_up_times_are_drawn_from_a_range() -> None:
    with NodeCluster(start_seconds=(2.0, 20.0)) as cluster:
        await cluster.nodes("a")
        for number in range(8):
            cluster.create(f"p{number}", cpu="1m")
        await asyncio.sleep(2)
        assert not any(cluster.is_ready(f"p{each}") for each in range(8))
        await asyncio.sleep(9)
        assert 0 < sum(cluster.is_ready(f"p{each}") for each in range(8)) < 8
        await asyncio.sleep(10)
        assert all(cluster.is_ready(f"p{each}") for each in range(8))


async def test_pods_that_never_become_ready(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("shy", does={"never-ready": "true"})
    cluster.create("crashing", does={"crashes": "true"})
    cluster.create("crashed", does={"crashes": "true"}, restartPolicy="Never")
    cluster.create("imageless", image="registry.invalid/app:1")
    cluster.create("unconfigured", image="x/lacks-config")
    await asyncio.sleep(0.35)
    assert cluster.waiting_for("imageless") == "ErrImagePull"
    await asyncio.sleep(60)
    names = ("shy", "crashing", "crashed", "imageless", "unconfigured")
    assert not any(map(cluster.is_ready, names))
    phases = [cluster.pod(name)["status"]["phase"] for name in names]
    assert phases == ["Running", "Running", "Failed", "Pending", "Pending"]
    assert cluster.waiting_for("crashing") == "CrashLoopBackOff"
    assert cluster.waiting_for("imageless") == "ImagePullBackOff"
    assert cluster.waiting_for("unconfigured") == "CreateContainerConfigError"


async def test_a_pod_that_flaps(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("web", does={"flap-after": "2s"})
    await asyncio.sleep(1)
    seen = []
    for _ in range(4):
        seen.append(cluster.is_ready("web"))
        await asyncio.sleep(2.05)
    assert seen == [True, False, True, False]


async def test_a_pod_waits_for_its_readiness_gates(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("web", readinessGates=[{"conditionType": "served"}])
    await asyncio.sleep(2)
    version = cluster.pod("web")["metadata"]["resourceVersion"]
    await asyncio.sleep(60)
    waiting = cluster.pod("web")
    assert waiting["metadata"]["resourceVersion"] == version
    assert not cluster.is_ready("web")
    assert conditions.holds(waiting, "ContainersReady")
    served = {"type": "served", "status": "True"}
    told = [*waiting["status"]["conditions"], served]
    cluster.api.set_status(wire.PODS, waiting, {**waiting["status"], "conditions": told})
    await asyncio.sleep(1)
    assert cluster.is_ready("web")


async def test_how_long_a_pod_takes_to_end(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("quick")
    cluster.create("slow", does={"exit-after-seconds": "10"})
    cluster.create("slower", does={"exit-after-seconds": "100"})
    cluster.create("deaf", does={"ignores-sigterm": "true"}, terminationGracePeriodSeconds=20)
    names = ("quick", "slow", "slower", "deaf")
    await asyncio.sleep(1)
    for name in names:
        cluster.delete(name)
    await asyncio.sleep(0.25)
    assert all(cluster.find(name) for name in names)
    assert all(cluster.is_ready(name) for name in names)
    left = []
    for seconds in (1, 9, 10, 10):
        await asyncio.sleep(seconds)
        left.append([name for name in names if cluster.find(name)])
    assert left == [["slow", "slower", "deaf"], ["slower", "deaf"], ["slower"], []]


async def test_told_to_end_sooner_it_does(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("deaf", does={"ignores-sigterm": "true"})
    await asyncio.sleep(1)
    cluster.delete("deaf")
    await asyncio.sleep(2)
    cluster.delete("deaf", grace=5)
    await asyncio.sleep(4)
    assert cluster.find("deaf") is None


async def test_a_pod_that_completes(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("once", does={"completes-after": "1m"}, restartPolicy="OnFailure")
    cluster.create("always", does={"completes-after": "1m"})
    await asyncio.sleep(59)
    assert cluster.is_ready("once")
    await asyncio.sleep(2)
    assert cluster.pod("once")["status"]["phase"] == "Succeeded"
    assert not cluster.is_ready("once")
    assert cluster.pod("always")["status"]["phase"] == "Running"


async def test_on_a_hung_node_nothing_begins_and_what_has_begun_ends(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.create("idle")
    await asyncio.sleep(1)
    cluster.create("starting", does={"ready-after": "5s"})
    await asyncio.sleep(1)
    cluster.change_node("a", metadata={"labels": {PREFIX + "kubelet": "hung"}})
    cluster.create("late")
    cluster.delete("idle")
    await asyncio.sleep(10)
    assert cluster.is_ready("starting")
    assert cluster.find("idle") is not None
    assert cluster.place("late") == "a"
    assert "podIP" not in cluster.pod("late")["status"]
    cluster.change_node("a", metadata={"labels": {PREFIX + "kubelet": "alive"}})
    await asyncio.sleep(1)
    assert cluster.find("idle") is None
    assert cluster.is_ready("late")


async def test_a_pod_with_a_finalizer_stays(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    made = pod("web")
    made["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.api.create(wire.PODS, NAMESPACE, made)
    await asyncio.sleep(1)
    cluster.delete("web")
    await asyncio.sleep(60)
    assert cluster.find("web") is not None
    cluster.api.patch(wire.PODS, NAMESPACE, "web", {"metadata": {"finalizers": None}})
    await asyncio.sleep(1)
    assert cluster.find("web") is None


async def test_pods_are_refused_where_they_do_not_fit(cluster: NodeCluster) -> None:
    await cluster.nodes("a", cpu="1", pods="3")
    cluster.create("fits", nodeName="a", cpu="600m")
    await asyncio.sleep(1)
    cluster.create("large", nodeName="a", cpu="600m")
    cluster.create("lost", nodeName="a", cpu="1m", nodeSelector={"disk": "ssd"})
    await asyncio.sleep(1)
    assert cluster.is_ready("fits")
    told = [cluster.pod(name)["status"] for name in ("large", "lost")]
    assert [(each["phase"], each["reason"]) for each in told] == [
        ("Failed", "OutOfcpu"),
        ("Failed", "NodeAffinity"),
    ]
    assert told[0]["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, "
        "requested: 600, used: 600, capacity: 1000"
    )
    # Those that were refused hold nothing.
    cluster.delete("fits", grace=0)
    await asyncio.sleep(1)
    cluster.create("next", nodeName="a", cpu="900m")
    await asyncio.sleep(1)
    assert cluster.is_ready("next")


async def test_a_node_has_what_a_kubelet_gives_it(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    status = cluster.node("a")["status"]
    told = {each["type"]: each["status"] for each in status["conditions"]}
    assert told["Ready"] == "True"
    assert told["MemoryPressure"] == "False"
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "Hostname"}
    assert status["allocatable"]["cpu"] == "4"
    cluster.change_node("a", metadata={"annotations": {PREFIX + "down": "true"}})
    await asyncio.sleep(1)
    assert not conditions.holds(cluster.node("a"), "Ready")
    cluster.change_node("a", metadata={"annotations": {PREFIX + "down": None}})
    await asyncio.sleep(1)
    assert conditions.holds(cluster.node("a"), "Ready")
