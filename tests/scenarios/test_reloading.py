"""A changed configuration file is taken up while the controller runs."""

import os
from pathlib import Path

import yaml

from testbed.processes import Line
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import controller
from tests.scenarios.test_events import LABELLED, label, told
from tests.scenarios.world import World


def rewrite(path: Path, **settings: object) -> None:
    """The file that the controller was started with."""
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **settings}))


async def test_a_changed_file_triggers_a_pass_and_a_wrong_one_is_told(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    settings = {**LABELLED, "enabledStrategies": []}
    path = world.configuration(**settings)
    async with controller(world, **settings) as running:
        await running.says("pass ended")
        await label(world, full)
        rewrite(path, cpuThreshold=1000)
        refused = await running.says("configuration refused: the last good one stays in force")
        assert "cpuThreshold: " in refused["problem"]
        await world.wait("it is told", told(world, "ConfigurationRefused", "Lease", 1))
        rewrite(path, cpuThreshold=70, enabledStrategies=["NodeMaintenance"])
        changed = await running.says("configuration changed")
        assert changed["settings"] == ["enabledStrategies", "cpuThreshold"]
        because = "the configuration has changed"

        def is_early(line: Line) -> bool:
            return because in line.get("early", "")

        await running.says("pass ended", where=is_early)
        await running.says("pass ended", where=lambda line: line.get("moved") == 2)
        rewrite(path, cpuThreshold=71)
        await running.says("pass ended", where=is_early, times=2)
        # What the passes before have told is not told again.
        assert sum(line["moved"] for line in running.said("pass ended")) == 2
    assert await world.nodes_of("web") == [empty] * 2


async def test_moves_under_way_go_on_when_their_settings_change(world: World) -> None:
    full, empty = await deploy_web(world, 4)
    settings = {**LABELLED, "migration": {"linger": "5s"}}
    path = world.configuration(**settings)
    async with world.auditor() as auditor:
        async with controller(world, **settings) as running:
            await running.says("pass ended")
            await label(world, full)

            async def one_leaves() -> bool:
                records = await world.records()
                return any(each["status"].get("step") == "Leave" for each in records)

            await world.wait("an original leaves its Services", one_leaves)
            rewrite(path, migration={"linger": "5s", "workers": 3}, inFlight={"perNode": 2})
            await running.says("configuration changed: moves go on by it")
            await running.says("resuming unfinished migrations")

            async def all_have_moved() -> bool:
                records = await world.records()
                phases = [each["status"]["phase"] for each in records]
                return phases == ["Completed"] * 4

            await world.wait("all have moved", all_have_moved)
        audit = await world.audit(auditor)
    assert await world.nodes_of("web") == [empty] * 4
    assert_nobody_noticed(audit)


async def test_a_pipe_in_place_of_the_file_holds_up_nobody(world: World) -> None:
    await deploy_web(world, 1)
    settings = {"enabledStrategies": [], "reschedulingInterval": "1s"}
    path = world.configuration(**settings)
    async with controller(world, **settings) as running:
        await running.says("pass ended")
        text = path.read_text()
        path.unlink()
        os.mkfifo(path)
        refused = await running.says("configuration refused: the last good one stays in force")
        assert refused["problem"].endswith("cannot be read: not a regular file")
        path.unlink()
        path.write_text(text)
        rewrite(path, cpuThreshold=70)
        await running.says("configuration changed")
