"""Pods of controllers that we do not know: they leave when somebody asks, one of an owner at a
time, and only as long as their owner makes them anew.
"""

import pytest

from rescheduler.config import Migration
from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import budget, pod
from tests.scenarios.judging import assert_nothing_of_ours_is_left
from tests.scenarios.looping import Ended, as_admin, controller, election
from tests.scenarios.steered import move
from tests.scenarios.test_maintenance_told import LABELLED, label, says
from tests.scenarios.toy_operator import KINDS, Operator
from tests.scenarios.world import World

BRIEF = {"readyTimeout": "4s"}
"""As long as we wait for a successor."""
ALWAYS = {**LABELLED, "reschedulingInterval": "1s", "maxReschedulePods": 10}


async def drain(world: World, node: str, **settings: object) -> Ended:
    path = str(world.configuration(**{**election(world), **settings}))
    return await as_admin(world, "drain", node, "--config", path)


async def apart(world: World) -> tuple[str, str, str]:
    """The node that is to be emptied, and two that have room."""
    full, one, other = await world.add_nodes(3)
    return full, one, other


async def on(world: World, node: str) -> list[str]:
    found = await world.api.list("Pod", world.name)
    return sorted(
        each["metadata"]["name"] for each in found if each["spec"].get("nodeName") == node
    )


def verdicts(records: list[Object]) -> list[tuple[str, str, str]]:
    statuses = [each["status"] for each in records]
    return sorted((each["phase"], each["reason"], each["way"]) for each in statuses)


# ---------------------------------------------------------------------- they leave


@pytest.mark.parametrize("kind", KINDS)
async def test_drain_takes_pods_of_any_owner_one_at_a_time(world: World, kind: str) -> None:
    full, *_ = await apart(world)
    async with Operator(world=world, kind=kind).at_work(on=full) as operator:
        run = await drain(world, full)
        assert run.code == 0, run
        assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
        assert operator.fewest_ready == 2
        records = await world.records()
        assert verdicts(records) == [("Completed", "Completed", "Recreate")] * 3
        for record in records:
            assert record["status"]["newPod"]["node"] == record["spec"]["target"]
            assert "fallback" not in record["status"], "the API server was not seen to steer"
        assert full not in await world.nodes_of("web")
        assert all(map(is_ready, await operator.pods()))
    await assert_nothing_of_ours_is_left(world)


@pytest.mark.parametrize("kind", ["Cluster", "CloneSet"])
async def test_a_label_takes_them_too(world: World, kind: str) -> None:
    full, *_ = await apart(world)
    async with (
        Operator(world=world, kind=kind).at_work(on=full) as operator,
        controller(world, **ALWAYS),
    ):
        await label(world, full, "true")
        await world.wait("it is empty", says(world, full, lambda told: told.startswith("empty")))

        async def are_over() -> bool:
            """The last one has left before its successor is there."""
            found = await world.records()
            return all("completionTime" in each["status"] for each in found)

        await world.wait("all moves are over", are_over)
        assert operator.fewest_ready == 2
        assert verdicts(await world.records()) == [("Completed", "Completed", "Recreate")] * 3


async def test_nobody_takes_them_to_balance(world: World) -> None:
    full, *_ = await apart(world)
    async with Operator(world=world).at_work(on=full):
        run = await world.run(enabledStrategies=["LoadBalancing"])
        assert run.code == 0, run
        assert await on(world, full) == ["web-0-0", "web-1-0", "web-2-0"]
        assert await world.records() == []


async def test_a_person_may_ask_for_one(world: World) -> None:
    full, target, _ = await apart(world)
    async with Operator(world=world, kind="Cluster").at_work(on=full) as operator:
        [first, *_] = await operator.pods()
        moved = await move(world, first, target)
        assert moved.verdict == ("Completed", "Completed"), moved.status
        assert moved.status["newPod"] | {"uid": ""} == {"name": "web-0", "uid": "", "node": target}
    # There was one of ours meanwhile, by the label that they have in common.
    assert moved.budgets()[0] == ["web-rescheduler-pdb"]
    await assert_nothing_of_ours_is_left(world)


# ---------------------------------------------------------------------- guarded


async def test_a_budget_that_selects_others_is_not_made(world: World) -> None:
    full, target, other = await apart(world)

    def stranger() -> Object:
        made = pod("stranger")
        made["metadata"]["labels"]["app"] = "web"
        return made

    async with Operator(world=world, kind="Cluster", replicas=2).at_work(on=full) as operator:
        [first, *_] = await operator.pods()
        await world.place(stranger, on=other)
        moved = await move(world, first, target)
        assert moved.verdict == ("Completed", "Completed"), moved.status
        assert moved.budgets() == []


async def test_a_budget_of_its_user_is_kept(world: World) -> None:
    full, target, _ = await apart(world)
    await world.create(budget("web", minAvailable=3))
    async with Operator(world=world).at_work(on=full) as operator:
        [first, *_] = await operator.pods()
        migration = Migration(ready_timeout_seconds=5.0, budget_timeout_seconds=1.0)
        moved = await move(world, first, target, migration)
        assert moved.verdict == ("Failed", "BudgetRefused"), moved.status
        assert operator.fewest_ready == 3


# ---------------------------------------------------------------------- they do not come back


async def test_if_nobody_makes_the_first_anew_the_others_stay(world: World) -> None:
    full, *_ = await apart(world)
    async with Operator(world=world, kind="RayCluster", replaces=False).at_work(on=full):
        run = await drain(world, full, migration=BRIEF)
        assert run.code == 1, run
        left = await on(world, full)
        assert len(left) == 2
        told = "of its RayCluster anew, which was evicted"
        assert run.err.count(told) == 2, run
        [lost] = [each for each in await world.records() if "siblings" in each["status"]]
        assert lost["status"]["reason"] == "ReplacementNotReady"
        # Whoever asks, and however often: it is remembered.
        again = await drain(world, full, migration=BRIEF)
        assert again.code == 1, again
        assert again.err.count(told) == 2
        assert await on(world, full) == left
        async with controller(world, **ALWAYS):
            await label(world, full, "true")
            await world.wait("it is told", says(world, full, lambda words: told in words))
        assert await on(world, full) == left
        # Who deletes the record takes that upon himself.
        await world.api.delete("PodMigration", world.name, lost["metadata"]["name"])
        await drain(world, full, migration=BRIEF)
        assert len(await on(world, full)) == 1
    await assert_nothing_of_ours_is_left(world)


async def test_who_asks_for_another_by_hand_is_told_so(world: World) -> None:
    full, target, _ = await apart(world)
    async with Operator(world=world, replaces=False).at_work(on=full) as operator:
        first, second, _ = await operator.pods()
        lost = await move(world, first, target, Migration(ready_timeout_seconds=3.0))
        assert lost.verdict == ("Failed", "ReplacementNotReady"), lost.status
        stays = await move(world, second, target, Migration(ready_timeout_seconds=3.0))
        assert stays.verdict == ("Failed", "NotMovable"), stays.status
        assert "nobody has made web-0-0 of its CloneSet anew" in stays.status["message"]
        assert len(await operator.pods()) == 2


@pytest.mark.parametrize("kind", ["StrimziPodSet", "CloneSet"])
async def test_one_that_comes_late_lets_the_next_one_go(world: World, kind: str) -> None:
    full, *_ = await apart(world)
    late = Operator(world=world, kind=kind, replicas=2, late_seconds=6.0)
    async with late.at_work(on=full), controller(world, **ALWAYS, migration=BRIEF):
        await label(world, full, "true")
        lost = await world.wait_for_record(phase="Failed", reason="ReplacementNotReady")
        await world.wait("it is empty", says(world, full, lambda told: told.startswith("empty")))
        assert late.fewest_ready == 1
        assert lost["status"]["owner"]["kind"] == kind


async def test_one_that_is_put_elsewhere_is_there(world: World) -> None:
    full, target, other = await apart(world)
    async with Operator(world=world, kind="Cluster", puts_on=other).at_work(on=full) as operator:
        [first, *_] = await operator.pods()
        moved = await move(world, first, target)
    assert moved.verdict == ("Completed", "LandedElsewhere"), moved.status
    assert moved.status["newPod"]["node"] == other


async def test_one_that_is_put_back_is_not_evicted_for_ever(world: World) -> None:
    full, *_ = await apart(world)
    stubborn = Operator(world=world, kind="Cluster", replicas=2, puts_on=full)
    async with stubborn.at_work(on=full):
        run = await drain(world, full)
        assert run.code == 1, run
        assert f"/web-0: BackOnSource: its successor web-0 is on {full} again" in run.err
        told = f"its Cluster has put web-0 back on {full}"
        assert f"/web-1: NotMovable: {told}" in run.err
        assert await on(world, full) == ["web-0", "web-1"]
        before = {each["metadata"]["uid"] for each in await stubborn.pods()}
        again = await drain(world, full)
        assert again.code == 1, again
        assert again.err.count(told) == 2
        assert {each["metadata"]["uid"] for each in await stubborn.pods()} == before
