"""`rescheduler run`: the continuous controller."""

import re
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from testbed.api import Object
from testbed.builders import budget, deployment
from testbed.faultproxy import Match, conflict, fail
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.world import World

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"


async def label(world: World, node: str, value: str | None) -> None:
    await world.api.patch("Node", None, node, {"metadata": {"labels": {MAINTENANCE: value}}})


async def lease(world: World) -> Object:
    found = await world.api.find("Lease", world.name, "rescheduler")
    return dict((found or {}).get("spec") or {})


async def is_on(world: World, app: str, node: str, count: int) -> bool:
    return await world.nodes_of(app) == [node] * count


def _is_at_rest(ended: Mapping[str, Any]) -> bool:
    """What is under way when it is stopped stays marked for whoever goes on."""
    return not ended["planned"] and not ended["under_way"]


async def test_goes_on_from_pass_to_pass_and_says_one_sentence_each(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    async with world.auditor() as auditor:
        async with controller(world, reschedulingInterval="2s") as running:
            first = await running.says("pass ended")
            await running.says("pass ended", where=lambda line: line["moved"] > 0)
            await running.says("pass ended", where=_is_at_rest)
            run = await running.stop()
        audit = await world.audit(auditor)
    assert first["planned"] == 1
    assert re.match(r"saw \d+ nodes and \d+ pods, planned 1 move; ", first["summary"])
    assert "LoadBalancing: " in first["summary"]
    assert {"nodes", "pods", "planned", "refused", "failed", "under_way", "seconds"} <= first.keys()
    assert run.code == 0, run
    assert empty in await world.nodes_of("web")
    assert full in await world.nodes_of("web")
    assert_nobody_noticed(audit)


async def test_a_node_labelled_for_maintenance_is_emptied_at_once(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    settings = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1h"}
    async with world.auditor() as auditor:
        async with controller(world, **settings) as running:
            await running.says("pass ended")
            await label(world, full, "true")
            await world.wait("the node is empty", lambda: is_on(world, "web", empty, 3))
            # And a further pass, as something might be left.
            last = await running.says("pass ended", times=3)
        audit = await world.audit(auditor)
    assert last["early"] == "a plan has ended, and something may be left to do"
    assert_nobody_noticed(audit)


async def test_a_node_that_becomes_hot_calls_for_an_early_pass(world: World) -> None:
    await world.add_nodes(2)
    settings = {"enabledStrategies": ["ResourceOptimization"], "reschedulingInterval": "1h"}
    async with controller(world, **settings, cpuThreshold=10) as running:
        await running.says("pass ended")
        await world.create(deployment("web", replicas=2))
        early = await running.says("pass ended", times=2)
    assert "above its threshold" in early["early"]


async def test_resumes_what_a_dead_one_left(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    await world.afflict_copies(ready_after="3s")
    async with world.auditor() as auditor:
        process = await world.start()
        await world.wait_for_copy("web")
        process.kill()
        await process.finish()
        async with controller(world, enabledStrategies=[], reschedulingInterval="1s") as running:
            told = await running.says("resuming unfinished migrations")
            await running.says("pass ended", where=lambda line: line["moved"] == 1)
        audit = await world.audit(auditor)
    assert told["moves"] == 1
    assert empty in await world.nodes_of("web")
    assert_nobody_noticed(audit)


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
async def test_told_to_stop_it_says_what_it_leaves_and_releases_the_lease(
    world: World, how: signal.Signals, code: int
) -> None:
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    async with controller(world, **election(world)) as running:
        await world.wait_for_copy("web")
        run = await running.stop(how)
    assert run.code == code, run
    assert run.said("rescheduler stopped")[-1]["unfinished"] == 1
    assert run.said("rescheduler stopped")[-1]["because"] == "left to the next leader"
    assert run.errors == ""
    assert not (await lease(world)).get("holderIdentity")
    [record] = await world.records()
    assert record["status"]["phase"] == "InProgress"


async def test_told_to_stop_twice_in_one_moment_it_comes_to_the_same_orderly_end(
    world: World,
) -> None:
    """As `timeout` does, to its child and to the group of that."""
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    async with controller(world, **election(world)) as running:
        await world.wait_for_copy("web")
        running.send_signal(signal.SIGTERM)
        run = await running.stop(signal.SIGTERM)
    assert run.code == 0, run
    assert run.said("rescheduler stopped")[-1]["because"] == "left to the next leader"
    assert not (await lease(world)).get("holderIdentity")


async def test_what_the_server_refuses_is_tried_again_in_the_next_pass(world: World) -> None:
    await deploy_web(world, 2)
    await label(world, (await world.add_nodes(1))[0], "true")
    settings = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1s"}
    async with world.faults() as proxy:
        broken = proxy.on(Match(verb="get", resource="nodes"), fail(400, message="odd"))
        async with controller(world, **settings) as running:
            await running.says("node could not be cordoned or uncordoned", times=3)
            assert broken.fired >= 3
            proxy.clear()
            await running.says("node cordoned")
            assert (await running.stop()).code == 0


async def test_what_nobody_remembers_is_put_in_order(world: World) -> None:
    """A mark, and a temporary budget: of migrations that have no record any more. Whoever runs once
    does so also where the pod changes twice meanwhile.
    """
    await deploy_web(world, 1)
    [pod] = await world.pods("web")
    name = pod["metadata"]["name"]
    status = "scheduler.alpha.kubernetes.io/migration-status"
    mark = {"metadata": {"labels": {status: "in-progress"}}}
    await world.api.patch("Pod", world.name, name, mark)
    guard = budget("web", minAvailable=1)
    guard["metadata"]["labels"] = {"rescheduler.io/migration": "gone-0123456789-1"}
    await world.create(guard)
    async with world.faults() as proxy:
        changes = proxy.on(Match(verb="patch", resource="pods"), conflict(), times=2)
        run = await world.run(enabledStrategies=[])
    assert run.code == 0, run
    assert changes.fired == 2
    assert [each["pod"] for each in run.said("stray mark is removed from a pod")] == [
        f"{world.name}/{name}"
    ]
    assert len(run.said("stray temporary PodDisruptionBudget is deleted")) == 1
    found = await world.api.get("Pod", world.name, name)
    assert status not in found["metadata"]["labels"]
    assert await world.api.list("PodDisruptionBudget", world.name) == []


async def test_of_two_one_acts_and_the_other_follows(world: World) -> None:
    await world.add_nodes(1)
    settings = {"reschedulingInterval": "1s", **election(world)}
    async with controller(world, **settings) as first:
        await first.says("pass ended")
        async with controller(world, **settings) as second:
            stands_by = await second.says("standing by: another replica leads")
            assert second.said("pass ended") == []
            assert (await first.stop()).code == 0
            await second.says("pass ended")
            # A third one is refused by name, instead of waiting.
            path = str(world.configuration(**settings))
            third = await as_admin(world, "run", "--once", "--config", path)
    assert stands_by["leader"] == first.said("became leader")[0]["identity"]
    assert third.code == 1
    holder = second.said("became leader")[0]["identity"]
    assert f"error: {holder} leads (lease {world.name}/rescheduler)" in third.err


async def test_whoever_loses_the_lease_ends_with_one_sentence(world: World) -> None:
    await deploy_web(world, 2)
    await world.afflict_copies(never_ready="true")
    settings = {"reschedulingInterval": "1s", **election(world)}
    async with controller(world, **settings) as running:
        await world.wait_for_copy("web")
        change = {"spec": {"holderIdentity": "a thief"}}
        await world.api.patch("Lease", world.name, "rescheduler", change)
        run = await running.finish()
    assert run.code == 1
    [line] = run.errors.splitlines()
    assert line.startswith("error: lost leadership: a thief holds the lease")


async def test_a_dry_run_plans_and_changes_nothing(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    await label(world, full, "true")
    settings = {
        "enabledStrategies": ["NodeMaintenance"],
        "reschedulingInterval": "1s",
        **election(world),
    }
    async with world.auditor() as auditor:
        async with controller(world, "--dry-run", **settings) as running:
            would = await running.says("pod would be moved", times=3)
            ended = await running.says("pass ended")
            assert (await running.stop()).code == 0
        audit = await world.audit(auditor)
    assert (would["source"], would["target"]) == (full, empty)
    assert "would move 2" in ended["summary"]
    assert audit.writes() == []


async def test_below_every_threshold_nothing_is_planned(world: World) -> None:
    """And it says by which figures; lower thresholds plan."""
    await deploy_web(world, 3)
    high = dict.fromkeys(("imbalanceThreshold", "cpuThreshold", "memoryThreshold"), 99)
    async with controller(world, **high, reschedulingInterval="1s", **election(world)) as running:
        ended = await running.says("pass ended", times=2)
    assert ended["planned"] == 0
    assert "not above the threshold of 99" in ended["summary"]
    assert await world.records() == []
    async with controller(world, reschedulingInterval="1s", **election(world)) as running:
        await running.says("pass ended", where=lambda line: line["planned"] > 0)
