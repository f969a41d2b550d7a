"""Nobody measures usage when the process starts; somebody does later."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from testbed.builders import behaviour, deployment, pod_spec
from testbed.processes import Line
from testbed.scenarios import Scene
from tests.scenarios.looping import default_controller

DEBOUNCE = 5


async def play(world: Scene, begin_measuring: Callable[[], Awaitable[None]]) -> None:
    """By requests nobody is hot; by what is used, one node is. Needs two nodes."""
    busy, idle = world.nodes
    spec, used = pod_spec(cpu="10m"), behaviour(cpu_usage="1", memory_usage="64Mi")
    web = deployment("web", replicas=2, spec=spec, annotations=used)
    await world.deploy(web, on=busy)
    settings = {
        "enabledStrategies": ["LoadBalancing"],
        "reschedulingInterval": "1s",
        "usage": {"interval": "1s", "window": "1m", "debounce": DEBOUNCE},
        "migration": {"linger": "1s"},
    }
    async with default_controller(world, **settings) as running:
        first = await running.says("usage is measured by")
        assert first["source"] == "requests"
        assert "metrics-server: metrics.k8s.io is not served" in first["because"]
        for each in range(3):
            found = await running.says("pass ended", times=each + 1)
            assert found["planned"] == 0, found
        await begin_measuring()
        changed = await running.says("usage is measured by", times=2)
        assert changed["source"] == "metrics-server"
        moving = await running.says("pass ended", where=lambda line: line["planned"] > 0)
        # Each sample is one of its own, a second apart: none of requests counts, nor one alone.
        assert _seconds_between(changed, moving) >= DEBOUNCE - 1
        await running.says("migration ended")
        assert sorted(await world.nodes_of("web")) == sorted([busy, idle])
        assert len(running.said("usage is measured by")) == 2


def _seconds_between(before: Line, after: Line) -> float:
    began, ended = (datetime.fromisoformat(each["timestamp"]) for each in (before, after))
    return (ended - began).total_seconds()
