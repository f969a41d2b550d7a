"""Every way of moving a pod, as matrices disturb it: what is there before, and how it must end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from testbed.builders import budget, deployment, pod, service, workload
from tests.scenarios.asking import ask
from tests.scenarios.world import World

SETTINGS = {
    "enabledStrategies": [],
    "pods": {"barePods": "Allowed"},
    "migration": {"readyTimeout": "15s", "steerTimeout": "5s", "retry": {"attempts": 1}},
}
Stage = Callable[[World, str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of moving a pod: what is there before, what is asked for, how it must end."""

    deploy_web: Stage
    """Called with the world, the node where all is, and the empty one."""
    apps: tuple[str, ...] = ("web",)
    asked: dict[str, Any] = field(default_factory=dict)
    afflicted: dict[str, str] = field(default_factory=dict)
    ends: str = "Completed"
    is_noticed: bool = False
    """Steered pods are away for a while."""
    writes: tuple[int, int]
    """How many are made at least and at most, when nothing goes wrong: the ReplicaSet may save us
    the eviction.
    """

    @property
    def code(self) -> int:
        return 0 if self.ends == "Completed" else 1


async def _deployment(world: World, full: str, _: str) -> None:
    await world.create(service("web"), budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=2), on=full)


async def _single(world: World, full: str, _: str) -> None:
    await world.create(service("web"), budget("web", minAvailable="100%"))
    await world.deploy(deployment("web", replicas=1), on=full)


async def _bare_replica_set(world: World, full: str, _: str) -> None:
    await world.create(service("web"))
    alone = workload("ReplicaSet", "web", labels={"track": "stable"}, replicas=2)
    await world.deploy(alone, on=full)


async def _blue_green(world: World, full: str, _: str) -> None:
    """The copy lacks a label that its Service goes by, as with Argo Rollouts."""
    active = service("web")
    active["spec"]["selector"]["hash"] = "6f9c"
    await world.create(active, budget("web", maxUnavailable=0))
    alone = workload("ReplicaSet", "web", labels={"hash": "6f9c"}, replicas=1)
    await world.deploy(alone, on=full)


async def _standalone(world: World, full: str, _: str) -> None:
    await world.create(service("web"))
    await world.place(lambda: pod("web"), on=full)


async def _stateful_set(world: World, full: str, _: str) -> None:
    await world.create(service("web"))
    await world.deploy(workload("StatefulSet", "web", replicas=2, serviceName="web"), on=full)


async def _recreated(world: World, full: str, _: str) -> None:
    made = deployment("web", replicas=2, strategy={"type": "Recreate"})
    await world.deploy(made, on=full)


async def _two_deployments(world: World, full: str, _: str) -> None:
    for app in ("web", "db"):
        await world.create(service(app), budget(app, maxUnavailable=0))
        await world.deploy(deployment(app, replicas=1), on=full)


WAYS = {
    "surge": Way(deploy_web=_deployment, writes=(11, 15)),
    "surge-of-one": Way(deploy_web=_single, writes=(11, 15)),
    "surge-of-a-bare-replica-set": Way(deploy_web=_bare_replica_set, writes=(11, 15)),
    "surge-of-an-endpoint-to-be": Way(deploy_web=_blue_green, writes=(9, 12)),
    "surge-taken-back": Way(
        deploy_web=_deployment, afflicted={"never_ready": "true"}, ends="Failed", writes=(9, 10)
    ),
    # Its copy fails while the original, out of its Services, finishes what it has.
    "surge-undone": Way(
        deploy_web=_deployment,
        asked={"settings": {"linger": "10s", "readyTimeout": "5s"}},
        afflicted={"flap_after": "4s"},
        ends="Failed",
        is_noticed=True,
        writes=(13, 20),
    ),
    "copy": Way(deploy_web=_standalone, writes=(12, 15)),
    "steer-a-stateful-set": Way(
        deploy_web=_stateful_set, asked={"mayRecreate": True}, is_noticed=True, writes=(14, 17)
    ),
    "steer-a-recreated-deployment": Way(
        deploy_web=_recreated, asked={"mayRecreate": True}, is_noticed=True, writes=(14, 18)
    ),
    "evict-unsteered": Way(
        deploy_web=_stateful_set,
        asked={"mayRecreate": True, "settings": {"coordination": False}},
        is_noticed=True,
        writes=(8, 11),
    ),
    "group": Way(
        deploy_web=_two_deployments,
        apps=("web", "db"),
        asked={"group": {"id": "shop", "size": 2}},
        writes=(22, 34),
    ),
}


async def set_stage_for(world: World, way: Way) -> None:
    full, empty = await world.add_nodes(2)
    await way.deploy_web(world, full, empty)
    if way.afflicted:
        await world.afflict_copies(**way.afflicted)
    for app in way.apps:
        pods = sorted(await world.pods(app), key=lambda each: str(each["metadata"]["name"]))
        await ask(world, pods[0], empty, **way.asked)
