"""Migrations that somebody asks for without saying where to: whoever leads chooses."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any, Literal

import pytest

from testbed.api import Object
from testbed.builders import budget, pod_spec, workload
from testbed.faultproxy import (
    Fault,
    Match,
    conflict,
    drop_reply,
    drop_request,
    hold,
    internal_error,
    kill,
    throttled,
    unavailable,
)
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import (
    assert_exactly_one_moved,
    assert_nobody_noticed,
    assert_nothing_of_ours_is_left,
)
from tests.scenarios.looping import as_admin, controller
from tests.scenarios.world import World

ONLY_ASKED: dict[str, Any] = {"enabledStrategies": [], "reschedulingInterval": "1h"}
"""So that whatever happens at once is not by a strategy, nor by a pass whose time had come."""


# Nothing else of a record is written but its status, as a surge needs no label for steering.
CHOICE = Match(verb="patch", resource="podmigrations")
REFUSAL = Match(verb="patch", resource="podmigrations", subresource="status")


async def test_a_pod_asked_away_is_moved_at_once_and_nobody_notices(world: World) -> None:
    full, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor:
        async with controller(world, **ONLY_ASKED) as running:
            await running.says("pass ended")
            await ask(world, pod)
            record = await world.wait_for_record(phase="Completed")
            early = await running.says("pass ended", times=2)
        audit = await world.audit(auditor)
    assert (record["spec"]["source"], record["spec"]["target"]) == (full, empty)
    assert early["early"] == "1 PodMigration asks for a target"
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    await assert_nothing_of_ours_is_left(world)


async def test_all_pods_of_a_cordoned_node_are_moved_by_one_pass(world: World) -> None:
    full, empty = await deploy_web(world, 4, budget("web", maxUnavailable=0))
    await world.cordon(full)
    pods = await world.pods("web")
    async with world.auditor() as auditor:
        for pod in pods:
            await ask(world, pod)
        async with controller(world, **ONLY_ASKED) as running:
            first = await running.says("pass ended")
            for pod in pods:
                await world.wait_for_record(pod["metadata"]["name"], phase="Completed")
        audit = await world.audit(auditor)
    assert first["planned"] == 4
    assert await world.nodes_of("web") == [empty] * 4
    assert_nobody_noticed(audit)
    await assert_nothing_of_ours_is_left(world)


async def test_one_pass_alone_chooses_too(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    [pod, *_] = await world.pods("web")
    await ask(world, pod)
    run = await world.run(enabledStrategies=[])
    assert run.code == 0, run
    record = await world.wait_for_record(phase="Completed")
    assert record["spec"]["target"] == empty


async def test_where_no_node_takes_it_it_fails_at_once_and_says_why(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    await world.cordon(empty)
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor:
        async with controller(world, **ONLY_ASKED) as running:
            await running.says("pass ended")
            await ask(world, pod)
            record = await world.wait_for_record(phase="Failed")
        audit = await world.audit(auditor)
    status = record["status"]
    assert (status["reason"], status["step"]) == ("NoTarget", "Done")
    assert status["message"].startswith("no node takes it: ")
    assert "cordoned" in status["message"]
    assert "target" not in record["spec"]
    [condition] = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "NoTarget")
    assert audit.replicas_missing() == []
    told = await as_admin(world, "get", "migrations", "-n", world.name)
    [line] = [each for each in told.lines if "NoTarget" in each]
    assert "<none>" in line


@pytest.mark.parametrize("who", ["DaemonSet", "opted out"])
async def test_who_must_not_move_is_told_so(world: World, who: str) -> None:
    full, _ = await deploy_web(world, 1)
    if who == "DaemonSet":
        await world.create(workload("DaemonSet", "agent", spec=pod_spec()))
        await world.wait("the agents run", lambda: _runs_on(world, "agent", full))
        app = "agent"
    else:
        app = "ballast"
    [pod, *_] = [each for each in await world.pods(app) if each["spec"]["nodeName"] == full]
    await ask(world, pod)
    async with controller(world, **ONLY_ASKED):
        record = await world.wait_for_record(phase="Failed")
    assert record["status"]["reason"] == "NotMovable"
    words = "DaemonSet" if who == "DaemonSet" else "rescheduling keeps it out: take it off"
    assert words in record["status"]["message"]


async def _runs_on(world: World, app: str, node: str) -> bool:
    return node in await world.nodes_of(app)


async def test_of_a_pod_that_is_gone_it_ends_as_any_other(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    gone = {**pod, "metadata": {**pod["metadata"], "uid": "0c4e0c9a-6d0e-4c57-9e0c-2f7c1f0f3c11"}}
    await ask(world, gone)
    named = {**gone, "metadata": {**gone["metadata"], "name": "nobody"}}
    await ask(world, named, empty)
    async with controller(world, **ONLY_ASKED):
        for each in (gone, named):
            name = each["metadata"]["name"]
            record = await world.wait_for_record(name, phase="Failed")
            assert record["status"]["reason"] == "NotNow"
            assert record["status"]["message"] == "the pod is gone"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_when_it_writes_its_choice_the_next_leader_goes_on(
    world: World, when: Literal["before", "after"]
) -> None:
    _, empty = await deploy_web(world, 2, budget("web", maxUnavailable=0))
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            await ask(world, pod)
            async with controller(world, **ONLY_ASKED) as running:
                proxy.on(CHOICE, kill(running, when=when), times=1)
                first = await running.finish()
        [record] = await world.records()
        assert record["spec"].get("target", "") == (empty if when == "after" else "")
        async with controller(world, **ONLY_ASKED):
            await world.wait_for_record(phase="Completed")
        audit = await world.audit(auditor)
    assert first.code == -signal.SIGKILL
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    await assert_nothing_of_ours_is_left(world)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_when_it_says_no_the_next_leader_says_it(
    world: World, when: Literal["before", "after"]
) -> None:
    _, empty = await deploy_web(world, 2)
    await world.cordon(empty)
    [pod, *_] = await world.pods("web")
    async with world.faults() as proxy:
        await ask(world, pod)
        async with controller(world, **ONLY_ASKED) as running:
            proxy.on(REFUSAL, kill(running, when=when), times=1)
            await running.finish()
    [record] = await world.records()
    assert record["status"]["phase"] == ("Failed" if when == "after" else "Pending")
    async with controller(world, **ONLY_ASKED):
        record = await world.wait_for_record(phase="Failed")
    assert record["status"]["reason"] == "NoTarget"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(drop_reply, id="reply-lost"),
        pytest.param(drop_request, id="request-lost"),
        pytest.param(unavailable, id="503"),
        pytest.param(internal_error, id="500"),
        pytest.param(throttled, id="throttled"),
        pytest.param(conflict, id="conflict"),
    ],
)
@pytest.mark.parametrize("write", ["choice", "refusal"])
async def test_a_write_that_fails_once_is_made_good(
    world: World, write: str, fault: Callable[[], Fault]
) -> None:
    _, empty = await deploy_web(world, 2)
    if write == "refusal":
        await world.cordon(empty)
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor, world.faults() as proxy:
        planted = proxy.on(CHOICE if write == "choice" else REFUSAL, fault(), times=1)
        await ask(world, pod)
        async with controller(world, **ONLY_ASKED):
            if write == "choice":
                await world.wait_for_record(phase="Completed")
            else:
                record = await world.wait_for_record(phase="Failed")
                assert record["status"]["reason"] == "NoTarget"
        assert planted.fired == 1
        audit = await world.audit(auditor)
    if write == "choice":
        await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def _set_target(world: World, pod: Object, target: str) -> None:
    name = pod["metadata"]["name"]
    await world.api.patch("PodMigration", world.name, name, {"spec": {"target": target}})


@pytest.mark.parametrize("write", ["choice", "refusal"])
async def test_a_user_who_sets_the_target_meanwhile_wins(world: World, write: str) -> None:
    """What the planner has decided is on its way when the user writes."""
    _, one = await deploy_web(world, 2)
    [other] = await world.add_nodes(1)
    [pod, *_] = await world.pods("web")
    go_on = asyncio.Event()
    nodes = [other] if write == "choice" else [one, other]
    for node in nodes:
        await world.cordon(node)
    async with world.auditor() as auditor, world.faults() as proxy:
        match = CHOICE if write == "choice" else REFUSAL
        planted = proxy.on(match, hold(go_on), times=1)
        await ask(world, pod)
        async with controller(world, **ONLY_ASKED):
            await world.wait("the planner has decided", lambda: _has_fired(planted))
            for node in nodes:
                await world.uncordon(node)
            await _set_target(world, pod, other)
            go_on.set()
            record = await world.wait_for_record(phase="Completed")
        audit = await world.audit(auditor)
    assert record["spec"]["target"] == other
    await assert_exactly_one_moved(world, audit, app="web", to=other)


async def _has_fired(planted: Any) -> bool:  # noqa: ANN401 - of either cluster
    return bool(planted.fired)


async def test_what_was_chosen_is_kept_and_nothing_else_may_change(world: World) -> None:
    full, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    name = (await ask(world, pod))["metadata"]["name"]

    async def refusal(spec: Object) -> str:
        with pytest.raises(Exception, match="invalid") as refused:
            await world.api.patch("PodMigration", world.name, name, {"spec": spec})
        return str(refused.value)

    unchanged = "the spec of a migration cannot be changed"
    assert "the target must be another node" in await refusal({"target": full})
    for field, value in {
        "source": empty,
        "strategy": "Other",
        "reason": None,
        "asked": False,
        "forced": True,
        "attempt": 2,
        "way": "Surge",
        "mayRecreate": True,
        "group": {"id": "a", "size": 1},
        "settings": {"settle": "1s"},
        "pod": {"name": "another"},
    }.items():
        assert unchanged in await refusal({field: value, "target": empty}), field
        assert unchanged in await refusal({field: value}), field
    await _set_target(world, pod, empty)
    for target in ("another", None):
        assert unchanged in await refusal({"target": target})


async def test_until_somebody_leads_it_waits_and_is_told_of(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await ask(world, pod)
    told = await as_admin(world, "get", "migrations", "-n", world.name)
    assert "<to be chosen>" in told.out
    path = str(world.configuration(**ONLY_ASKED))
    status = await as_admin(world, "status", "--config", path)
    assert "1 waiting (for 1 of them a target is being chosen)" in status.out
    async with controller(world, "--dry-run", **ONLY_ASKED) as running:
        would = await running.says("pod would be moved")
    assert would["target"] == empty
    [record] = await world.records()
    assert "target" not in record["spec"]
    assert record["status"] == {"phase": "Pending"}
