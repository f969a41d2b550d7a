"""What came of plans: held against what they promised, whoever leads by then, and told."""

from typing import Any

from rescheduler.model import reschedule_plan
from testbed.api import Object, path_of
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import command, name_of, plans
from tests.scenarios.test_events import events
from tests.scenarios.test_plans_asked_for import QUIET, apply, document
from tests.scenarios.world import World

MERGE = "application/merge-patch+json"


async def wait_for_observed(world: World, **observed: Any) -> Object:  # noqa: ANN401
    """The youngest of which that is known."""
    found: list[Object] = []

    async def is_known() -> bool:
        found[:] = [
            each
            for each in await plans(world)
            if (known := reschedule_plan.observed_of(each)) and observed.items() <= known.items()
        ]
        return bool(found)

    try:
        await world.wait(f"a plan was observed as {observed}", is_known)
    except AssertionError as problem:
        problem.add_note(f"plans: {[(name_of(e), e.get('status')) for e in await plans(world)]}")
        raise
    return found[-1]


async def test_by_requests_all_comes_exactly_as_predicted(world: World) -> None:
    full, empty = await deploy_web(world, 1)  # one move is all that there is to do
    async with controller(world, reschedulingInterval="2s", **election(world)) as running:
        plan = await wait_for_observed(world)
        await running.says("plan observed")
        found = reschedule_plan.observed_of(plan)
        assert found["verdict"] == "AsPredicted", found
        assert found["error"] == found["largestError"] == {"cpu": "0.0", "memory": "0.0"}
        assert (found["loads"], found["judged"], found["disturbed"]) == ("requests", 2, 0)
        assert [each["measured"] for each in found["imbalance"]] == [
            each["after"] for each in plan["spec"]["imbalance"]
        ]
        assert {each["name"] for each in found["nodes"]} == {full, empty}
        for each in found["nodes"]:
            assert each["measured"] == each["predicted"]
        [_, predicted] = plan["status"]["conditions"]
        assert (predicted["type"], predicted["status"]) == ("Predicted", "True")

        shown = await command(world, "history")
        head, row = shown.lines[0].split(), shown.lines[1].split()
        assert (head[0], head[-1]) == ("NAME", "AGE")
        cells = dict(zip(head, row, strict=True))
        [cpu] = [each for each in plan["spec"]["imbalance"] if each["resource"] == "cpu"]
        assert (cells["NAME"], cells["ORIGIN"], cells["STRATEGY"]) == (
            name_of(plan),
            "Pass",
            "LoadBalancing",
        )
        assert (cells["MOVED"], cells["FAILED"], cells["BOUNCES"]) == ("1/1", "0", "0")
        assert (cells["IMBALANCE"], cells["PREDICTED"], cells["OBSERVED"]) == (
            cpu["before"],
            cpu["after"],
            cpu["after"],
        )
        assert cells["SUCCESS"] == "<unknown>"  # as long as its pods may move again
        wide = await command(world, "history", name_of(plan), "-o", "wide")
        assert "AsPredicted" in wide.out
        listed = await command(world, "get", "plans", "-o", "wide")
        assert "AsPredicted" in listed.out
        named = await command(world, "history", "-o", "name")
        assert named.lines == [f"rescheduleplan.rescheduler.io/{name_of(plan)}"]
        missing = await command(world, "history", f"{name_of(plan)}x")
        assert (missing.code, f'did you mean "{name_of(plan)}"?' in missing.err) == (1, True)
        await world.wait("its end is told", lambda: _is_told(world, "PlanCompleted"))


async def _is_told(world: World, reason: str) -> bool:
    return bool(await events(world, reason))


async def test_what_people_asked_for_is_held_against_its_promise_too(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    quick = {**QUIET, "reschedulingInterval": "2s"}
    async with controller(world, **quick, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:1]
        done = await apply(world, document(world, pods, full, empty), "--wait")
        assert done.code == 0, done
        plan = await wait_for_observed(world, verdict="AsPredicted")
        assert plan["spec"]["origin"] == "Apply"
        assert reschedule_plan.observed_of(plan)["error"] == {"cpu": "0.0", "memory": "0.0"}


async def test_whoever_leads_next_observes_what_another_has_moved(world: World) -> None:
    await deploy_web(world, 3)
    assert (await world.run()).code == 0
    [plan] = await plans(world)
    assert not reschedule_plan.observed_of(plan)
    async with controller(world, **QUIET, **election(world)):
        # Its first pass may come in the second in which the plan ended: then the next one does it.
        world.configured.write_text(
            world.configuration(
                **{**QUIET, "reschedulingInterval": "1s"}, **election(world)
            ).read_text()
        )
        await wait_for_observed(world, verdict="AsPredicted")


async def test_a_node_that_is_taken_away_meanwhile_is_not_waited_for(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    assert (await world.run()).code == 0
    await world.api.delete("Deployment", world.name, "ballast")

    async def is_empty() -> bool:
        return not await world.pods("ballast")

    await world.wait("nothing is left on it", is_empty)
    await world.api.delete("Node", None, full)
    async with controller(world, **{**QUIET, "reschedulingInterval": "2s"}, **election(world)):
        plan = await wait_for_observed(world, verdict="AsPredicted")
    observed = reschedule_plan.observed_of(plan)
    assert (observed["judged"], observed["disturbed"]) == (1, 1)
    [gone] = [each for each in observed["nodes"] if each["name"] == full]
    assert "measured" not in gone


async def test_a_pod_that_moves_again_within_the_hour_is_counted(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    quick = {**QUIET, "reschedulingInterval": "2s"}
    async with controller(world, **quick, **election(world)) as running:
        await running.says("pass ended")
        pods = (await world.pods("web"))[:2]
        done = await apply(world, document(world, pods, full, empty), "--wait")
        assert done.code == 0, done
        await wait_for_observed(world)
        [plan] = await plans(world)
        # One goes back by itself, as if a strategy had changed its mind, the other is asked to.
        ours, theirs = (each["successor"] for each in plan["status"]["moves"])
        for successor, asked in ((ours, False), (theirs, True)):
            await world.api.create(_record(world, successor, full, asked=asked))
        await wait_for_observed(world, bounces=1)
        await running.says("pods moved again within an hour")

        async def both_are_back() -> bool:
            return set(await world.nodes_of("web")) == {full}

        await world.wait("both are back", both_are_back)
        [entry] = reschedule_plan.history(await plans(world))
        assert (entry.bounces, entry.success) == (1, False)


def _record(world: World, pod: Object, target: str, *, asked: bool) -> Object:
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"name": f"back-{pod['name']}", "namespace": world.name},
        "spec": {
            "pod": {"name": pod["name"], "uid": pod["uid"]},
            "source": pod["node"],
            "target": target,
            "strategy": "LoadBalancing",
            "asked": asked,
        },
    }


# ------------------------------------------------------------------ again and again


async def test_a_strategy_whose_predictions_fail_again_and_again_says_so(world: World) -> None:
    """Three such plans were left by whoever led before."""
    for number in range(3):
        await _wrong_plan(world, number)
    async with controller(world, **QUIET, **election(world)) as running:
        said = await running.says("predictions fail again and again")
        assert (said["strategy"], said["failed"], said["of"]) == ("LoadBalancing", 3, 3)
        assert said["because"] == "PodsDiffer"
        await world.wait("an Event says so", lambda: _is_told(world, "PredictionsFail"))
        words = "the predictions of LoadBalancing fail: 3 of its last 3 plans"
        assert words in (await command(world, "status")).out
        history = await command(world, "history")
        assert (history.code, words in history.err) == (0, True)
        assert "requests are far from use" in history.err
        assert len(running.said("predictions fail again and again")) == 1


async def _wrong_plan(world: World, number: int) -> None:
    move = {"namespace": world.name, "pod": "gone", "uid": str(number), "from": "a", "to": "b"}
    plan = await world.api.create(
        {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "ReschedulePlan",
            "metadata": {"name": f"wrong-{number}", "namespace": world.name},
            "spec": {"origin": "Pass", "moves": [{**move, "strategy": "LoadBalancing"}]},
        }
    )
    wrong = {"name": "LoadBalancing", "judged": 2, "error": "25.0", "failed": True}
    status = {
        "phase": "Completed",
        "reason": "AllMoved",
        "moved": 1,
        "failed": 0,
        "completionTime": plan["metadata"]["creationTimestamp"],
        "observed": {
            "verdict": "NotAsPredicted",
            "judged": 2,
            "strategies": [{**wrong, "cause": "PodsDiffer"}],
            "final": True,
        },
    }
    path = path_of("ReschedulePlan", world.name, name_of(plan))
    await world.api.request("PATCH", f"{path}/status", body={"status": status}, content_type=MERGE)
