"""The alerts: right in form, and each seen firing by a real Prometheus."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml

from rescheduler.model.published import MovesUnderWay, Now, Role
from rescheduler.serve import Board
from testbed.world import World
from tests.monitoring.scraping import ALERTS, prometheus
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.test_serving import free_port
from tests.unit.serve.asking import LEADING, PASS, UNSEEN, Site, site

EVERY = {
    rule["alert"]
    for group in yaml.safe_load(ALERTS.read_text())["groups"]
    for rule in group["rules"]
}
AT_ONCE = EVERY - {"ReschedulerDown", "ReschedulerNoLeader"}


def test_promtool_finds_no_fault() -> None:
    command = ["promtool", "check", "rules", str(ALERTS)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(EVERY)} rules found" in done.stdout


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
        )
    )
    second.publish(replace(LEADING, is_synced=False))
    first.record.passed(0.1, well=False)
    first.record.moved("LoadBalancing", "Surge", "NotReadyInTime", 9.0)
    first.record.moved("NodeMaintenance", "Steer", "ReplacementNotReady", 9.0)
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
