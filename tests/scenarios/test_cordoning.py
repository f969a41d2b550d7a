"""A node labelled for maintenance is cordoned, and uncordoned when the label goes; users win."""

import json
from typing import Literal

import pytest

from testbed.api import Object
from testbed.faultproxy import Match, conflict, drop_reply, fail, kill
from tests.scenarios.looping import controller
from tests.scenarios.world import World

LABEL = "scheduler.alpha.kubernetes.io/maintenance"
ANNOTATION = "rescheduler.io/cordoned"
SETTINGS = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1h"}
PATCH = Match(verb="patch", resource="nodes")


async def label(world: World, node: str, value: str | None) -> None:
    await world.api.patch("Node", None, node, {"metadata": {"labels": {LABEL: value}}})


async def state(world: World, node: str) -> tuple[bool, str]:
    """Whether it is cordoned, and what is noted."""
    found: Object = await world.api.get("Node", None, node)
    annotations = found["metadata"].get("annotations") or {}
    return bool(found["spec"].get("unschedulable")), annotations.get(ANNOTATION, "")


async def wait_until(world: World, node: str, wanted: tuple[bool, str]) -> None:
    async def is_so() -> bool:
        return await state(world, node) == wanted

    await world.wait(f"{node} is {wanted}", is_so)


async def test_the_label_cordons_and_its_end_uncordons_without_waiting_for_the_interval(
    world: World,
) -> None:
    [node] = await world.add_nodes(1)
    async with controller(world, **SETTINGS) as running:
        await running.says("pass ended")
        await label(world, node, "true")
        await wait_until(world, node, (True, "maintenance"))
        early = await running.says("pass ended", times=2)
        await label(world, node, None)
        await wait_until(world, node, (False, ""))
    assert early["early"] == f"{node} labelled for maintenance"


async def test_a_node_that_its_user_had_cordoned_stays_cordoned(world: World) -> None:
    [node] = await world.add_nodes(1)
    await world.cordon(node)
    await label(world, node, "true")
    assert (await world.run(**SETTINGS)).code == 0
    assert await state(world, node) == (True, "")
    await label(world, node, None)
    assert (await world.run(**SETTINGS)).code == 0
    assert await state(world, node) == (True, "")


async def test_who_uncordons_it_while_it_is_labelled_has_the_last_word(world: World) -> None:
    [node] = await world.add_nodes(1)
    await label(world, node, "true")
    await world.run(**SETTINGS)
    await world.uncordon(node)
    for _ in range(2):
        await world.run(**SETTINGS)
        assert await state(world, node) == (False, "released")
    # And who cordons it again means it, also when the label has gone.
    await world.cordon(node)
    await world.run(**SETTINGS)
    await label(world, node, None)
    await world.run(**SETTINGS)
    assert await state(world, node) == (True, "")


async def test_a_node_labelled_with_another_value_or_not_in_scope_is_left(world: World) -> None:
    ours, other = await world.add_nodes(2)
    await label(world, ours, "false")
    await label(world, other, "true")
    scope = {"namespaces": [world.name], "nodeSelector": f"kubernetes.io/hostname={ours}"}
    await world.run(**SETTINGS, scope=scope)
    assert await state(world, ours) == (False, "")
    assert await state(world, other) == (False, "")


async def test_without_the_strategy_nobody_is_cordoned_but_what_we_cordoned_is_given_back(
    world: World,
) -> None:
    before, after = await world.add_nodes(2)
    await label(world, before, "true")
    await world.run(**SETTINGS)
    await label(world, before, None)
    await label(world, after, "true")
    await world.run(enabledStrategies=[])
    assert await state(world, before) == (False, "")
    assert await state(world, after) == (False, "")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_the_patch_the_next_run_goes_on(
    world: World, when: Literal["before", "after"]
) -> None:
    [node] = await world.add_nodes(1)
    await label(world, node, "true")
    async with world.faults() as proxy:
        process = await world.start(**SETTINGS)
        fired = proxy.on(PATCH, kill(process, when=when), times=1)
        await process.finish()
        assert fired.fired == 1
        assert await state(world, node) == (
            (True, "maintenance") if when == "after" else (False, "")
        )
        await world.run(**SETTINGS)
        assert await state(world, node) == (True, "maintenance")
        await label(world, node, None)
        process = await world.start(**SETTINGS)
        proxy.on(PATCH, kill(process, when=when), times=1)
        await process.finish()
        await world.run(**SETTINGS)
    assert await state(world, node) == (False, "")


async def test_a_lost_reply_and_a_conflict_change_nothing_about_the_end(world: World) -> None:
    one, two = await world.add_nodes(2)
    for node in (one, two):
        await label(world, node, "true")
    async with world.faults() as proxy:
        proxy.on(Match(verb="patch", resource="nodes", name=one), drop_reply(), times=1)
        proxy.on(Match(verb="patch", resource="nodes", name=two), conflict(), times=1)
        run = await world.run(**SETTINGS)
    assert run.code == 0, run
    assert await state(world, one) == await state(world, two) == (True, "maintenance")


async def test_a_node_that_may_not_be_cordoned_is_emptied_all_the_same(world: World) -> None:
    [node] = await world.add_nodes(1)
    await label(world, node, "true")
    async with world.faults() as proxy:
        proxy.on(PATCH, fail(403, reason="Forbidden", message="no right to patch nodes"))
        run = await world.run(**SETTINGS)
    assert run.code == 0, run
    [told] = run.said("node could not be cordoned or uncordoned")
    assert (told["node"], told["problem"]) == (node, "no right to patch nodes")
    assert "1 node to empty" in run.summary


async def test_every_patch_names_the_version_that_it_was_decided_by(world: World) -> None:
    [node] = await world.add_nodes(1)
    await label(world, node, "true")
    async with world.faults() as proxy:
        await world.run(**SETTINGS)
        await label(world, node, None)
        await world.run(**SETTINGS)
    patches = [each for each in proxy.writes if each.resource == "nodes"]
    # The cordon, what is told on the node, and the end of both in one.
    assert [each.name for each in patches] == [node] * 3
    for each in patches:
        metadata = json.loads(each.body)["metadata"]
        assert metadata["uid"]
        assert metadata["resourceVersion"]
