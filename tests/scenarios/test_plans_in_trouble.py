"""Plans that cannot be written, or that others write, too: moves go on, and nothing piles up."""

import asyncio

import pytest

from testbed.api import Object
from testbed.faultproxy import Fault, Match, delay, fail, throttled
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import plans, wait_for_plan
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


async def test_one_that_only_looks_does_not_quarrel_with_the_leader(world: World) -> None:
    await deploy_web(world, 3)
    async with controller(world, mode="Approve", reschedulingInterval="1h", **election(world)):
        plan = await wait_for_plan(world, phase="Waiting", reason="NeedsApproval")
        only_looks = {"mode": "DryRun", "reschedulingInterval": "1s", **election(world)}
        async with controller(world, **only_looks) as looking:
            await looking.says("pass ended", times=4)
            [found] = await plans(world)
    assert found["metadata"]["resourceVersion"] == plan["metadata"]["resourceVersion"]
