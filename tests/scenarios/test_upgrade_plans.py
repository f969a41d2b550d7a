"""Plans that every released version has left in a cluster, in each phase, today's code brings to
their end, shows, and takes back: taken up at once, or when their time has long run out.

All of them run on the embedded cluster; of a real one each case needs its own, so few are drawn.
"""

import json
from datetime import timedelta

import pytest
import yaml

from rescheduler.model import reschedule_plan
from rescheduler.model.reschedule_plan import Decision, Origin, Phase, Reason, State, Verdict
from testbed.api import Object
from tests.scenarios import left_behind
from tests.scenarios.drawing import drawn
from tests.scenarios.every_plan import NEVER_READY, ONLY_THIS, STORIES
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left
from tests.scenarios.left_behind import PLANS, Scene
from tests.scenarios.looping import cleanup
from tests.scenarios.own_cluster import OwnCluster
from tests.scenarios.planning import command, name_of, phase_of, plans
from tests.scenarios.world import World

AGO = {"at-once": timedelta(0), "hours-later": timedelta(hours=2)}
SETTINGS = {**ONLY_THIS, "migration": {"readyTimeout": "30s", "retry": {"attempts": 1}}}


def scenes(version: str) -> list[Scene]:
    return [
        scene
        for story in left_behind.stories(version)
        for scene in left_behind.scenes(version, story, PLANS)
    ]


def plans_in(scene: Scene) -> list[Object]:
    return [each for each in scene.objects if each["kind"] == "ReschedulePlan"]


def of_each_state(found: list[Scene]) -> list[Scene]:
    """One of those in which plans and their migrations stand alike: `test_upgrade` has the rest."""
    alike: dict[str, Scene] = {}
    for scene in found:
        if known := plans_in(scene):
            stand = [(each["metadata"].get("annotations"), each.get("status")) for each in known]
            alike.setdefault(json.dumps([scene.way, stand, scene.steps]), scene)
    return list(alike.values())


CASES = [
    pytest.param(scene, how, id=f"{version}-{scene.way}-{scene.number}-{how}")
    for version in left_behind.VERSIONS
    for scene in of_each_state(scenes(version))
    if left_behind.is_news(version, scene.way, PLANS)
    for how in (*AGO, "cleanup")
]


@pytest.mark.parametrize("version", left_behind.VERSIONS)
def test_there_is_one_of_each_state(version: str) -> None:
    found = [each for scene in scenes(version) for each in plans_in(scene)]
    assert {reschedule_plan.phase_of(each) for each in found} == set(Phase)
    assert {reschedule_plan.reason_of(each) for each in found} == {"", *Reason}
    assert {reschedule_plan.origin_of(each) for each in found} == set(Origin)
    assert {reschedule_plan.decision_of(each) for each in found} == {None, *Decision}
    states = {
        progress.state for each in found for progress in reschedule_plan.progress_of(each).values()
    }
    assert states == set(State)
    assert Verdict.AS_PREDICTED in {reschedule_plan.verdict_of(each) for each in found}


@pytest.mark.parametrize(("scene", "how"), drawn(CASES, matrix="UPGRADE", share=1 / 100))
async def test_what_it_left_is_brought_to_its_end(own: OwnCluster, scene: Scene, how: str) -> None:
    story, world = STORIES[scene.way], own.world
    await left_behind.lay(own, scene, ago=AGO.get(how, timedelta(0)))
    if story.afflicted:
        await world.afflict_copies(**NEVER_READY)
    before = {name_of(each): each for each in await plans(world)}
    assert len(before) == len(plans_in(scene))
    async with world.auditor() as auditor:
        if how == "cleanup":
            ended = await cleanup(world, "--all", **SETTINGS)
            assert ended.code == 0, ended
        else:
            await _run_until_it_rests(world)
        await world.wait("all are back", lambda: _is_complete(world, story.replicas))
        audit = await world.audit(auditor)
    # Pods may be on their way already when the audit begins.
    assert audit.replicas_missing() == []
    assert audit.budgets_violated() == []
    assert audit.changed_objects() == []
    assert [write for write in audit.writes() if not write.guarded] == []
    await assert_nothing_of_ours_is_left(world)
    after = {name_of(each): each for each in await plans(world)}
    if how == "cleanup":
        assert (after, await world.records()) == ({}, [])
        return
    assert set(after) == set(before)
    for name, then in before.items():
        assert phase_of(after[name]) in _ends(then, how), (then, after[name])
        await _assert_it_tells_the_truth(world, after[name])


async def _run_until_it_rests(world: World) -> None:
    """One pass brings to its end what was under way, the next begins what was left of a plan."""
    for _ in range(4):
        run = await world.run(**SETTINGS)
        assert run.code in (0, 1), run
        assert run.said("plan ignored") == []
        assert run.said("plans could not be kept up: internal error, please report") == []
        assert run.said("plan not kept up: internal error, please report") == []
        if "Running" not in map(phase_of, await plans(world)):
            return


async def _is_complete(world: World, replicas: int) -> bool:
    return len(await world.nodes_of("web")) == replicas


def _ends(plan: Object, how: str) -> set[str]:
    """In which phases it may be in the end."""
    phase, said = reschedule_plan.phase_of(plan), reschedule_plan.decision_of(plan)
    if phase.is_over:
        return {phase}
    if phase is Phase.RUNNING:
        return {Phase.COMPLETED}
    if said is Decision.REJECTED:
        return {Phase.REJECTED}
    if how != "at-once":
        return {Phase.EXPIRED, Phase.SUPERSEDED}
    return {Phase.COMPLETED} if said is Decision.APPROVED else {Phase.WAITING, Phase.SUPERSEDED}


async def _assert_it_tells_the_truth(world: World, plan: Object) -> None:
    """What it says of each of its moves is so, and what it moved is where it says."""
    pods = {each["metadata"]["uid"]: each for each in await world.api.list("Pod", world.name)}
    taken_back = {each["spec"].get("undoes") for each in await plans(world)}
    for progress in reschedule_plan.progress_of(plan).values():
        assert progress.state.is_over, plan
        if progress.state is State.MOVED and name_of(plan) not in taken_back:
            assert progress.successor is not None
            moved = pods[progress.successor["uid"]]
            assert moved["spec"]["nodeName"] == progress.successor["node"]


@pytest.mark.parametrize("version", left_behind.VERSIONS)
async def test_its_plans_are_shown_and_taken_back(own: OwnCluster, version: str) -> None:
    """By every command that takes plans."""
    world = own.world
    scene = left_behind.scenes(version, "by-itself", PLANS)[-1]
    await left_behind.lay(own, scene)
    world.configuration(**ONLY_THIS)
    [plan] = await plans(world)
    assert {*await world.nodes_of("web")} == {*world.nodes}
    for shown in ("get plans -o wide", "history --all -o wide"):
        told = await command(world, *shown.split())
        assert told.code == 0, told
        assert name_of(plan) in told.out
        assert "AsPredicted" in told.out
    printed = await command(world, "get", "plans", name_of(plan), "-o", "yaml")
    assert yaml.safe_load(printed.out)["spec"] == plan["spec"]
    late = await command(world, "approve", name_of(plan))
    assert (late.code, f"plan {name_of(plan)} is Completed" in late.err) == (1, True)
    async with world.auditor() as auditor:
        undone = await command(world, "undo", name_of(plan))
        assert undone.code == 0, undone
        assert (await world.run(**ONLY_THIS)).code == 0
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)
    [_, back] = await plans(world)
    assert (back["spec"]["undoes"], back["status"]["reason"]) == (name_of(plan), "AllMoved")
    assert {*await world.nodes_of("web")} == {world.nodes[0]}
