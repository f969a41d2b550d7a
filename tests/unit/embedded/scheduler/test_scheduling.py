"""Where pods go, in which order, and what those are told that can go nowhere."""

import asyncio
from typing import Any

from rescheduler import wire
from rescheduler.embedded import virtual_time
from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.support.node_cluster import NAMESPACE, NodeCluster, pod

AFTER = " no new claims to deallocate, preemption: 0/{n} nodes are available: "
NOT_HELPFUL = "{n} Preemption is not helpful for scheduling."


def pinned(*names: str) -> Object:
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in names
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def spread(when: str, **more: Any) -> Object:  # noqa: ANN401
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def away_from(app: str) -> Object:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}}


# ---------------------------------------------------------------------- words


async def test_a_pod_is_told_why_it_can_go_nowhere(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", cpu="1")
    await cluster.nodes("c")
    cluster.change_node("c", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await cluster.placed("large", cpu="2") == ""
    found = conditions.find(cluster.pod("large"), "PodScheduled")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    assert cluster.why_not("large") == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
        + AFTER.format(n=3)
        + NOT_HELPFUL.format(n=3)
    )
    assert cluster.pod("large")["status"]["phase"] == "Pending"


async def test_without_nodes(cluster: NodeCluster) -> None:
    assert await cluster.placed("web") == ""
    assert cluster.why_not("web") == "no nodes available to schedule pods"
    await cluster.nodes("a")
    assert cluster.place("web") == "a"


async def test_nobody_else_is_asked_about_a_pod_that_names_its_node(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", "c", cpu="1")
    assert await cluster.placed("pinned", **pinned("b")) == "b"
    assert await cluster.placed("large", cpu="800m", **pinned("b")) == ""
    assert cluster.why_not("large") == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
        + AFTER.format(n=3)
        + "1 No preemption victims found for incoming pod, "
        + NOT_HELPFUL.format(n=2)
    )
    assert await cluster.placed("either", cpu="800m", **pinned("b", "c")) == "c"


async def test_a_pod_whose_claim_is_missing(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    assert await cluster.placed("web", volumes=volumes) == ""
    # The last two words are the real one's, too.
    words = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
    assert cluster.why_not("web") == words
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none"},
    }
    cluster.api.create(wire.PERSISTENT_VOLUME_CLAIMS, NAMESPACE, claim)
    await asyncio.sleep(1)
    assert "pod has unbound immediate PersistentVolumeClaims" in cluster.why_not("web")


# ---------------------------------------------------------------------- turns


async def test_pods_of_others_and_those_that_are_held_back_are_left_alone(
    cluster: NodeCluster,
) -> None:
    await cluster.nodes("a")
    assert await cluster.placed("other", schedulerName="mine") == ""
    assert await cluster.placed("gated", schedulingGates=[{"name": "example.com/wait"}]) == ""
    cluster.api.patch(wire.PODS, NAMESPACE, "gated", {"spec": {"schedulingGates": None}})
    await asyncio.sleep(1)
    assert cluster.place("gated") == "a"
    assert cluster.place("other") == ""


async def test_the_important_come_first_and_then_the_old(cluster: NodeCluster) -> None:
    for name, value in (("high", 1000), ("low", 10)):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        cluster.api.create(wire.PRIORITY_CLASSES, None, body)
    for name in ("first", "second"):
        cluster.create(name)
    cluster.create("low", priorityClassName="low")
    cluster.create("high", priorityClassName="high")
    await asyncio.sleep(1)
    await cluster.nodes("a", cpu="1500m")
    await asyncio.sleep(10)
    placed = [name for name in ("first", "second", "low", "high") if cluster.place(name)]
    assert placed == ["first", "low", "high"]


async def test_a_pod_is_tried_again_when_room_is_made(cluster: NodeCluster) -> None:
    await cluster.nodes("a", cpu="1")
    assert await cluster.placed("old", cpu="800m") == "a"
    assert await cluster.placed("new", cpu="800m") == ""
    version = cluster.pod("new")["metadata"]["resourceVersion"]
    await asyncio.sleep(100)
    assert cluster.pod("new")["metadata"]["resourceVersion"] == version
    cluster.delete("old")
    await asyncio.sleep(0.5)
    assert cluster.place("new") == "a"


async def test_a_pod_is_tried_again_when_its_node_is_uncordoned(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    cluster.change_node("a", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await cluster.placed("web") == ""
    cluster.change_node("a", spec={"unschedulable": False})
    await asyncio.sleep(0.5)
    assert cluster.place("web") == "a"


async def test_a_pod_is_tried_again_when_its_neighbour_leaves(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    assert await cluster.placed("db") == "a"
    assert await cluster.placed("web", **away_from("db")) == ""
    assert "1 node(s) didn't match pod anti-affinity rules" in cluster.why_not("web")
    cluster.delete("db")
    await asyncio.sleep(1)
    assert cluster.place("web") == "a"
    assert await cluster.placed("db2", labels={"app": "db"}) == ""
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in cluster.why_not("db2")


# ---------------------------------------------------------------------- scores


async def test_the_emptiest_node_is_taken(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", "c")
    for name, node in (("x", "a"), ("y", "b")):
        await cluster.placed(name, cpu="1", **pinned(node))
    assert await cluster.placed("web") == "c"


async def test_pods_of_one_service_are_spread_over_hosts(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", "c", cpu="16", memory="64Gi")
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": []}}
    cluster.api.create(wire.SERVICES, NAMESPACE, body)
    places = [await cluster.placed(f"w{n}", labels={"app": "web"}, cpu="10m") for n in range(9)]
    assert sorted(places) == [*"aaa", *"bbb", *"ccc"]


async def test_wishes_about_zones_nodes_and_taints(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", zone="z1")
    await cluster.nodes("c", zone="z2")
    places = [
        await cluster.placed(f"w{n}", labels={"app": "web"}, **spread("ScheduleAnyway"))
        for n in range(4)
    ]
    assert places.count("c") == 2
    preference = {
        "weight": 100,
        "preference": {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["c"]}
            ]
        },
    }
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}
    assert await cluster.placed("rather", affinity={"nodeAffinity": wish}) == "c"
    nothing = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    assert await cluster.placed("anywhere", affinity={"nodeAffinity": nothing})
    for name in ("a", "b"):
        taint = {"key": "x", "value": "y", "effect": "PreferNoSchedule"}
        cluster.change_node(name, spec={"taints": [taint]})
    assert await cluster.placed("averse") == "c"


async def test_a_pod_goes_near_whom_it_likes(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", "c")
    await cluster.placed("db", cpu="1", **pinned("b"))
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    wish = [{"weight": 100, "podAffinityTerm": term}]
    near = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    far = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    assert await cluster.placed("friend", affinity=near) == "b"
    await cluster.placed("weight", cpu="2", **pinned("a"))
    assert await cluster.placed("foe", affinity=far) == "c"


# ---------------------------------------------------------------------- spread that must hold


async def test_zones_are_kept_even(cluster: NodeCluster) -> None:
    await cluster.nodes("a", zone="z1")
    await cluster.nodes("b", zone="z2", cpu="600m")
    hard = spread("DoNotSchedule")
    places = [await cluster.placed(f"w{n}", labels={"app": "web"}, **hard) for n in range(3)]
    assert places in (["a", "b", "a"], ["b", "a", "a"])
    assert await cluster.placed("w3", labels={"app": "web"}, **hard) == ""
    assert "1 node(s) didn't match pod topology spread constraints" in cluster.why_not("w3")
    # One that leaves counts no more.
    cluster.delete(next(f"w{n}" for n in range(3) if cluster.place(f"w{n}") == "a"))
    await asyncio.sleep(1)
    assert cluster.place("w3") == "a"


# ---------------------------------------------------------------------- repeatable


def test_the_same_seed_gives_the_same_history() -> None:
    def history() -> list[str]:
        places: list[str] = []

        async def main() -> None:
            with NodeCluster() as cluster:
                await cluster.nodes(*(f"n{each}" for each in range(12)))
                for number in range(40):
                    cluster.api.create(wire.PODS, NAMESPACE, pod(f"p{number}", cpu="100m"))
                await asyncio.sleep(5)
                places.extend(cluster.place(f"p{number}") for number in range(40))

        virtual_time.run(main())
        return places

    assert history() == history()
