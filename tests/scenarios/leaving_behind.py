"""Writes what a version of ours leaves in clusters and on disks, for the versions after it to read:
`make upgrade-data`, when that version is released, and never again. `left_behind` reads it.

Migrations are made by the code of today, in every way of moving a pod, and plans with every fate,
on the embedded cluster; all objects are written down after each of its writes. A process that dies
there leaves just that.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import rescheduler
from rescheduler.embedded import virtual_time
from tests.scenarios import every_plan, leaving_files, left_behind
from tests.scenarios.album import pictures_of
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import make_embedded_world
from tests.scenarios.every_plan import STORIES, Story
from tests.scenarios.every_way import SETTINGS, WAYS, Way, set_stage_for
from tests.scenarios.left_behind import NAMESPACE


async def _leave_migrations(name: str, way: Way, path: Path, scratch: Path) -> None:
    async with make_embedded_world(scratch, NAMESPACE, seed=left_behind.SEED) as world:
        await set_stage_for(world, way)
        with pictures_of(world) as album:
            run = await world.run(**SETTINGS)
        if run.code != way.code:
            sys.exit(f"{name} ended with {run.code}, not {way.code}: nothing is written for it")
        album.write(path)


async def _leave_plans(story: Story, path: Path, scratch: Path) -> None:
    async with make_embedded_world(scratch, NAMESPACE, seed=left_behind.SEED) as world:
        await every_plan.set_stage_for(world, story)
        with pictures_of(world, without=("events",)) as album:
            await story.play(world)
        album.write(path)


def main() -> None:
    # Of no other version: the code of today does not write what an earlier one wrote.
    version = rescheduler.__version__.partition(".dev")[0]
    folder = left_behind.LEFT / version
    shutil.rmtree(folder, ignore_errors=True)
    for each in (left_behind.MIGRATIONS, left_behind.PLANS):
        (folder / each).mkdir(parents=True)
    for name, way in WAYS.items():
        path = folder / left_behind.MIGRATIONS / f"{name}.json"
        with tempfile.TemporaryDirectory() as scratch, speaking_apart():
            virtual_time.run(_leave_migrations(name, way, path, Path(scratch)))
    for name, story in STORIES.items():
        path = folder / left_behind.PLANS / f"{name}.json"
        with tempfile.TemporaryDirectory() as scratch, speaking_apart():
            virtual_time.run(_leave_plans(story, path, Path(scratch)))
    leaving_files.write(folder)


if __name__ == "__main__":
    main()
