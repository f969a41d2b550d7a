"""Plans as objects: written in every mode, approved or not, carried out as far as they hold."""

import asyncio
from datetime import datetime, timedelta

import pytest
import yaml

from testbed.api import ApiError, Object
from testbed.faultproxy import Match, fail, hold
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import annotate, command, name_of, phase_of, plans, wait_for_plan
from tests.scenarios.world import World

APPROVE = {"mode": "Approve", "reschedulingInterval": "1s"}


async def test_in_auto_each_pass_that_moves_leaves_a_plan(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with world.auditor() as auditor:
        async with controller(world, reschedulingInterval="2s", **election(world)) as running:
            plan = await wait_for_plan(world, phase="Completed", reason="AllMoved")
            await running.stop()
        audit = await world.audit(auditor)
    [move], status = plan["spec"]["moves"], plan["status"]
    assert plan["spec"]["origin"] == "Pass"
    assert plan["spec"]["mode"] == "Auto"
    assert plan["spec"]["total"] == 1
    assert (move["from"], move["to"], move["way"], move["wave"]) == (full, empty, "surge", 0)
    assert move["strategy"] == "LoadBalancing"
    assert move["reason"]
    assert {each["name"] for each in plan["spec"]["nodes"]} == {full, empty}
    [cpu] = [each for each in plan["spec"]["imbalance"] if each["resource"] == "cpu"]
    assert float(cpu["before"]) > float(cpu["after"])
    assert (status["moved"], status["failed"], status["skipped"]) == (1, 0, 0)
    [ended] = status["moves"]
    [record, *_] = [
        each for each in await world.records() if each["spec"]["pod"]["uid"] == move["uid"]
    ]
    assert (ended["state"], ended["migration"]) == ("Moved", record["metadata"]["name"])
    assert record["metadata"]["labels"]["rescheduler.io/plan"] == name_of(plan)
    assert ended["successor"]["node"] == empty
    assert_nobody_noticed(audit)


async def test_one_pass_alone_writes_its_plan_too(world: World) -> None:
    await deploy_web(world, 2)
    run = await world.run()
    assert run.code == 0, run
    [plan] = await plans(world)
    assert (plan["status"]["phase"], plan["status"]["moved"]) == ("Completed", 1)


async def test_in_approve_nothing_moves_before_somebody_says_yes(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with world.auditor() as auditor:
        async with controller(world, **APPROVE, **election(world)) as running:
            await running.says("pass ended", times=3)
            [plan] = await plans(world)
            assert plan["status"]["phase"] == "Waiting"
            assert plan["status"]["reason"] == "NeedsApproval"
            assert set(await world.nodes_of("web")) == {full}
            assert await world.records() == []
            shown = await command(world, "status")
            assert f"{name_of(plan)} waits for approval" in shown.out
            early = await command(world, "history", name_of(plan))
            assert early.code == 1
            assert f"plan {name_of(plan)} is Waiting, and not over yet" in early.err
            printed = (await command(world, "get", "plans", "-o", "name")).out.strip()
            said = await command(world, "approve", printed, "--by", "ann")
            assert (said.code, said.out) == (
                0,
                f"rescheduleplan.rescheduler.io/{name_of(plan)} approved\n",
            )
            done = await wait_for_plan(world, phase="Completed")
            await running.stop()
        audit = await world.audit(auditor)
    assert name_of(done) == name_of(plan)
    assert done["status"]["approval"]["by"] == "ann"
    assert done["status"]["reason"] == "AllMoved"
    assert (await world.nodes_of("web")).count(empty) == 1
    assert_nobody_noticed(audit)


async def test_by_an_annotation_alone(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    async with controller(world, **APPROVE, **election(world)):
        plan = await wait_for_plan(world, phase="Waiting")
        await annotate(world, name_of(plan), "yes, please")
        asked = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        await world.wait("it is told", lambda: _says(world, "write approved or rejected"))
        await annotate(world, name_of(asked), "Approved")
        await wait_for_plan(world, phase="Completed", reason="AllMoved")
    assert empty in await world.nodes_of("web")


async def _says(world: World, words: str) -> bool:
    return any(
        words in (each.get("status") or {}).get("message", "") for each in await plans(world)
    )


async def test_rejected_it_is_not_proposed_again(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    async with controller(world, **APPROVE, **election(world)) as running:
        plan = await wait_for_plan(world, phase="Waiting")
        said = await command(world, "reject", name_of(plan))
        assert said.out.endswith(" rejected\n")
        await wait_for_plan(world, phase="Rejected")
        before = len(running.lines)
        await running.says("pass ended", where=lambda _: len(running.lines) > before + 10)
        assert [phase_of(each) for each in await plans(world)] == ["Rejected"]
    assert await world.nodes_of("web") == [full]
    late = await command(world, "approve", name_of(plan))
    assert late.code == 1
    assert f"plan {name_of(plan)} is Rejected: rejected by" in late.err


async def test_what_nobody_approves_expires(world: World) -> None:
    await deploy_web(world, 1)
    short = {"plans": {"expireAfter": "2s", "review": "0s"}}
    async with controller(world, **APPROVE, **short, **election(world)):
        plan = await wait_for_plan(world, phase="Expired")
        late = await command(world, "approve", name_of(plan))
        assert late.code == 1
        assert "is Expired: nobody approved it before it expired" in late.err
        assert await world.records() == []


async def test_what_runs_can_be_neither_approved_nor_rejected_any_more(world: World) -> None:
    await deploy_web(world, 1)
    arrives = asyncio.Event()
    async with world.faults() as proxy:
        proxy.on(Match(verb="create", resource="pods"), hold(arrives))
        async with controller(world, **APPROVE, **election(world)):
            plan = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
            await annotate(world, name_of(plan), "approved")
            await wait_for_plan(world, phase="Running")
            late = await command(world, "approve", name_of(plan))
            assert (late.code, "is Running: it is carried out already" in late.err) == (1, True)
            late = await command(world, "reject", name_of(plan))
            assert late.code == 1
            assert f"it has begun; when it has ended: rescheduler undo {name_of(plan)}" in late.err
            undo = await command(world, "undo", name_of(plan))
            assert (undo.code, "is Running: wait for its end" in undo.err) == (1, True)
            arrives.set()
            await wait_for_plan(world, phase="Completed", reason="AllMoved")


async def test_a_newer_plan_supersedes_the_one_that_nobody_approved(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    once = {"plans": {"review": "0s"}}
    async with controller(world, **APPROVE, **once, **election(world)):
        first = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        # The pod that it is about is gone, and another one takes its place.
        uid = first["spec"]["moves"][0]["uid"]
        [pod] = [each for each in await world.pods("web") if each["metadata"]["uid"] == uid]
        await world.api.delete("Pod", world.name, pod["metadata"]["name"])
        old = await wait_for_plan(world, phase="Superseded")
        assert name_of(old) == name_of(first)
        late = await command(world, "approve", name_of(old))
        assert late.code == 1
        assert "superseded" in late.err.lower()
        assert await world.records() == []
    assert {full, empty}


async def test_what_does_not_hold_any_more_is_told_and_not_moved(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    still = {"reschedulingInterval": "1h", "mode": "Approve"}
    async with controller(world, **still, **election(world)):
        plan = await wait_for_plan(world, phase="Waiting")
        await world.api.patch("Node", None, empty, {"spec": {"unschedulable": True}})
        await annotate(world, name_of(plan), "approved")
        done = await wait_for_plan(world, phase="Completed")
    [move] = done["status"]["moves"]
    assert (done["status"]["reason"], move["state"]) == ("NoneMoved", "Skipped")
    assert empty in move["message"]
    assert set(await world.nodes_of("web")) == {full}


async def test_what_was_asked_for_does_not_wait(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    settings = {**APPROVE, "enabledStrategies": ["NodeMaintenance"], "maxReschedulePods": 10}
    async with controller(world, **settings, **election(world)):
        label = {"metadata": {"labels": {"scheduler.alpha.kubernetes.io/maintenance": "true"}}}
        await world.api.patch("Node", None, full, label)
        plan = await wait_for_plan(world, phase="Completed", reason="AllMoved")
    assert all(each["asked"] for each in plan["spec"]["moves"])
    assert set(await world.nodes_of("web")) == {empty}


async def test_in_dry_run_plans_are_written_and_nothing_moves_until_it_may(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with world.auditor() as auditor:
        async with controller(world, mode="DryRun", reschedulingInterval="1s") as running:
            await running.says("pass ended", times=3)
            await running.stop()
        audit = await world.audit(auditor)
    [plan] = await plans(world)
    assert (plan["status"]["phase"], plan["status"]["reason"]) == ("Waiting", "DryRun")
    assert set(await world.nodes_of("web")) == {full}
    written = {each.permission for each in audit.writes()}
    assert written <= {
        "create rescheduleplans.rescheduler.io",
        "patch rescheduleplans.rescheduler.io/status",
    }
    said = await command(world, "approve", name_of(plan))
    assert said.code == 1
    assert "was made in mode DryRun" in said.err
    async with controller(world, reschedulingInterval="1s", **election(world)) as running:
        await running.says("pass ended", where=lambda line: line["moved"] > 0)
    assert empty in await world.nodes_of("web")


async def test_without_the_right_to_write_plans_it_says_so_once_and_moves_all_the_same(
    world: World,
) -> None:
    _, empty = await deploy_web(world, 3)
    async with world.faults() as proxy:
        for verb in ("list", "watch"):
            refused = Match(verb=verb, resource="rescheduleplans")
            proxy.on(refused, fail(403, message="not yours"))
        async with controller(world, reschedulingInterval="1s", **election(world)) as running:
            await running.says("pass ended", where=lambda line: line["moved"] > 0)
            await running.says("pass ended", times=4)
            run = await running.stop()
    assert len(run.said("plans are not written down")) == 1
    assert empty in await world.nodes_of("web")
    assert await plans(world) == []


@pytest.mark.parametrize("mode", ["Approve", "DryRun"])
async def test_where_plans_cannot_be_written_nothing_waits_and_nothing_is_moved(
    world: World, mode: str
) -> None:
    full, _ = await deploy_web(world, 3)
    async with world.faults() as proxy:
        for verb in ("list", "watch"):
            refused = Match(verb=verb, resource="rescheduleplans")
            proxy.on(refused, fail(403, message="not yours"))
        settings = {"mode": mode, "reschedulingInterval": "1s", **election(world)}
        async with controller(world, **settings) as running:
            await running.says("pass ended", times=4)
            run = await running.stop()
    [told] = run.said("plans are not written down")
    assert "rescheduler-scheduler-plans" in told["to_have_them"]
    nobody_can = "plans cannot be written down, so nobody can approve one, and nothing is moved"
    assert len(run.said(nobody_can)) == (1 if mode == "Approve" else 0)
    assert set(await world.nodes_of("web")) == {full}
    assert (await world.records(), await plans(world)) == ([], [])


async def test_only_so_many_are_kept(world: World) -> None:
    await deploy_web(world, 1)
    short = {"plans": {"expireAfter": "1s", "review": "0s", "keep": 2}}
    async with controller(world, **APPROVE, **short, **election(world)):
        seen: set[str] = set()

        async def many_have_been() -> bool:
            found = await plans(world)
            seen.update(map(name_of, found))
            return len(seen) > 4 and len(found) <= 4

        await world.wait("some are gone again", many_have_been)


async def test_users_win_who_delete_or_edit_a_plan(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    async with controller(world, **APPROVE, **election(world)):
        plan = await wait_for_plan(world, phase="Waiting")
        change: Object = {"spec": {"summary": "mine"}}
        with pytest.raises(ApiError, match="cannot be changed"):
            await world.api.patch("ReschedulePlan", world.name, name_of(plan), change)
        await world.api.delete("ReschedulePlan", world.name, name_of(plan))

        async def there_is_another() -> bool:
            found = [each["metadata"]["uid"] for each in await plans(world)]
            return bool(found) and plan["metadata"]["uid"] not in found

        await world.wait("it is proposed anew", there_is_another)
    assert await world.nodes_of("web") == [full]


async def test_get_plans_in_the_manner_of_kubectl(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run()).code == 0
    [plan] = await plans(world)
    name = name_of(plan)
    table = await command(world, "get", "plans")
    assert table.lines[0].split()[:4] == ["NAME", "ORIGIN", "MODE", "MOVES"]
    assert table.lines[1].split()[:5] == [name, "Pass", "Auto", "1", "1"]
    wide = await command(world, "get", "plans", "-o", "wide")
    assert "LoadBalancing" in wide.out
    assert (await command(world, "get", "plans", "-o", "name")).out == (
        f"rescheduleplan.rescheduler.io/{name}\n"
    )
    for form in (name, f"rplan/{name}", f"rescheduleplans.rescheduler.io/{name}"):
        found = await command(world, "get", "plans", form, "-o", "name")
        assert found.lines == [f"rescheduleplan.rescheduler.io/{name}"]
    document = yaml.safe_load((await command(world, "get", "plans", name, "-o", "yaml")).out)
    assert document["kind"] == "ReschedulePlan"
    assert document["spec"]["moves"] == plan["spec"]["moves"]
    assert datetime.fromisoformat(document["spec"]["decidedAt"]).tzinfo is not None
    missing = await command(world, "approve", name[:-1])
    assert missing.code == 1
    assert f'did you mean "{name}"?' in missing.err


# ------------------------------------------------------------------ windows


def _window(world: World, *, hours_from_now: int) -> list[Object]:
    begin = world.clock.now() + timedelta(hours=hours_from_now)
    end = begin + timedelta(hours=2)
    return [{"hours": f"{begin:%H:%M}-{end:%H:%M}", "zone": "UTC"}]


async def test_outside_of_windows_it_waits_and_says_when_the_next_one_opens(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    closed = {"windows": _window(world, hours_from_now=3), "reschedulingInterval": "1s"}
    async with controller(world, **closed, **election(world)) as running:
        told = await running.says("pass ended", times=2)
        assert told["window"].startswith("the next window opens at ")
        plan = await wait_for_plan(world, phase="Waiting", reason="OutsideWindow")
        assert told["window"] in plan["status"]["message"]
        assert "the next window opens at" in (await command(world, "status")).out
        assert set(await world.nodes_of("web")) == {full}
        assert await world.records() == []
        # Who does not want to wait says so.
        said = await command(world, "approve", name_of(plan))
        assert said.code == 0
        await wait_for_plan(world, phase="Completed", reason="AllMoved")
    assert (await world.nodes_of("web")).count(empty) == 1


async def test_what_is_asked_for_waits_for_no_window(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    closed = {"windows": _window(world, hours_from_now=3), "maxReschedulePods": 10}
    settings = {**closed, "enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1s"}
    async with controller(world, **settings, **election(world)):
        label = {"metadata": {"labels": {"scheduler.alpha.kubernetes.io/maintenance": "true"}}}
        await world.api.patch("Node", None, full, label)
        await wait_for_plan(world, phase="Completed", reason="AllMoved")
    assert set(await world.nodes_of("web")) == {empty}


async def test_inside_of_a_window_it_moves_by_itself(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    closed = {"windows": _window(world, hours_from_now=3), "reschedulingInterval": "1s"}
    async with controller(world, **closed, **election(world)) as running:
        await wait_for_plan(world, phase="Waiting", reason="OutsideWindow")
        opened = {**closed, "windows": _window(world, hours_from_now=-1)}
        followed = world.configured
        followed.write_text(world.configuration(**opened, **election(world)).read_text())
        await running.says("configuration changed")
        await wait_for_plan(world, phase="Completed", reason="AllMoved")
        [waited] = [each for each in await plans(world) if phase_of(each) == "Superseded"]
        assert waited["status"]["reason"] == "NewerPlan"
    assert empty in await world.nodes_of("web")
