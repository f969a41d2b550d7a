"""Plans that cannot be written, or that others write, too: moves go on, and nothing piles up."""

import asyncio
from datetime import UTC, datetime

import pytest

from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move, NodeLoad
from rescheduler.model.reschedule_plan import (
    Gains,
    Made,
    Origin,
    Phase,
    Progress,
    Reason,
    Standing,
    State,
)
from testbed.api import Object, path_of
from testbed.faultproxy import Fault, Match, delay, fail, throttled
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import command, name_of, plans, wait_for_plan
from tests.scenarios.world import World

PLANS = "rescheduleplans"
MANY = 50


@pytest.mark.parametrize(
    ("verb", "fault"),
    [
        ("create", delay(300)),
        ("create", fail(500, message="failed calling webhook")),
        ("create", throttled(60)),
        ("create", fail(413, message="request is too large")),
        ("create", fail(409, message="an admission plugin is confused")),
        ("patch", delay(300)),
        ("patch", fail(403, message="denied by a policy")),
    ],
    ids=["hangs", "fails", "throttled", "too large", "conflict", "status hangs", "status refused"],
)
async def test_what_keeps_plans_from_being_written_does_not_hold_up_moves(
    world: World, verb: str, fault: Fault
) -> None:
    _, empty = await deploy_web(world, 3)
    async with world.faults() as proxy:
        proxy.on(Match(verb=verb, resource=PLANS), fault)
        async with controller(world, reschedulingInterval="1s", **election(world)) as running:
            async with asyncio.timeout(30):
                await running.says("pass ended", where=lambda line: line["moved"] > 0)
            await running.says("pass ended", times=4)
            run = await running.stop()
    told = [each for each in run.lines if "plan" in each["event"] and each["level"] == "warning"]
    assert len(told) == len({each["event"] for each in told}), told
    assert empty in await world.nodes_of("web")


async def test_plans_that_never_end_do_not_pile_up(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    await asyncio.gather(*(world.api.create(_by_hand(world, number)) for number in range(MANY)))
    async with controller(world, reschedulingInterval="1s", **election(world)) as running:
        await running.says("pass ended", where=lambda line: line["moved"] > 0)
        run = await running.stop()
    told = run.said("a plan is not written: too many have not ended")
    assert [each["level"] for each in told[:2]].count("warning") == 1
    assert {each["spec"]["origin"] for each in await plans(world)} == {"Apply"}
    assert empty in await world.nodes_of("web")


def _by_hand(world: World, number: int) -> Object:
    pod = {"namespace": world.name, "pod": "nobody", "uid": "0", "from": "here", "to": "there"}
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulePlan",
        "metadata": {"name": f"mine-{number}", "namespace": world.name},
        "spec": {"moves": [pod]},
    }


async def test_what_cannot_be_a_name_is_not_there(world: World) -> None:
    """An empty one is all of them to the API server, and with a slash it is something else."""
    await world.api.create(_by_hand(world, 1))
    world.configuration(**election(world))
    for verb in ("approve", "reject", "undo"):
        for name in ("", "mine-1/status", "../../pods", "Mine 1"):
            said = await command(world, verb, name)
            assert said.code != 0, (verb, name, said)
            assert said.out == ""
            # As a whole command it is refused before the cluster is asked.
            is_refused = "is not the name of a ReschedulePlan" in said.err
            assert is_refused or "not found" in said.err, (verb, name, said)
    [plan] = await plans(world)
    assert "annotations" not in plan["metadata"]


async def test_one_that_only_looks_does_not_quarrel_with_the_leader(world: World) -> None:
    await deploy_web(world, 3)
    async with controller(world, mode="Approve", reschedulingInterval="1h", **election(world)):
        plan = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        only_looks = {"mode": "DryRun", "reschedulingInterval": "1s", **election(world)}
        async with controller(world, **only_looks) as looking:
            await looking.says("pass ended", times=4)
            [found] = await plans(world)
    assert found["metadata"]["resourceVersion"] == plan["metadata"]["resourceVersion"]


async def test_one_that_only_looks_with_other_settings_takes_back_nothing_of_the_leaders(
    world: World,
) -> None:
    full, _ = await deploy_web(world, 4)
    waits = {"mode": "Approve", "reschedulingInterval": "1s", "plans": {"review": "0s"}}
    async with controller(world, **waits, **election(world)) as leading:
        plan = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        others = {**waits, "mode": "DryRun", "maxReschedulePods": 2, **election(world)}
        async with controller(world, **others) as looking:
            dry = await wait_for_plan(world, phase="Waiting", reason="DryRun")
            assert len(dry["spec"]["moves"]) == 2
            seen = len(looking.lines), len(leading.lines)
            await looking.says("pass ended", where=lambda _: len(looking.lines) > seen[0] + 10)
            await leading.says("pass ended", where=lambda _: len(leading.lines) > seen[1] + 10)
            standing = {
                name_of(each): (each["status"]["phase"], each["status"]["reason"])
                for each in await plans(world)
            }
            assert standing[name_of(plan)] == ("Waiting", "NeedsApproval"), standing
            assert set(await world.nodes_of("web")) == {full}
            said = await command(world, "approve", name_of(dry))
            assert (said.code, "was made in mode DryRun" in said.err) == (1, True)
            said = await command(world, "approve", name_of(plan))
            assert said.code == 0, said
            done = await wait_for_plan(world, phase="Completed", reason="AllMoved")
    assert name_of(done) == name_of(plan)


async def test_a_plan_of_the_leaders_expires_by_the_leaders_settings(world: World) -> None:
    await deploy_web(world, 3)
    waits = {"reschedulingInterval": "1s", **election(world)}
    async with controller(world, mode="Approve", **waits):
        plan = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        short = {"plans": {"review": "0s", "expireAfter": "1s"}, "maxReschedulePods": 2}
        async with controller(world, mode="DryRun", **short, **waits) as looking:
            await looking.says("plan expired", times=2)  # of its own
            said = await command(world, "approve", name_of(plan))
            assert said.code == 0, said
            await wait_for_plan(world, phase="Completed", reason="AllMoved")


async def test_one_that_only_looks_keeps_what_the_leader_has_ended(world: World) -> None:
    await deploy_web(world, 3)
    waits = {"reschedulingInterval": "1s", **election(world)}
    async with controller(world, mode="Approve", **waits):
        plan = await wait_for_plan(world, phase="Waiting")
        assert (await command(world, "reject", name_of(plan))).code == 0
        await wait_for_plan(world, phase="Rejected")
    # Nobody's word holds for longer than a plan waits: then its pods are proposed again.
    few = {"plans": {"review": "0s", "expireAfter": "1s", "keep": 1}}
    async with controller(world, mode="DryRun", **few, **waits) as looking:
        await looking.says("plan expired", times=3)
        found = {name_of(each) for each in await plans(world)}
    assert name_of(plan) in found
    assert len(found) <= 4


async def test_the_largest_plan_finds_room_from_its_first_write_to_its_last(world: World) -> None:
    """However long the names and words in it are: one whose end cannot be written never ends."""
    name, uid, words = "n" * 253, "01234567-89ab-cdef-0123-456789ab{:04d}", "why " * 1000
    moves = [
        Move(
            namespace="s" * 63,
            pod=name,
            uid=uid.format(number),
            source=name,
            target=name,
            strategy="LoadBalancing",
            reason=words,
        )
        for number in range(600)
    ]
    nodes = [
        NodeLoad(
            node=f"{name[:-4]}{number:04d}",
            before={"cpu": 50.0, "memory": 50.0},
            after={"cpu": 50.0, "memory": 50.0},
            pods_before=110,
            pods_after=110,
            eligible=True,
        )
        for number in range(1000)
    ]
    now = datetime(2026, 1, 5, tzinfo=UTC)
    made = Made(origin=Origin.PASS, mode="Auto", at=now)
    gains = Gains(summary=words * 2, loads="requests", overloaded=(1, 0), nodes=nodes)
    body = reschedule_plan.build(world.name, moves, gains, made)
    found = await world.api.create(dict(body))
    assert (found["spec"]["total"], found["spec"]["leftOut"]) == (500, 100)
    ended = [
        Progress(
            uid=uid.format(number),
            state=State.FAILED,
            migration=name,
            reason="NotMovable",
            message=words,
            successor={"name": name, "uid": uid.format(number), "node": name},
        )
        for number in range(500)
    ]
    standing = Standing(phase=Phase.COMPLETED, reason=Reason.NONE_MOVED, moves=ended)
    status = reschedule_plan.status_document(found, standing, now)
    status |= reschedule_plan.observed_status(found, _observed(nodes), now)
    path = path_of("ReschedulePlan", world.name, found["metadata"]["name"])
    merge = "application/merge-patch+json"
    change = {"status": status}
    await world.api.request("PATCH", f"{path}/status", body=change, content_type=merge)
    [kept] = await plans(world)
    assert reschedule_plan.says_the_same(kept, status)


def _observed(nodes: list[NodeLoad]) -> Object:
    """As much as there may be."""
    shares = {"cpu": "100.0", "memory": "100.0", "pods": 110}
    return {
        "time": "2026-01-05T00:00:00Z",
        "verdict": "NotAsPredicted",
        "message": "why" * 300,
        "judged": len(nodes),
        "disturbed": 0,
        "nodes": [
            {"name": each.node, "predicted": shares, "measured": shares}
            for each in nodes[: reschedule_plan.MOST_NODES]
        ],
        "bounces": 500,
    }
