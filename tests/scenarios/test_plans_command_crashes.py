"""approve, reject, apply and undo make one write each, and are killed before and after it, or lose
the reply to it: whoever types the command again gets what he wanted, once.

And users edit and delete plans at each write of who carries them out: what they want counts.
"""

import asyncio
import signal
from collections.abc import Sequence
from typing import Any, Literal, get_args

import pytest
import yaml

from rescheduler.model import reschedule_plan
from testbed.api import Object
from testbed.faultproxy import Match, drop_reply, hold, kill
from tests.scenarios.deploying import deploy_web
from tests.scenarios.drawing import drawn
from tests.scenarios.looping import ended
from tests.scenarios.planning import annotate, name_of, plans
from tests.scenarios.test_plans_asked_for import document
from tests.scenarios.world import World

When = Literal["undisturbed", "before", "after", "reply lost"]
Verb = Literal["approve", "reject", "apply", "undo"]
WRITES = ("create", "update", "patch", "delete")
WRITTEN = Match(predicate=lambda each: each.verb in WRITES)
OF_PLANS = Match(
    resource="rescheduleplans", subresource="*", predicate=lambda each: each.verb in WRITES
)
ONLY_THIS: dict[str, Any] = {"mode": "Approve", "enabledStrategies": []}
COMMANDS = [
    pytest.param(verb, when, id=f"{verb}-{when.replace(' ', '-')}")
    for verb in get_args(Verb)
    for when in get_args(When)
]


async def _arguments(world: World, verb: Verb, full: str, empty: str) -> Sequence[str]:
    if verb == "apply":
        world.configuration(**ONLY_THIS)
        file = world.folder / "plan.yaml"
        file.write_text(yaml.safe_dump(document(world, (await world.pods("web"))[:1], full, empty)))
        return verb, str(file)
    run = await world.run(**({} if verb == "undo" else {"mode": "Approve"}))
    assert run.code == 0, run
    [plan] = await plans(world)
    return verb, name_of(plan)


@pytest.mark.parametrize(("verb", "when"), drawn(COMMANDS, matrix="CRASH", share=1 / 4))
async def test_a_command_that_dies_at_its_one_write_can_be_typed_again(
    world: World, verb: Verb, when: When
) -> None:
    full, empty = await deploy_web(world, 2)
    arguments = [*await _arguments(world, verb, full, empty)]
    arguments += ["--config", str(world.configured)]
    async with world.faults() as proxy:
        process = await world.start_as_admin(*arguments)
        if when == "reply lost":
            proxy.on(OF_PLANS, drop_reply(), times=1)
        elif when != "undisturbed":
            proxy.on(OF_PLANS, kill(process, when=when), times=1)
        first = await ended(process)
        written = [each.verb for each in proxy.requests if WRITTEN.accepts(each)]
    is_dead = when in ("before", "after")
    assert first.code == (-signal.SIGKILL if is_dead else 0), first
    # Lost replies may be asked for again, under the same name.
    assert len(written) == 1 or when == "reply lost", written
    again = await ended(await world.start_as_admin(*arguments))
    is_undone_already = "is being undone by" in again.err
    assert again.code == 0 or (verb == "undo" and is_undone_already and when != "before"), again
    await _run_until_all_is_over(world)
    nodes = await world.nodes_of("web")
    assert nodes.count(empty) == {"approve": 1, "reject": 0, "apply": 1, "undo": 0}[verb]
    assert len(nodes) == 2
    assert all(each["status"]["phase"] == "Completed" for each in await world.records())


async def _run_until_all_is_over(world: World) -> None:
    for _ in range(5):
        if all(map(reschedule_plan.is_over, await plans(world))):
            return
        assert (await world.run(**ONLY_THIS)).code == 0
    assert [each["status"] for each in await plans(world)] == []


# ------------------------------------------------------------------ users meanwhile

Act = Literal["delete", "reject", "think better of it", "edit"]
LAST_WRITE = 3
USERS = [
    pytest.param(act, number, id=f"{act.replace(' ', '-')}-at-write-{number}")
    for act in get_args(Act)
    for number in range(1, LAST_WRITE + 1)
]


@pytest.mark.parametrize(("act", "number"), drawn(USERS, matrix="USER", share=1 / 4))
async def test_users_edit_and_delete_a_plan_while_it_is_carried_out(
    world: World, act: Act, number: int
) -> None:
    """A write of ours is held on its way, and all behind it; the user acts; then they arrive."""
    _, empty = await deploy_web(world, 2)
    assert (await world.run(mode="Approve")).code == 0
    [plan] = await plans(world)
    await annotate(world, name_of(plan), "approved")
    arrives = asyncio.Event()
    async with world.faults() as proxy:
        rule = proxy.on(OF_PLANS, hold(arrives), after=number - 1)
        process = await world.start(**ONLY_THIS)
        await world.wait("the write is held, or there is none", lambda: _is_held(rule, process))
        # On a busy machine there may be a write before the one that begins it.
        [now] = await plans(world)
        had_begun = now["status"]["phase"] != "Waiting"
        await _act(world, act, name_of(plan))
        arrives.set()
        run = await process.finish()
    assert run.code == 0, run
    assert number > 1 or not had_begun
    if act == "delete":
        assert await plans(world) == []
    else:
        assert (await world.run(**ONLY_THIS)).code == 0
        [found] = await plans(world)
        said = (found["status"]["phase"], found["metadata"].get("annotations") or {})
        ends: dict[Act, str] = {
            "reject": "Completed" if had_begun else "Rejected",
            "think better of it": "Completed" if had_begun else "Waiting",
            "edit": "Completed",
        }
        assert said[0] == ends[act], found["status"]
        if act == "edit":
            assert said[1]["mine"] == "kept"
    moved = (await world.nodes_of("web")).count(empty)
    assert moved == (1 if had_begun or act == "edit" else 0)
    assert all(each["status"]["phase"] == "Completed" for each in await world.records())


async def _is_held(rule: Any, process: Any) -> bool:  # noqa: ANN401 - of either cluster
    return bool(rule.fired or process.has_ended)


async def _act(world: World, act: Act, name: str) -> None:
    if act == "delete":
        await world.api.delete("ReschedulePlan", world.name, name)
    elif act == "reject":
        await annotate(world, name, "rejected")
    elif act == "think better of it":
        await annotate(world, name, None)
    else:
        change: Object = {"metadata": {"annotations": {"mine": "kept"}}}
        await world.api.patch("ReschedulePlan", world.name, name, change)
