"""Migrations that somebody asks for by creating a PodMigration."""

from dataclasses import replace

from rescheduler.config import Configuration, Migration, Scope
from rescheduler.migrate import migrating
from testbed.builders import budget
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_exactly_one_moved, assert_nothing_of_ours_is_left
from tests.scenarios.stage import set_stage
from tests.scenarios.world import World


def settings(world: World) -> Configuration:
    brief = replace(Migration(), ready_timeout_seconds=20.0)
    return replace(Configuration(), scope=Scope(namespaces=(world.name,)), migration=brief)


async def test_a_pod_is_moved_where_a_person_wants_it(world: World) -> None:
    _, empty = await set_stage(world, 2, budget("web", maxUnavailable=0))
    [pod, *_] = await world.pods("web")
    async with world.auditor() as auditor:
        asked = await ask(world, pod, empty)
        async with (
            world.connect() as kube,
            migrating(kube, world.clock, settings(world), holder="a test") as migrator,
        ):
            await migrator.synced()
            await migrator.idle()
            figures = migrator.figures
        audit = await world.audit(auditor)
    record = await world.api.get("PodMigration", world.name, asked["metadata"]["name"])
    assert record["status"]["phase"] == "Completed", record["status"]
    assert (figures.completed, figures.failed) == (1, 0)
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    await assert_nothing_of_ours_is_left(world)
