"""Others act on the cluster beside us: drains, deletion costs, nodes that leave."""

import asyncio

import pytest

from testbed.builders import budget
from testbed.scenarios import Scene
from tests.scenarios.judging import assert_no_trace
from tests.scenarios.stage import set_stage

COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_drain_that_obeys_the_budget_takes_nothing_down(
    world: Scene, replicas: int
) -> None:
    """While our copy serves, the budget has one to spare, and the drain takes it before we do."""
    full, _ = await set_stage(world, replicas, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor:
        process = await world.start(migration={"settle": "5s"})
        await world.cordon(full)
        drain = asyncio.create_task(_drain(world, full))
        await process.finish()
        drain.cancel()
        await asyncio.gather(drain, return_exceptions=True)
        # Whatever the drain had evicted by then is replaced before the verdict.
        await world.wait("web is complete", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)
    assert audit.replicas_missing() == []
    assert audit.endpoints_missing() == []
    assert audit.budgets_violated() == []


async def test_leaves_alone_whose_sibling_would_go_first(world: Scene) -> None:
    await set_stage(world, 3)
    sibling, *_ = await world.pods("web")
    await world.annotate_pod(sibling["metadata"]["name"], {COST: "-2147483648"})
    async with world.auditor() as auditor:
        run = await world.run()
        audit = await world.audit(auditor)
    if "lowest deletion cost" in run.summary:
        assert {write.resource for write in audit.writes()} == {"podmigrations"}
    else:
        # That pod itself was the one to be moved: it goes first anyway.
        assert run.code == 0, run
    assert audit.replicas_missing() == []


@pytest.mark.parametrize("how", ["cordoned", "not-ready", "deleted"])
async def test_gives_up_when_the_target_is_lost(world: Scene, how: str) -> None:
    _, target = await set_stage(world, 2)
    await world.afflict_copies(ready_after="3s")
    async with world.auditor() as auditor:
        process = await world.start()
        await world.wait_for_copy("web")
        if how == "cordoned":
            await world.cordon(target)
        elif how == "not-ready":
            await world.make_not_ready(target)
        else:
            await world.delete_node(target)
        # A pod on a node that is gone ends when the garbage collector comes by, a minute later.
        run = await process.finish(within=150)
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert "TargetLost" in run.summary or "CopyLost" in run.summary
    assert audit.replicas_missing() == []
    if how == "cordoned":
        await assert_no_trace(world, audit, app="web")


async def _drain(world: Scene, node: str) -> None:
    """As kubectl does: evict whatever is there, and ask again when a budget refuses."""
    while True:
        for pod in await world.pods("web"):
            if pod["spec"].get("nodeName") == node and "deletionTimestamp" not in pod["metadata"]:
                await world.evict_pod(pod["metadata"]["name"])
        await asyncio.sleep(0.1)
