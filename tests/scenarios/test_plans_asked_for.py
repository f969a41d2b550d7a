"""`rescheduler apply` and `rescheduler undo`: plans from files, and plans taken back."""

from typing import Any

import pytest
import yaml

from testbed.api import Object
from testbed.faultproxy import Match, fail
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import Ended, controller, election
from tests.scenarios.planning import command, name_of, plans, wait_for_plan
from tests.scenarios.world import World

ONLY_ONE: dict[str, Any] = {"maxReschedulePods": 1}
QUIET: dict[str, Any] = {"enabledStrategies": [], "reschedulingInterval": "1h"}


def document(world: World, pods: list[Object], source: str, target: str) -> Object:
    """As `rescheduler plan -o yaml` prints it."""
    moves = [
        {
            "pod": {key: each["metadata"][key] for key in ("namespace", "name", "uid")},
            "from": source,
            "to": target,
            "strategy": "LoadBalancing",
            "reason": "looked at in a review",
            "way": "surge",
            "wave": 0,
            "asked": False,
        }
        for each in pods
    ]
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Plan",
        "takenAt": world.clock.now().isoformat(),
        "moves": moves,
        "notes": [],
    }


async def apply(world: World, plan: Object, *flags: str) -> Ended:
    file = world.folder / "plan.yaml"
    file.write_text(yaml.safe_dump(plan))
    return await command(world, "apply", str(file), *flags)


async def test_a_plan_from_a_file_is_carried_out_and_undone(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with world.auditor() as auditor:
        async with controller(world, **QUIET, **election(world)) as running:
            await running.says("pass ended")
            pods = sorted(await world.pods("web"), key=lambda each: each["metadata"]["name"])[:2]
            done = await apply(world, document(world, pods, full, empty), "--wait", "--by", "ann")
            assert done.code == 0, done
            assert done.lines[-1] == "Completed: 2 of 2 moved"
            assert sorted(await world.nodes_of("web")) == sorted([full, empty, empty])
            [plan] = await plans(world)
            assert (plan["spec"]["origin"], plan["status"]["approval"]["by"]) == ("Apply", "ann")

            undone = await command(world, "undo", name_of(plan), "--wait")
            assert undone.code == 0, undone
            assert undone.lines[-1] == "Completed: 2 of 2 moved"
            assert set(await world.nodes_of("web")) == {full}
            back = (await plans(world))[-1]
            assert (back["spec"]["origin"], back["spec"]["undoes"]) == ("Undo", name_of(plan))

            again = await command(world, "undo", name_of(plan))
            assert again.code == 1, again
            assert f"was undone already by {name_of(back)}" in again.err
            await running.stop()
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


async def test_a_plan_object_is_a_plan_file_too(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    await world.add_nodes(1, cpu="100m")  # that it leaves alone, and says so
    proposed = {"mode": "Approve", "reschedulingInterval": "1h"}
    async with controller(world, **proposed, **election(world)):
        plan = await wait_for_plan(world, phase="Waiting")
        assert plan["spec"]["others"]
        printed = await command(world, "get", "plans", name_of(plan), "-o", "yaml")
        done = await apply(world, yaml.safe_load(printed.out), "--wait")
        assert done.code == 0, done
    assert sorted(await world.nodes_of("web")) == sorted([full, full, empty])


async def test_what_does_not_hold_stays_or_all_of_it(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    async with controller(world, **QUIET, **election(world)) as running:
        await running.says("pass ended")
        pods = await world.pods("web")
        held = pods[0]["metadata"]["name"]
        label = {"metadata": {"labels": {"scheduler.alpha.kubernetes.io/rescheduling": "disabled"}}}
        await world.api.patch("Pod", world.name, held, label)
        plan = document(world, pods, full, empty)
        refused = await apply(world, plan, "--all-or-nothing")
        assert refused.code == 1
        assert "1 of 2 moves do not hold:" in refused.err
        assert f"{world.name}/{held} stays: " in refused.err
        assert await plans(world) == []
        told = await apply(world, plan, "--dry-run")
        assert (told.code, await plans(world)) == (0, [])
        done = await apply(world, plan, "--wait")
        assert done.code == 1, done  # not every move was made
        assert f"{world.name}/{held} stays: " in done.out
        assert done.lines[-1] == "Completed: 1 of 1 moved"
    assert sorted(await world.nodes_of("web")) == sorted([full, empty])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"takenAt": "2020-01-01T00:00:00Z"}, "takenAt: is more than 1h ago"),
        ({"takenAt": "2999-01-01T00:00:00Z"}, "takenAt: is "),
        ({"cluster": "another"}, 'cluster: is "another", and this cluster is '),
    ],
    ids=["old", "of tomorrow", "another cluster"],
)
async def test_a_file_that_is_not_of_here_and_now_is_refused(
    world: World, change: Object, words: str
) -> None:
    full, empty = await deploy_web(world, 1)
    world.configuration(**election(world))
    plan = {**document(world, await world.pods("web"), full, empty), **change}
    refused = await apply(world, plan)
    assert refused.code == 1
    assert words in refused.err
    assert await plans(world) == []


async def test_unknown_pods_and_nodes_are_refused_by_their_fields(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    world.configuration(**election(world))
    plan = document(world, await world.pods("web"), full, empty)
    plan["moves"][0]["to"] = f"{empty}x"
    plan["moves"][1]["pod"] = {"namespace": world.name, "name": "gone", "uid": "gone"}
    refused = await apply(world, plan)
    assert refused.code == 1
    assert f'moves[0].to: there is no node "{empty}x"; did you mean "{empty}"?' in refused.err
    assert f"moves[1].pod: there is no pod {world.name}/gone any more" in refused.err
    named = document(world, await world.pods("web"), full, empty)
    named["moves"][0]["pod"]["namespace"] = "kube-system"
    refused = await apply(world, named)
    assert "moves[0].pod: its UID is that of " in refused.err
    strangers = {**plan, "moves": [plan["moves"][1]]}
    refused = await apply(world, strangers)
    assert "moves: none of its pods is here: " in refused.err
    assert await plans(world) == []


async def test_who_may_not_see_pods_is_told_so(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    assert (await world.run(**ONLY_ONE)).code == 0
    [plan] = await plans(world)
    file = document(world, (await world.pods("web"))[:1], full, empty)
    async with world.faults() as proxy:
        for verb in ("list", "watch"):
            proxy.on(Match(verb=verb, resource="pods"), fail(403, message="not yours"))
        for told in (await apply(world, file), await command(world, "undo", name_of(plan))):
            assert told.code == 1
            assert "pods cannot be seen: " in told.err
            assert "check: kubectl auth can-i list pods" in told.err
    assert len(await plans(world)) == 1


async def test_what_has_moved_nothing_cannot_be_undone(world: World) -> None:
    await deploy_web(world, 2)
    async with controller(world, mode="Approve", **election(world)):
        plan = await wait_for_plan(world, phase="Waiting")
        refused = await command(world, "undo", name_of(plan))
        assert refused.code == 1
        assert "has moved nothing: there is nothing to undo" in refused.err
        missing = await command(world, "undo", "nothing")
        assert missing.code == 1
        assert '"nothing" not found' in missing.err


async def test_undo_says_of_each_that_stays_why(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with controller(world, **QUIET, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:2]
        assert (await apply(world, document(world, pods, full, empty), "--wait")).code == 0
        [plan] = await plans(world)
        await world.api.patch("Node", None, full, {"spec": {"unschedulable": True}})

        async def it_says_so() -> bool:
            told = await command(world, "undo", name_of(plan), "--dry-run")
            return told.code == 1 and told.out.count(" stays: ") == 2 and full in told.out

        await world.wait("the cordon is seen", it_says_so)
    assert (await world.nodes_of("web")).count(empty) == 2


async def test_what_stayed_at_the_first_undo_comes_back_at_the_next(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with controller(world, **QUIET, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:2]
        assert (await apply(world, document(world, pods, full, empty), "--wait")).code == 0
        [plan] = await plans(world)
        [one, _] = (each["successor"]["name"] for each in plan["status"]["moves"])
        await _keep_out(world, one, "disabled")
        first = await command(world, "undo", name_of(plan), "--wait")
        assert first.code == 1, first
        assert f"{world.name}/{one} stays: " in first.out
        assert first.lines[-1] == "Completed: 1 of 1 moved"
        await _keep_out(world, one, None)
        second = await command(world, "undo", name_of(plan), "--wait")
        assert second.code == 0, second
        assert f"stays: it is on {full} already" in second.out
        assert set(await world.nodes_of("web")) == {full}
        third = await command(world, "undo", name_of(plan))
        assert (third.code, "was undone already by" in third.err) == (1, True)


async def _keep_out(world: World, pod: str, value: str | None) -> None:
    label = {"metadata": {"labels": {"scheduler.alpha.kubernetes.io/rescheduling": value}}}
    await world.api.patch("Pod", world.name, pod, label)


async def test_plans_that_moved_the_same_pod_are_undone_one_after_the_other(world: World) -> None:
    """Each time it is another pod."""
    full, empty = await deploy_web(world, 2)
    [third] = await world.add_nodes(1)
    async with controller(world, **QUIET, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:1]
        for source, target in ((full, empty), (empty, third)):
            applied = await apply(world, document(world, pods, source, target), "--wait")
            assert applied.code == 0, applied
            pods = [each for each in await world.pods("web") if _node(each) == target]
        for plan, there, back in zip(
            reversed(await plans(world)), (third, empty), (empty, full), strict=True
        ):
            undone = await command(world, "undo", name_of(plan), "--wait")
            assert undone.code == 0, undone
            assert f" {there} -> {back}" in undone.out
    assert set(await world.nodes_of("web")) == {full}


async def test_a_pod_that_somebody_moved_on_comes_back_all_the_same(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    [third] = await world.add_nodes(1)
    async with controller(world, **QUIET, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:1]
        assert (await apply(world, document(world, pods, full, empty), "--wait")).code == 0
        [plan] = await plans(world)
        successor = plan["status"]["moves"][0]["successor"]["name"]
        by_hand = await command(world, "migrate", f"{world.name}/{successor}", "--to", third)
        assert by_hand.code == 0, by_hand
        undone = await command(world, "undo", name_of(plan), "--wait")
        assert undone.code == 0, undone
        assert f" {third} -> {full}" in undone.out
    assert set(await world.nodes_of("web")) == {full}


def _node(pod: Object) -> str:
    return str(pod["spec"]["nodeName"])
