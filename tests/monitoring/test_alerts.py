"""The alerts: right in form, and each seen firing by a real Prometheus."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml

from rescheduler.model.published import MovesUnderWay, Now, Plans, Role
from rescheduler.serve import Board
from testbed.faultproxy import Match, cut_after, fail
from testbed.world import World
from tests.monitoring.scraping import ALERTS, prometheus
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.pausing import pause_by_hand
from tests.scenarios.test_reloading import rewrite
from tests.scenarios.test_serving import free_port
from tests.unit.serve.asking import LEADING, PASS, UNSEEN, Site, site

EVERY = {
    rule["alert"]
    for group in yaml.safe_load(ALERTS.read_text())["groups"]
    for rule in group["rules"]
}
AT_ONCE = EVERY - {"ReschedulerDown", "ReschedulerNoLeader"}


def promtool(*words: str) -> str:
    command = ["promtool", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_finds_no_fault() -> None:
    assert f"{len(EVERY)} rules found" in promtool("check", "rules", str(ALERTS))


def test_each_fires_when_its_time_has_come_and_not_before() -> None:
    """With the windows and the patience that it ships with, by promtool's own clock."""
    promtool("test", "rules", str(Path(__file__).with_name("alerts_test.yaml")))


@contextmanager
def replicas() -> Iterator[tuple[Site, Site]]:
    with site(Board(["pods"])) as first, site(Board(["pods"])) as second:
        yield first, second


def be_in_every_trouble(first: Board, second: Board) -> None:
    """What happens is counted again and again, as rates need a change to be seen."""
    first.publish(
        replace(
            LEADING,
            watches={"pods": UNSEEN},
            moves=MovesUnderWay(breaker_seconds=9.0),
            last_pass=PASS,
            paused=True,
            configuration_error="cpuThreshold: must be a number",
            plans=Plans(failing={"LoadBalancing": True}),
        )
    )
    second.publish(replace(LEADING, is_synced=False))
    first.record.passed(0.1, well=False)
    first.record.plan_became("expired")
    first.record.moved("LoadBalancing", "Surge", "NotReadyInTime", 9.0)
    first.record.moved("NodeMaintenance", "Recreate", "ReplacementNotReady", 9.0)
    first.heard("get", "pods", 503, 0.1)


async def test_every_alert_is_seen_firing(tmp_path: Path) -> None:
    with replicas() as (first, second):
        async with prometheus(tmp_path, [first.port, second.port]) as server:
            await server.finds("count(rescheduler_build_info) == 2")

            async def suffer() -> None:
                while True:
                    be_in_every_trouble(first.board, second.board)
                    await asyncio.sleep(0.3)

            suffering = asyncio.create_task(suffer())
            try:
                await server.fires(AT_ONCE)
            finally:
                suffering.cancel()
            for board in (first.board, second.board):
                board.publish(Now(role=Role.STANDING_BY))
            await server.fires({"ReschedulerNoLeader"})


async def test_a_real_run_is_scraped_and_its_end_is_noticed(world: World, tmp_path: Path) -> None:
    await deploy_web(world, 2)
    port = free_port()
    settings = {"reschedulingInterval": "1s", **election(world)}
    serving = {"bindAddress": "127.0.0.1", "port": port}
    async with prometheus(tmp_path, [port]) as server:
        async with controller(world, **settings, serving=serving) as running:
            await server.finds('sum(rescheduler_moves_total{result="completed"}) > 0')
            await server.finds('sum(rescheduler_api_requests_total{verb="watch"}) > 0')
            await server.finds("rescheduler_ready == 1 and rescheduler_leader == 1")
            firing = await asyncio.to_thread(server.firing)
            assert (await running.stop()).code == 0
        # Prometheus knows that its target is gone after one scrape that failed.
        await server.fires({"ReschedulerDown"})
    assert "ReschedulerNotReady" not in firing
    assert "ReschedulerMoveFailureRateHigh" not in firing


async def test_a_real_run_that_is_in_trouble_sets_off_what_fits(
    world: World, tmp_path: Path
) -> None:
    """One trouble after the other, as they befall a run; none is made up for Prometheus."""
    _, empty = await deploy_web(world, 4)
    await world.afflict_copies(never_ready="true")
    await lend_lease_to("somebody-else", world)
    port = free_port()
    settings = {
        "enabledStrategies": [],
        "reschedulingInterval": "1s",
        "serving": {"bindAddress": "127.0.0.1", "port": port},
        "migration": {
            "readyTimeout": "2s",
            "retry": {"attempts": 1},
            "circuitBreaker": {"failures": 4, "pause": "1h"},
        },
        **election(world),
    }
    path = world.configuration(**settings)
    async with (
        prometheus(tmp_path, [port]) as server,
        world.faults() as proxy,
        controller(world, **settings) as running,
    ):
        await server.fires({"ReschedulerNoLeader"})
        await lend_lease_to("", world)
        await running.says("pass ended")
        await server.finds("rescheduler_ready == 1 and rescheduler_leader == 1")
        assert not await asyncio.to_thread(server.firing) & {
            "ReschedulerMoveFailureRateHigh",
            "ReschedulerCircuitBreakerOpen",
            "ReschedulerPausedTooLong",
            "ReschedulerConfigurationRefused",
            "ReschedulerBlind",
        }
        for pod in await world.pods("web"):
            await ask(world, pod, empty)
        await server.fires({"ReschedulerMoveFailureRateHigh", "ReschedulerCircuitBreakerOpen"})
        await pause_by_hand(world)
        await server.fires({"ReschedulerPausedTooLong"})
        rewrite(path, cpuThreshold="hot")
        await server.fires({"ReschedulerConfigurationRefused"})
        proxy.on(Match(verb="list", resource="pods"), fail(500))
        proxy.on(Match(verb="watch", resource="pods"), cut_after(0))
        proxy.cut_all()
        await server.fires({"ReschedulerBlind"})


async def lend_lease_to(holder: str, world: World) -> None:
    """Whoever holds it does nothing, and is patient."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600 if holder else 1}
    if await world.api.find("Lease", world.name, "rescheduler") is None:
        metadata = {"name": "rescheduler", "namespace": world.name}
        await world.api.create({"kind": "Lease", "metadata": metadata, "spec": spec})
    else:
        await world.api.patch("Lease", world.name, "rescheduler", {"spec": spec})
