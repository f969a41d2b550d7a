"""The whole process, when a metrics-server comes to its cluster only later."""

from datetime import datetime
from pathlib import Path

from rescheduler.embedded import virtual_time
from rescheduler.embedded.usage import Metrics
from rescheduler.kube import Object
from rescheduler.model.objects import labels
from tests.scenarios import measuring_later
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import make_embedded_world


class ByApp:
    """A core for each pod of web."""

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:  # noqa: ARG002
        return (1.0 if labels(pod).get("app") == "web" else 0.01), 64.0 * 2**20


def test_a_move_follows_by_its_samples_and_not_by_one_alone(tmp_path: Path) -> None:
    async def main() -> None:
        with speaking_apart():
            async with make_embedded_world(tmp_path, "shop") as world:
                await world.add_nodes(2)
                cluster = world.cluster

                async def begin() -> None:
                    metrics = Metrics(cluster.store, cluster.clock.now, ByApp())
                    cluster.api.metrics = metrics.listing

                await measuring_later.play(world, begin)

    virtual_time.run(main())
