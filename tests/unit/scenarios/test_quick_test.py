"""The pods of quick-test.yaml use nothing, so where usage is measured they stay where they are."""

from collections import Counter
from datetime import datetime
from pathlib import Path

import yaml

from rescheduler.embedded import virtual_time
from rescheduler.embedded.usage import Metrics
from rescheduler.kube import Object
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import EmbeddedWorld, make_embedded_world
from tests.scenarios.looping import controller, election

QUICK_TEST = Path(__file__).parents[3] / "manifests/rescheduler/examples/quick-test.yaml"


class Idle:
    def of(self, _pod: Object, _at: datetime) -> tuple[float, float]:
        return 0.0, 0.0


async def where_they_are(world: EmbeddedWorld) -> Counter[str]:
    pods = await world.api.list("Pod", "quick-test")
    return Counter(each["spec"].get("nodeName", "") for each in pods)


async def are_packed(world: EmbeddedWorld) -> bool:
    return list((await where_they_are(world)).values()) == [8]


async def stay_and_go(world: EmbeddedWorld) -> None:
    cluster = world.cluster
    cluster.api.metrics = Metrics(cluster.store, cluster.clock.now, Idle()).listing
    for node in await world.add_nodes(3):
        await world.api.patch("Node", None, node, {"spec": {"taints": None}})
    for document in yaml.safe_load_all(QUICK_TEST.read_text()):
        await world.api.create(document)
    await world.wait("they are on one node", lambda: are_packed(world))

    settings = {"scope": {}, "reschedulingInterval": "10s", **election(world)}
    async with controller(world, **settings) as running:
        assert (await running.says("usage is measured by"))["source"] == "metrics-server"
        ended = await running.says("pass ended", where=lambda line: "cpu usage:" in line["summary"])
        assert ended["planned"] == 0
        assert "not above the threshold of 20" in ended["summary"]
    assert await are_packed(world)

    async with controller(world, **settings, usage={"source": "requests"}) as running:
        await running.says("pass ended", where=lambda line: line["moved"] > 0)
    assert max((await where_they_are(world)).values()) < 8


def test_they_stay_where_usage_is_measured_and_go_by_requests(tmp_path: Path) -> None:
    async def main() -> None:
        with speaking_apart():
            async with make_embedded_world(tmp_path, "own") as world:
                await stay_and_go(world)

    virtual_time.run(main())
