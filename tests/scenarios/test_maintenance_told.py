"""A node in maintenance says who is left on it and why: in the log, and on itself."""

from collections.abc import Awaitable, Callable

from testbed.api import Object
from testbed.faultproxy import Match, conflict, kill
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import as_admin, cleanup, controller, election
from tests.scenarios.world import World

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
STATUS = "rescheduler.io/maintenance-status"
KEEPS = "scheduler.alpha.kubernetes.io/rescheduling"
EMPTY = "empty, but for pods of DaemonSets and static ones"
LABELLED = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1h"}
CORDONED = {**LABELLED, "nodeMaintenance": {"cordonedNodes": True}}
TOLD = Match(
    verb="patch", resource="nodes", predicate=lambda request: STATUS.encode() in request.body
)


async def label(world: World, node: str, value: str | None) -> None:
    await world.api.patch("Node", None, node, {"metadata": {"labels": {MAINTENANCE: value}}})


async def told(world: World, node: str) -> str:
    found: Object = await world.api.get("Node", None, node)
    return str((found["metadata"].get("annotations") or {}).get(STATUS, ""))


def says(world: World, node: str, right: Callable[[str], bool]) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return right(await told(world, node))

    return is_so


def names_the_ballast(words: str) -> bool:
    return (
        words.startswith("2 pods left, 2 of them stay: ")
        and words.count("/ballast-") == 2
        and KEEPS in words
    )


async def remove(world: World, app: str) -> None:
    await world.delete_workload(app)

    async def is_gone() -> bool:
        return not await world.pods(app)

    await world.wait(f"{app} is gone", is_gone)


async def test_who_stays_is_told_in_the_log_and_on_the_node_until_the_label_goes(
    world: World,
) -> None:
    full, empty = await deploy_web(world, 2)
    async with world.auditor() as auditor:
        async with controller(world, **LABELLED) as running:
            await running.says("pass ended")
            await label(world, full, "true")
            stays = await running.says("pod stays on node in maintenance", times=2)
            await world.wait("it says who stays", says(world, full, names_the_ballast))
            assert await world.nodes_of("web") == [empty] * 2
            await label(world, full, None)
            await world.wait("it says nothing more", says(world, full, lambda words: not words))
        audit = await world.audit(auditor)
    assert (stays["level"], stays["node"]) == ("warning", full)
    assert stays["pod"].startswith(f"{world.name}/ballast-")
    assert KEEPS in stays["because"]
    news = [
        line
        for line in running.said("pod stays on node in maintenance")
        if line["level"] == "warning"
    ]
    assert len(news) == 2
    assert_nobody_noticed(audit)


async def test_it_says_that_it_is_empty_and_writes_only_when_that_changes(world: World) -> None:
    full, empty = await deploy_web(world, 1)
    await remove(world, "ballast")
    async with world.faults() as proxy:
        settings = {**LABELLED, "reschedulingInterval": "1s"}
        async with controller(world, **settings) as running:
            await label(world, full, "true")
            await world.wait("it is empty", says(world, full, lambda words: words == EMPTY))
            passes = len(running.said("pass ended"))
            written = len([each for each in proxy.writes if TOLD.accepts(each)])
            await running.says("pass ended", times=passes + 3)
            assert len([each for each in proxy.writes if TOLD.accepts(each)]) == written
    assert await world.nodes_of("web") == [empty]


async def test_cordons_begin_and_end_a_maintenance_where_they_count(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    async with world.auditor() as auditor:
        async with controller(world, **CORDONED) as running:
            await running.says("pass ended")
            await world.cordon(full)
            began = await running.says("pass ended", times=2)
            await world.wait("it says who stays", says(world, full, names_the_ballast))
            await running.says("pass ended", where=lambda line: line.get("moved") == 2)
            await world.uncordon(full)
            ended = await running.says(
                "pass ended", where=lambda line: "no longer" in line.get("early", "")
            )
            await world.wait("it says nothing more", says(world, full, lambda words: not words))
        audit = await world.audit(auditor)
    assert began["early"] == f"{full} cordoned"
    assert ended["early"] == f"{full} no longer cordoned"
    assert await world.nodes_of("web") == [empty] * 2
    assert_nobody_noticed(audit)


async def test_killed_or_in_conflict_the_next_one_tells_the_same(world: World) -> None:
    full, _ = await deploy_web(world, 1)
    await label(world, full, "true")
    async with world.faults() as proxy:
        process = await world.start(**LABELLED)
        fired = proxy.on(TOLD, kill(process, when="before"), times=1)
        await process.finish()
        assert fired.fired == 1
        assert await told(world, full) == ""
        for _ in range(2):
            proxy.on(TOLD, conflict(), times=1)
            run = await world.run(**LABELLED)
            assert run.code == 0, run
    assert names_the_ballast(await told(world, full))


async def test_drain_tells_the_same_and_cleaning_removes_it(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    path = str(world.configuration(**election(world)))
    drained = await as_admin(world, "drain", full, "--config", path)
    assert drained.out.count("/ballast-") + drained.err.count("/ballast-") >= 2
    words = await told(world, full)
    assert words.startswith("drain: ")
    assert words.count("/ballast-") == 2
    assert KEEPS in words
    # It is true as long as the node is cordoned, also while somebody leads.
    await world.run(**LABELLED)
    assert await told(world, full) == words
    assert (await cleanup(world, "--all")).code == 0
    assert await told(world, full) == ""
    assert await world.nodes_of("web") == [empty] * 2
