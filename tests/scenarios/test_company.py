"""Others act on the cluster beside us: drains, deletion costs, nodes that leave."""

import asyncio

import pytest

from testbed.api import Object
from testbed.builders import budget
from testbed.scenarios import Scene
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_no_trace

LOWEST_COST = {"controller.kubernetes.io/pod-deletion-cost": "-2147483648"}


@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_drain_that_obeys_the_budget_takes_nothing_down(
    world: Scene, replicas: int
) -> None:
    """While our copy serves, the budget has one to spare, and the drain takes it before we do."""
    full, _ = await deploy_web(world, replicas, budget("web", maxUnavailable=0))
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
    await deploy_web(world, 3)
    sibling, *_ = await world.pods("web")
    await world.annotate_pod(sibling["metadata"]["name"], LOWEST_COST)
    await _keep(world, sibling)
    run, audit = await world.audited_run()
    assert run.code == 1, run
    assert "lowest deletion cost" in run.summary
    assert {write.resource for write in audit.writes()} == {"podmigrations", "rescheduleplans"}
    assert audit.replicas_missing() == []


async def test_moves_the_one_that_would_go_first_anyway(world: Scene) -> None:
    await deploy_web(world, 3)
    first, *siblings = await world.pods("web")
    await world.annotate_pod(first["metadata"]["name"], LOWEST_COST)
    await _keep(world, *siblings)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    assert audit.pods_removed() == [first["metadata"]["name"]]
    assert audit.replicas_missing() == []


async def _keep(world: Scene, *pods: Object) -> None:
    """None of them is to be chosen for a move."""
    change = {"metadata": {"labels": {"scheduler.alpha.kubernetes.io/rescheduling": "disabled"}}}
    for pod in pods:
        await world.api.patch("Pod", world.name, pod["metadata"]["name"], change)


@pytest.mark.parametrize("how", ["cordoned", "not-ready", "deleted"])
async def test_gives_up_when_the_target_is_lost(world: Scene, how: str) -> None:
    _, target = await deploy_web(world, 2)
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
