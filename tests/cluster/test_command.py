"""`rescheduler run --once` as an operator meets it."""

import re
import signal

import pytest
import yaml

from testbed.builders import deployment
from testbed.world import OWNER, World
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_exactly_one_moved
from tests.scenarios.looping import controller


async def test_reads_a_scheduler_configuration_file(world: World) -> None:
    """S9: the file that a kube-scheduler has, with our plugin's settings in it."""
    full, empty = await deploy_web(world, 2)
    arguments = {
        "imbalanceThreshold": 30.0,
        "scope": {"namespaces": [world.name], "nodeSelector": f"{OWNER}={world.name}"},
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "rescheduler-scheduler",
                "plugins": {"filter": {"enabled": [{"name": "Rescheduler"}]}},
                "pluginConfig": [{"name": "Rescheduler", "args": arguments}],
            }
        ],
    }
    path = world.folder / "scheduler.yaml"
    path.write_text(yaml.safe_dump(document))
    process = await world.start_command("run", "--once", "--config", str(path))
    run = await process.finish()
    assert run.code == 0, run
    assert f"from {full} to {empty}" in run.summary


async def test_rests_and_says_why_when_there_is_little_to_gain(world: World) -> None:
    await world.add_nodes(2)
    await world.create(deployment("web", replicas=1))
    await world.wait("web is complete", lambda: world.is_complete("web"))
    run, audit = await world.audited_run()
    assert run.code == 0, run
    assert "imbalance 12.5 points, not above the threshold of 20" in run.summary
    assert audit.writes() == []


async def test_every_step_is_one_structured_line(world: World) -> None:
    """S13: pod, source, target, strategy and the reason in numbers, on each."""
    full, empty = await deploy_web(world, 2)
    run = await world.run()
    steps = [line for line in run.lines if "migration" in line]
    assert [line["event"] for line in steps[:2]] == [
        "migration asks what admission makes of a copy",
        "migration marks the original as being moved",
    ]
    assert steps[-1]["event"] == "migration ended"
    for line in steps:
        assert (line["source"], line["target"], line["strategy"]) == (full, empty, "LoadBalancing")
        assert line["pod"].startswith(f"{world.name}/web-")
        assert "gap 50.0 points" in line["reason"]


async def test_names_every_mistake_in_the_configuration_and_does_nothing(world: World) -> None:
    run, audit = await world.audited_run(
        cpuTreshold=80, imbalanceThreshold="much", maxReschedulePods=-1
    )
    assert run.code == 1
    assert 'cpuTreshold: unknown field; did you mean "cpuThreshold"?' in run.errors
    assert "imbalanceThreshold:" in run.errors
    assert "maxReschedulePods:" in run.errors
    assert "Traceback" not in run.errors
    assert audit.requests == ()


async def test_says_in_one_line_that_it_may_not(world: World) -> None:
    world.token = "of-nobody"  # noqa: S105 - wrong on purpose
    run = await world.run()
    assert run.code == 1
    assert "Traceback" not in run.errors
    assert "error: " in run.errors
    assert "Unauthorized" in run.errors


async def test_it_ends_at_once_with_what_to_do_when_it_cannot_begin(world: World) -> None:
    world.token = "of-nobody"  # noqa: S105 - wrong on purpose
    async with controller(world) as running:
        run = await running.finish()
    assert run.code == 1
    assert run.errors.startswith("error: ")
    assert "Traceback" not in run.errors


async def test_says_in_one_line_that_there_is_no_server(world: World) -> None:
    world.api_url = "https://127.0.0.1:1"
    run = await world.run()
    assert run.code == 1
    assert "Traceback" not in run.errors
    assert re.match(r"error: (nodes|pods): GET /api", run.errors)
    assert "Cannot connect to host 127.0.0.1:1" in run.errors


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_stopped_in_the_middle_it_says_so_and_the_next_run_goes_on(
    world: World, how: signal.Signals
) -> None:
    _, empty = await deploy_web(world, 2)
    await world.afflict_copies(ready_after="8s")
    async with world.auditor() as auditor:
        started = await world.start()
        await world.wait_for_copy("web")
        started.send_signal(how)
        stopped = await started.finish()
        second = await world.run(enabledStrategies=[])
        audit = await world.audit(auditor)
    assert stopped.code == 130
    assert stopped.errors == (
        "interrupted; the next run ends what is left unfinished, as does rescheduler cleanup"
    )
    assert second.code == 0, second
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
