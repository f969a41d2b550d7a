"""Where pods go, in which order, and what those are told that can go nowhere."""

import asyncio
from typing import Any

from rescheduler import wire
from rescheduler.kube import Object
from rescheduler.model import conditions
from tests.unit.embedded.ground import NAMESPACE, Ground, on_ground, pod

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


@on_ground
async def test_a_pod_is_told_why_it_can_go_nowhere(ground: Ground) -> None:
    await ground.nodes("a", "b", cpu="1")
    await ground.nodes("c")
    ground.change_node("c", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await ground.placed("large", cpu="2") == ""
    found = conditions.find(ground.pod("large"), "PodScheduled")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    assert ground.why_not("large") == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
        + AFTER.format(n=3)
        + NOT_HELPFUL.format(n=3)
    )
    assert ground.pod("large")["status"]["phase"] == "Pending"


@on_ground
async def test_without_nodes(ground: Ground) -> None:
    assert await ground.placed("web") == ""
    assert ground.why_not("web") == "no nodes available to schedule pods"
    await ground.nodes("a")
    assert ground.place("web") == "a"


@on_ground
async def test_nobody_else_is_asked_about_a_pod_that_names_its_node(ground: Ground) -> None:
    await ground.nodes("a", "b", "c", cpu="1")
    assert await ground.placed("pinned", **pinned("b")) == "b"
    assert await ground.placed("large", cpu="800m", **pinned("b")) == ""
    assert ground.why_not("large") == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
        + AFTER.format(n=3)
        + "1 No preemption victims found for incoming pod, "
        + NOT_HELPFUL.format(n=2)
    )
    assert await ground.placed("either", cpu="800m", **pinned("b", "c")) == "c"


@on_ground
async def test_a_pod_whose_claim_is_missing(ground: Ground) -> None:
    await ground.nodes("a")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    assert await ground.placed("web", volumes=volumes) == ""
    # The last two words are the real one's, too.
    words = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
    assert ground.why_not("web") == words
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none"},
    }
    ground.api.create(wire.PERSISTENT_VOLUME_CLAIMS, NAMESPACE, claim)
    await asyncio.sleep(1)
    assert "pod has unbound immediate PersistentVolumeClaims" in ground.why_not("web")


# ---------------------------------------------------------------------- turns


@on_ground
async def test_pods_of_others_and_those_that_are_held_back_are_left_alone(ground: Ground) -> None:
    await ground.nodes("a")
    assert await ground.placed("other", schedulerName="mine") == ""
    assert await ground.placed("gated", schedulingGates=[{"name": "example.com/wait"}]) == ""
    ground.api.patch(wire.PODS, NAMESPACE, "gated", {"spec": {"schedulingGates": None}})
    await asyncio.sleep(1)
    assert ground.place("gated") == "a"
    assert ground.place("other") == ""


@on_ground
async def test_the_important_come_first_and_then_the_old(ground: Ground) -> None:
    for name, value in (("high", 1000), ("low", 10)):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        ground.api.create(wire.PRIORITY_CLASSES, None, body)
    for name in ("first", "second"):
        ground.create(name)
    ground.create("low", priorityClassName="low")
    ground.create("high", priorityClassName="high")
    await asyncio.sleep(1)
    await ground.nodes("a", cpu="1500m")
    await asyncio.sleep(10)
    placed = [name for name in ("first", "second", "low", "high") if ground.place(name)]
    assert placed == ["first", "low", "high"]


@on_ground
async def test_a_pod_is_tried_again_when_room_is_made(ground: Ground) -> None:
    await ground.nodes("a", cpu="1")
    assert await ground.placed("old", cpu="800m") == "a"
    assert await ground.placed("new", cpu="800m") == ""
    version = ground.pod("new")["metadata"]["resourceVersion"]
    await asyncio.sleep(100)
    assert ground.pod("new")["metadata"]["resourceVersion"] == version
    ground.delete("old")
    await asyncio.sleep(0.5)
    assert ground.place("new") == "a"


@on_ground
async def test_a_pod_is_tried_again_when_its_node_is_uncordoned(ground: Ground) -> None:
    await ground.nodes("a")
    ground.change_node("a", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await ground.placed("web") == ""
    ground.change_node("a", spec={"unschedulable": False})
    await asyncio.sleep(0.5)
    assert ground.place("web") == "a"


@on_ground
async def test_a_pod_is_tried_again_when_its_neighbour_leaves(ground: Ground) -> None:
    await ground.nodes("a")
    assert await ground.placed("db") == "a"
    assert await ground.placed("web", **away_from("db")) == ""
    assert "1 node(s) didn't match pod anti-affinity rules" in ground.why_not("web")
    ground.delete("db")
    await asyncio.sleep(1)
    assert ground.place("web") == "a"
    assert await ground.placed("db2", labels={"app": "db"}) == ""
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in ground.why_not("db2")


# ---------------------------------------------------------------------- scores


@on_ground
async def test_the_emptiest_node_is_taken(ground: Ground) -> None:
    await ground.nodes("a", "b", "c")
    for name, node in (("x", "a"), ("y", "b")):
        await ground.placed(name, cpu="1", **pinned(node))
    assert await ground.placed("web") == "c"


@on_ground
async def test_pods_of_one_service_are_spread_over_hosts(ground: Ground) -> None:
    await ground.nodes("a", "b", "c", cpu="16", memory="64Gi")
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": []}}
    ground.api.create(wire.SERVICES, NAMESPACE, body)
    places = [await ground.placed(f"w{n}", labels={"app": "web"}, cpu="10m") for n in range(9)]
    assert sorted(places) == [*"aaa", *"bbb", *"ccc"]


@on_ground
async def test_wishes_about_zones_nodes_and_taints(ground: Ground) -> None:
    await ground.nodes("a", "b", zone="z1")
    await ground.nodes("c", zone="z2")
    places = [
        await ground.placed(f"w{n}", labels={"app": "web"}, **spread("ScheduleAnyway"))
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
    assert await ground.placed("rather", affinity={"nodeAffinity": wish}) == "c"
    nothing = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    assert await ground.placed("anywhere", affinity={"nodeAffinity": nothing})
    for name in ("a", "b"):
        taint = {"key": "x", "value": "y", "effect": "PreferNoSchedule"}
        ground.change_node(name, spec={"taints": [taint]})
    assert await ground.placed("averse") == "c"


@on_ground
async def test_a_pod_goes_near_whom_it_likes(ground: Ground) -> None:
    await ground.nodes("a", "b", "c")
    await ground.placed("db", cpu="1", **pinned("b"))
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    wish = [{"weight": 100, "podAffinityTerm": term}]
    near = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    far = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    assert await ground.placed("friend", affinity=near) == "b"
    await ground.placed("weight", cpu="2", **pinned("a"))
    assert await ground.placed("foe", affinity=far) == "c"


# ---------------------------------------------------------------------- spread that must hold


@on_ground
async def test_zones_are_kept_even(ground: Ground) -> None:
    await ground.nodes("a", zone="z1")
    await ground.nodes("b", zone="z2", cpu="600m")
    hard = spread("DoNotSchedule")
    places = [await ground.placed(f"w{n}", labels={"app": "web"}, **hard) for n in range(3)]
    assert places in (["a", "b", "a"], ["b", "a", "a"])
    assert await ground.placed("w3", labels={"app": "web"}, **hard) == ""
    assert "1 node(s) didn't match pod topology spread constraints" in ground.why_not("w3")
    # One that leaves counts no more.
    ground.delete(next(f"w{n}" for n in range(3) if ground.place(f"w{n}") == "a"))
    await asyncio.sleep(1)
    assert ground.place("w3") == "a"


# ---------------------------------------------------------------------- repeatable


def test_the_same_seed_gives_the_same_history() -> None:
    def history() -> list[str]:
        places: list[str] = []

        @on_ground
        async def run(ground: Ground) -> None:
            await ground.nodes(*(f"n{each}" for each in range(12)))
            for number in range(40):
                ground.api.create(wire.PODS, NAMESPACE, pod(f"p{number}", cpu="100m"))
            await asyncio.sleep(5)
            places.extend(ground.place(f"p{number}") for number in range(40))

        run()
        return places

    assert history() == history()
