"""The process is killed before and after every write, and loses the reply to it, in every way of
moving a pod: in the end each migration is Completed or Failed, the number of pods is right, and
nothing of ours is left over.

All of them run on the embedded cluster. For a real one they are many: CI runs a few, drawn anew
each time, and `make crash-matrix` all.
"""

import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import pytest

from testbed.audit import Audit, is_ready
from testbed.builders import budget, deployment, pod, service, workload
from testbed.faultproxy import drop_reply, kill, nth_write
from tests.scenarios.asking import ask
from tests.scenarios.drawing import drawn
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left
from tests.scenarios.looping import cleanup
from tests.scenarios.world import World

When = Literal["before", "after", "reply lost"]

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

CASES = [
    pytest.param(name, number, when, id=f"{name}-{number}-{when.replace(' ', '-')}")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for when in get_args(When)
]


@pytest.mark.parametrize("name", WAYS)
async def test_it_takes_these_writes(world: World, name: str) -> None:
    """The matrix disturbs each of them, so the list must be true."""
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        run = await world.run(**SETTINGS)
        audit = await world.audit(auditor)
    assert run.code == way.code, run
    made = [write.permission for write in audit.writes()]
    print(f"{name}: {len(made)} writes for {len(way.apps)} migrations: {made}")  # noqa: T201
    least, most = way.writes
    assert least <= len(made) <= most, made
    await assert_it_ended_well(world, way, audit)


@pytest.mark.parametrize(("name", "number", "when"), drawn(CASES, matrix="CRASH", share=1 / 60))
async def test_disturbed_at_a_write_it_ends_all_the_same(
    world: World, name: str, number: int, when: When
) -> None:
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**SETTINGS)
            fault = drop_reply() if when == "reply lost" else kill(process, when=when)
            rule = proxy.on(nth_write(number), fault, times=1)
            first = await process.finish()
        second = await world.run(**SETTINGS)
        audit = await world.audit(auditor)
    # Some writes are not always needed; then there are fewer to be disturbed at.
    assert rule.fired or number > way.writes[0], first
    assert first.code == (-signal.SIGKILL if rule.fired and when != "reply lost" else way.code)
    assert second.code in (0, way.code), second
    await assert_it_ended_well(world, way, audit)


CANCELLED_CASES = [
    pytest.param(name, number, when, how, id=f"{name}-{number}-{when}-{how}")
    for name, way in WAYS.items()
    for number in range(1, way.writes[1] + 1)
    for when in ("before", "after")
    for how in ("run", "cleanup")
]


@pytest.mark.parametrize(
    ("name", "number", "when", "how"), drawn(CANCELLED_CASES, matrix="CRASH", share=1 / 120)
)
async def test_killed_at_a_write_and_cancelled_nothing_is_left(
    world: World, name: str, number: int, when: Literal["before", "after"], how: str
) -> None:
    """Nobody knows of the migration any more but by what it has made and marked."""
    way = WAYS[name]
    await set_stage_for(world, way)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**SETTINGS)
            rule = proxy.on(nth_write(number), kill(process, when=when), times=1)
            await process.finish()
        for record in await world.records():
            await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
        ended = await (cleanup if how == "cleanup" else World.run)(world, **SETTINGS)
        await _wait_until_complete(world, way)
        audit = await world.audit(auditor)
    assert rule.fired or number > way.writes[0]
    assert ended.code == 0, ended
    await _assert_the_number_is_right(world, way, audit)


# ---------------------------------------------------------------------- before and after


async def set_stage_for(world: World, way: Way) -> None:
    full, empty = await world.add_nodes(2)
    await way.deploy_web(world, full, empty)
    if way.afflicted:
        await world.afflict_copies(**way.afflicted)
    for app in way.apps:
        pods = sorted(await world.pods(app), key=lambda each: str(each["metadata"]["name"]))
        await ask(world, pods[0], empty, **way.asked)


async def assert_it_ended_well(world: World, way: Way, audit: Audit) -> None:
    await _wait_until_complete(world, way)
    moved = 1 if way.ends == "Completed" else 0
    for app in way.apps:
        assert (await world.nodes_of(app)).count(world.nodes[1]) == moved
    phases = [record["status"]["phase"] for record in await world.records()]
    assert phases == [way.ends] * len(way.apps)
    await _assert_the_number_is_right(world, way, audit)


async def _wait_until_complete(world: World, way: Way) -> None:
    for app in way.apps:
        await world.wait(f"{app} is complete", partial(_is_complete, world, app))


async def _assert_the_number_is_right(world: World, way: Way, audit: Audit) -> None:
    for app in way.apps:
        before = [pod for pod in audit.pods_before() if pod.startswith(app)]
        assert len(await world.nodes_of(app)) == len(before)
    if not way.is_noticed:
        assert_nobody_noticed(audit)
    temporary = "-rescheduler-pdb"
    assert [each for each in audit.changed_objects() if temporary not in each] == []
    await assert_nothing_of_ours_is_left(world)


async def _is_complete(world: World, app: str) -> bool:
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        if await world.api.find(kind, world.name, app):
            return await world.is_complete(app, kind)
    pods = await world.pods(app)
    return len(pods) == 1 and is_ready(pods[0])
