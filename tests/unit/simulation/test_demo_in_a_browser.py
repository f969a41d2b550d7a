"""What a page shows of the demo is what its story says at that moment."""

import asyncio
import json
import urllib.request
from typing import Any

from rescheduler.config import Configuration, single_settings
from rescheduler.embedded import virtual_time
from rescheduler.model.moves import Plan
from rescheduler.simulation.demo import Demo
from rescheduler.simulation.scenes import Chapter, MoveScene, Scene
from rescheduler.simulation.web import Look
from tests.scenarios.looking import PREFIX, beside, free_port


class Nobody:
    def begins(self, chapter: Chapter) -> None: ...

    def sees(self, scene: Scene) -> None: ...

    def sees_plan(self, decided: Plan, about: str) -> None: ...

    def hears(self, move: MoveScene) -> None: ...


class Read(Demo):
    """Ends when the plan has been shown, and asked about."""

    def __init__(self, stop: asyncio.Event) -> None:
        look = Look(port=free_port(), told=lambda url, _: setattr(self, "url", url))
        super().__init__(Nobody(), nodes=8, seed=0, speed=0.0, web=look)
        self._enough = stop
        self.url = ""
        self.said: dict[str, Any] = {}

    async def _show_plan(self) -> None:
        await super()._show_plan()
        for name in ("overview", "plan", "cluster", "settings"):
            self.said[name] = await beside(lambda name=name: self._asked(name))  # type: ignore[misc]
        self._enough.set()

    def _asked(self, name: str) -> Any:  # noqa: ANN401
        with urllib.request.urlopen(f"{self.url}{PREFIX}/{name}", timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read())


def read() -> dict[str, Any]:
    async def playing() -> dict[str, Any]:
        stop = asyncio.Event()
        demo = Read(stop)
        await demo.play(stop, keep=False)
        return demo.said

    return virtual_time.run(playing())


def test_the_uneven_cluster_is_shown_as_uneven_as_the_plan_says() -> None:
    said = read()
    now = said["overview"]["imbalance"]
    for resource, planned in said["plan"]["imbalance"].items():
        assert planned["before"] > 40, "else nothing would be shown"
        assert abs(now[resource]["now"] - planned["before"]) < 2, resource
    # Also of nodes that have come last, and of each as the plan's own table has it.
    nodes = said["cluster"]["nodes"]
    shown = dict(zip(nodes["name"], nodes["cpuLoad"], strict=True))
    assert all(load >= 0 for load in shown.values())
    for each in said["plan"]["nodes"]:
        assert abs(shown[each["name"]] / 10 - each["before"]["cpu"]) < 2, each["name"]


def test_no_setting_of_a_demo_is_called_a_default_that_is_none() -> None:
    defaults = dict(single_settings(Configuration()))
    items = read()["settings"]["items"]
    assert {each["source"] for each in items} == {"default", "simulation"}
    for each in items:
        is_usual = each["value"] == json.loads(json.dumps(defaults[each["path"]]))
        assert (each["source"] == "default") == is_usual, each
