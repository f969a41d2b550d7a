"""`rescheduler pause` and `rescheduler resume`: nothing new begins, and what has begun is ended."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.config import LeaderElection
from rescheduler.controller import pausing_by_hand
from rescheduler.model.pausing import Pause
from testbed.api import Object
from testbed.faultproxy import Match, conflict, drop_reply
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import Ended, as_admin, controller, election
from tests.scenarios.pausing import (
    PAUSED,
    SAYS_PAUSED,
    has_begun,
    is_at_rest,
    pause_by_hand,
    resume_by_hand,
)
from tests.scenarios.test_events import told
from tests.scenarios.world import World

LEASE = "lease.coordination.k8s.io/rescheduler"


async def command(world: World, name: str, *flags: str, **settings: Any) -> Ended:  # noqa: ANN401
    path = str(world.configuration(**settings))
    return await as_admin(world, name, *flags, "--config", path)


async def lease(world: World) -> Object:
    return await world.api.get("Lease", world.name, "rescheduler")


async def test_with_the_controller_down_it_is_noted_and_holds_from_the_next_start(
    world: World,
) -> None:
    full, _ = await deploy_web(world, 3)
    told = await command(world, "pause", "--reason", "storage upgrade", "--by", "ada")
    assert (told.code, told.err) == (0, "")
    assert told.out == f"{LEASE} paused: nothing new begins until `rescheduler resume`\n"
    async with (
        world.auditor() as auditor,
        controller(world, reschedulingInterval="1s") as running,
    ):
        said = await running.says(SAYS_PAUSED)
        ended = await running.says("pass ended", times=3)
        audit = await world.audit(auditor)
        assert (await running.stop()).code == 0
    assert audit.writes() == []
    assert (said["by"], said["because"]) == ("ada", "storage upgrade")
    # It sees and plans all the same.
    assert ended["planned"] == 1
    assert "by ada: storage upgrade" in ended["paused"]
    assert await world.nodes_of("web") == [full] * 3


@pytest.mark.parametrize("elects", [True, False], ids=["elected", "without-election"])
async def test_a_running_one_pauses_and_goes_on_at_once_when_resumed(
    world: World, *, elects: bool
) -> None:
    await deploy_web(world, 3)
    settings: dict[str, Any] = {"reschedulingInterval": "1h", "enabledStrategies": []}
    settings |= election(world) if elects else {}
    async with controller(world, **settings) as running:
        await running.says("pass ended")
        assert (await command(world, "pause", **settings)).code == 0
        await running.says(SAYS_PAUSED)
        await world.wait("it is told", told(world, "Paused", "Lease", 1))
        pod = (await world.pods("web"))[0]
        await ask(world, pod, world.nodes[1])
        await running.says("pass ended", times=1)
        again = await command(world, "pause", "--reason", "other", **settings)
        assert again.code == 0
        assert again.out.startswith(f"{LEASE} unchanged: already paused since ")
        resumed = await command(world, "resume", **settings)
        assert resumed.out.startswith(f"{LEASE} resumed: it was paused since ")
        await running.says("moves resumed")
        await world.wait("it is told", told(world, "Resumed", "Lease", 1))
        early = await running.says("pass ended", times=2)
        assert early["early"] == "resumed"
        await world.wait_for_record(pod["metadata"]["name"], phase="Completed")
        twice = await command(world, "resume", **settings)
        assert (twice.code, twice.out) == (0, f"{LEASE} unchanged: it was not paused\n")


async def test_what_has_begun_is_ended_and_what_waits_keeps_waiting(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    await world.afflict_copies(ready_after="4s")
    brief = {"enabledStrategies": [], "reschedulingInterval": "1s"}
    settings: dict[str, Any] = {**brief, "inFlight": {"perWorkload": 1}}
    first, second, _ = await world.pods("web")
    async with world.auditor() as auditor:
        async with controller(world, **settings) as running:
            await ask(world, first, empty)
            await world.wait_for_copy("web")
            waits = await command(world, "pause", "--wait", "--timeout", "60s", **settings)
            assert waits.code == 0, waits
            assert waits.lines[-1] == "nothing is under way"
            await ask(world, second, empty)
            # Long enough for it to have begun, if it did.
            await running.says("pass ended", times=1 + len(running.said("pass ended")))
            assert (await world.nodes_of("web")).count(empty) == 1
            held = await world.api.get("PodMigration", world.name, second["metadata"]["name"])
            assert not has_begun(held)
            await command(world, "resume", **settings)
            await world.wait_for_record(second["metadata"]["name"], phase="Completed")
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


async def test_another_leader_and_a_deleted_lease_do_not_end_it(world: World) -> None:
    await deploy_web(world, 3)
    settings = {"reschedulingInterval": "1s", **election(world)}
    assert (await command(world, "pause", **settings)).code == 0
    async with controller(world, **settings) as first:
        await first.says(SAYS_PAUSED)
        before = (await lease(world))["metadata"]["uid"]
        await world.api.delete("Lease", world.name, "rescheduler")

        async def is_new() -> bool:
            found = await world.api.find("Lease", world.name, "rescheduler")
            return found is not None and found["metadata"]["uid"] != before

        await world.wait("the lease is made anew", is_new)
        assert PAUSED in (await lease(world))["metadata"]["annotations"]
        first.kill()
        await first.finish()
    async with controller(world, **settings) as second:
        await second.says(SAYS_PAUSED)
        await second.says("pass ended", times=2)
        assert await world.records() == []


async def test_by_hand_any_value_but_false_pauses(world: World) -> None:
    await deploy_web(world, 1)
    async with controller(world, reschedulingInterval="1s", enabledStrategies=[]) as running:
        await running.says("pass ended")
        await pause_by_hand(world, "what?")
        said = await running.says(SAYS_PAUSED)
        assert (said["by"], said["because"]) == ("unknown", "what?")
        await pause_by_hand(world, "false")
        await running.says("moves resumed")


async def test_one_pass_ends_what_has_begun_and_begins_nothing(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    process = await world.start()
    await world.wait_for_copy("web")
    process.kill()
    await process.finish()
    await pause_by_hand(world)
    run = await world.run()
    assert run.code == 0, run
    assert "of what had begun, 1 moved and 0 did not" in run.summary
    assert (await world.nodes_of("web")).count(empty) == 1
    again = await world.run()
    assert again.code == 0, again
    assert again.summary == ("paused: a test; nothing new was begun: rescheduler resume ends it")
    assert (await world.nodes_of("web")).count(empty) == 1


async def test_one_pass_that_is_paused_in_the_middle_leaves_the_rest(world: World) -> None:
    await deploy_web(world, 4)
    await world.afflict_copies(ready_after="5s")
    settings = {"maxReschedulePods": 0, "inFlight": {"perWorkload": 1}}
    process = await world.start(**settings)
    await world.wait_for_copy("web")
    await pause_by_hand(world)
    run = await process.finish()
    assert run.code == 0, run
    assert await is_at_rest(world)
    done = [each for each in await world.records() if has_begun(each)]
    assert [each["status"]["phase"] for each in done] == ["Completed"]


async def test_drain_refuses_while_paused_and_waits_when_paused_in_the_middle(
    world: World,
) -> None:
    full, empty = await deploy_web(world, 2)
    await world.afflict_copies(ready_after="4s")
    await pause_by_hand(world, "not now")
    refused = await command(world, "drain", full)
    assert refused.code == 1
    assert refused.err == ("error: paused: not now; nothing new begins until `rescheduler resume`")
    node = await world.api.get("Node", None, full)
    assert not node["spec"].get("unschedulable")
    await resume_by_hand(world)
    path = str(world.configuration(inFlight={"perWorkload": 1}))
    draining = await world.start_as_admin("drain", full, "--config", path)
    await world.wait_for_copy("web")
    await pause_by_hand(world, "not now")
    await world.wait("the first one has moved", lambda: _has_moved(world, empty))
    assert await is_at_rest(world)
    await resume_by_hand(world)
    run = await draining.finish()
    # Of the stage, what is there to stay does.
    assert "2 moved:" in run.err, run.errors
    assert "paused: not now; waiting for `rescheduler resume`" in run.out
    assert await world.nodes_of("web") == [empty] * 2


async def _has_moved(world: World, node: str) -> bool:
    return (await world.nodes_of("web")).count(node) == 1 and await is_at_rest(world)


async def test_a_dry_run_takes_no_notice(world: World) -> None:
    await deploy_web(world, 2)
    await pause_by_hand(world)
    path = str(world.configuration())
    run = await as_admin(world, "run", "--once", "--dry-run", "--config", path)
    assert run.code == 0


async def test_a_lost_answer_or_a_conflict_makes_no_difference(world: World) -> None:
    await world.add_nodes(1)
    writes = Match(resource="leases", write=True)
    settings = LeaderElection(resource_namespace=world.name)
    wanted = Pause(since=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), by="ada", reason="why")
    async with world.faults() as proxy, world.connect() as kube:
        for fault in (drop_reply(), conflict()):
            rule = proxy.on(writes, fault, times=1)
            assert await pausing_by_hand.pause(kube, world.clock, settings, wanted) is None
            assert rule.fired
            assert PAUSED in (await lease(world))["metadata"]["annotations"]
            rule = proxy.on(writes, fault, times=1)
            assert await pausing_by_hand.resume(kube, world.clock, settings) == wanted
            assert rule.fired
            assert PAUSED not in ((await lease(world))["metadata"].get("annotations") or {})


async def test_cleanup_takes_the_pause_away(world: World) -> None:
    await world.add_nodes(1)
    await pause_by_hand(world)
    assert (await command(world, "cleanup")).code == 0
    assert await world.api.find("Lease", world.name, "rescheduler") is None
