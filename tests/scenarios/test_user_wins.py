"""Each action of a user at each step of a migration: a write of ours is held on its way, the user
acts, the cluster takes notice, and then the write arrives.

In the end the cluster shows what the user wants, the number of pods is right, nothing of ours is
left, and no pod was missing beyond what the user's own action explains. All cases are many: CI runs
a part of them, drawn anew each time; with USER_MATRIX=all in the environment, all are run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from testbed.api import ApiError
from testbed.audit import Audit
from testbed.builders import budget, deployment, pod, service, workload
from testbed.faultproxy import Fault, Faults, Match, hold, hold_events, nth_write
from testbed.scenarios import POLL_SECONDS, Run
from tests.scenarios.asking import ask
from tests.scenarios.drawing import drawn
from tests.scenarios.judging import assert_nothing_of_ours_is_left
from tests.scenarios.one_migration import assert_nobody_was_harmed, story
from tests.scenarios.user_actions import (
    OF_COPY,
    OF_STEERING,
    OF_SURGE,
    Action,
    Scene,
    copies,
    is_as_wanted,
)
from tests.scenarios.world import World

SETTINGS = {
    "enabledStrategies": [],
    "pods": {"barePods": "Allowed"},
    "migration": {
        "readyTimeout": "10s",
        "budgetTimeout": "2s",
        "steerTimeout": "5s",
        "retry": {"attempts": 1},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    deploy_web: Callable[[World, str, str], Awaitable[None]]
    kind: str
    replicas: int
    writes: int
    """That are made when nobody disturbs."""
    no_return: int
    """The number of the write by which the last step was decided: it is written down first."""
    actions: dict[str, Action]
    asked: dict[str, Any] = field(default_factory=dict)
    ends: frozenset[str] = frozenset({"Completed"})
    loses: int = 0
    """How many Ready pods the move itself costs for a while."""


async def _deployment(world: World, full: str, _: str) -> None:
    await world.create(service("web"), budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=2), on=full)


async def _standalone(world: World, full: str, _: str) -> None:
    await world.create(service("web"), budget("web", minAvailable=1))
    await world.place(lambda: pod("web"), on=full)


async def _stateful_set(world: World, full: str, _: str) -> None:
    await world.create(service("web"))
    await world.deploy(workload("StatefulSet", "web", replicas=2, serviceName="web"), on=full)


WAYS = {
    "surge": Way(
        deploy_web=_deployment,
        kind="Deployment",
        replicas=2,
        writes=11,
        no_return=10,
        actions=OF_SURGE,
    ),
    "copy": Way(
        deploy_web=_standalone,
        kind="Pod",
        replicas=1,
        writes=12,
        no_return=8,
        actions=OF_COPY,
    ),
    "recreate": Way(
        deploy_web=_stateful_set,
        kind="StatefulSet",
        replicas=2,
        writes=14,
        no_return=8,
        actions=OF_STEERING,
        asked={"mayRecreate": True},
        ends=frozenset({"Completed", "LandedElsewhere"}),
        loses=1,
    ),
}
_FIRST_WITH_COPY = 5


def _cases() -> list[Any]:
    return [
        pytest.param(name, does, number, id=f"{name}-{number}-{does}")
        for name, way in WAYS.items()
        for does, action in way.actions.items()
        for number in range(1, way.writes + 1)
        if (number >= _FIRST_WITH_COPY or not action.needs_copy)
        and (number < way.no_return or not action.is_early)
    ]


@pytest.mark.parametrize(("name", "does", "number"), drawn(_cases(), matrix="USER", share=1 / 48))
async def test_the_user_wins(world: World, name: str, does: str, number: int) -> None:
    await _meanwhile(world, WAYS[name], WAYS[name].actions[does], number)


@pytest.mark.parametrize(
    "does",
    drawn(
        ["roll-out", "scale-to-0", "delete-original", "delete-copy", "second-budget"],
        matrix="USER",
        share=2 / 5,
    ),
)
async def test_the_user_wins_though_no_watch_tells_of_it(world: World, does: str) -> None:
    """What is old news is read anew before it decides anything that cannot be taken back."""
    action = WAYS["surge"].actions[does]
    await _meanwhile(world, WAYS["surge"], action, _FIRST_WITH_COPY, silent=_watches(world))


async def test_who_cancels_while_the_original_is_evicted_comes_too_late(world: World) -> None:
    """No watch has told yet that it leaves: the copy is all there is of it by then."""
    way, tells = WAYS["copy"], asyncio.Event()
    tells.set()

    async def cancel(scene: Scene) -> None:
        tells.clear()
        await way.actions["cancel"].act(scene)

    action = replace(way.actions["cancel"], act=cancel)
    silent = _watches(world, "pods", tells)
    await _meanwhile(world, way, action, way.no_return + 1, silent=silent)


def _watches(
    world: World, resource: str | None = None, tells: asyncio.Event | None = None
) -> tuple[Match, Fault]:
    """Of its namespace, which tell nothing until the event is set."""
    watches = Match(verb="watch", namespace=world.name, resource=resource)
    return watches, hold_events(tells or asyncio.Event())


async def _meanwhile(
    world: World,
    way: Way,
    action: Action,
    number: int,
    *,
    silent: tuple[Match, Fault] | None = None,
) -> None:
    full, empty = await world.add_nodes(2)
    await way.deploy_web(world, full, empty)
    pods = sorted(await world.pods("web"), key=lambda each: str(each["metadata"]["name"]))
    scene = Scene(world=world, kind=way.kind, original=pods[-1], target=empty)
    await ask(world, pods[-1], empty, **way.asked)
    async with world.auditor() as auditor, world.faults() as proxy:
        if silent is not None:
            proxy.on(*silent)
        run = await _disturbed(proxy, scene, action, number)
        assert run.code in (0, 1), run
        await _come_to_rest(scene, way, action, run)
        audit = await world.audit(auditor)
    await _assert_it_ended_well(scene, way, action, number, run)
    _assert_nobody_else_was_harmed(way, action, audit)


async def _disturbed(proxy: Faults, scene: Scene, action: Action, number: int) -> Run:
    let_go = asyncio.Event()
    rule = proxy.on(nth_write(number), hold(let_go), times=1)
    process = await scene.world.start(**SETTINGS)
    ending = asyncio.create_task(process.finish(within=action.within))
    held = asyncio.create_task(rule.wait_fired(within=60))
    try:
        await asyncio.wait([ending, held], return_when=asyncio.FIRST_COMPLETED)
        assert rule.fired, story(await ending, f"there is no write {number}")
        await action.act(scene)
        let_go.set()
        return await ending
    finally:
        let_go.set()
        held.cancel()
        await asyncio.gather(ending, held, return_exceptions=True)


# ---------------------------------------------------------------------- judging


async def _come_to_rest(scene: Scene, way: Way, action: Action, run: Run) -> None:
    wanted = way.replicas if action.pods is None else action.pods
    try:
        async with asyncio.timeout(action.within):
            while not await _is_at_rest(scene, action, wanted):  # noqa: ASYNC110 - as World.wait
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        pods = [each["metadata"]["name"] for each in await scene.world.pods("web")]
        raise AssertionError(story(run, f"{wanted} pods are wanted: {pods}")) from None


async def _is_at_rest(scene: Scene, action: Action, wanted: int) -> bool:
    world = scene.world
    pods = await world.pods("web")
    if len(pods) != wanted or not all(is_as_wanted(each, action) for each in pods):
        return False
    if action.forgets and await world.records():
        return False
    if scene.kind == "Pod" or not await world.api.find(scene.kind, world.name, "web"):
        return True
    try:
        return await world.is_complete("web", scene.kind)
    except ApiError:
        return False  # it has gone this very moment


async def _assert_it_ended_well(
    scene: Scene, way: Way, action: Action, number: int, run: Run
) -> None:
    records = await scene.world.records()
    is_in_time = action.stops and number < min(way.no_return, action.stops_before)
    if action.forgets:
        assert records == []
    else:
        [status] = [record["status"] for record in records]
        fitting = {"Completed": way.ends, "Failed": action.reasons}[status["phase"]]
        assert status["reason"] in fitting, story(run, status)
        assert not (is_in_time and status["phase"] == "Completed"), story(run, status)
    assert not (is_in_time and await copies(scene)), story(run)
    await assert_nothing_of_ours_is_left(scene.world)


def _assert_nobody_else_was_harmed(way: Way, action: Action, audit: Audit) -> None:
    wanted = way.replicas if action.pods is None else action.pods
    fewest = min(way.replicas, wanted) - action.loses - way.loses
    assert_nobody_was_harmed(audit, fewest=fewest, changes=action.changes)
