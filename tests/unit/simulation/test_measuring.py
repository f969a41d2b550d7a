"""What is counted of moves, by their records."""

from datetime import UTC, datetime
from typing import Any

from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from rescheduler.model.names import NODE_COST
from rescheduler.simulation.measuring import Measuring
from rescheduler.wire import NODES, POD_MIGRATIONS, PODS


class Still:
    """A cluster without anything in it, in which no time passes."""

    def __init__(self) -> None:
        self.store = Store()
        self.clock = self

    def now(self) -> datetime:
        return datetime(2026, 1, 5, 10, tzinfo=UTC)

    def of(self, _: Object, __: datetime) -> tuple[float, float]:
        return 1.0, 1.0

    def record(self, pod: str, **status: Any) -> None:  # noqa: ANN401
        spec = {"pod": {"name": pod, "uid": pod}, "target": "b", "strategy": "LoadBalancing"}
        metadata = {"name": f"{pod}-1", "namespace": "shop"}
        self.store.put(POD_MIGRATIONS, {"metadata": metadata, "spec": spec, "status": status})


def test_moves_are_counted_once_each_by_what_became_of_them() -> None:
    cluster = Still()
    measuring = Measuring(cluster, cluster, threshold_percent=80.0)
    for name in ("one", "two", "three", "four", "five"):
        cluster.record(name)
        cluster.record(name, phase="InProgress")
    for name in ("one", "two"):
        cluster.record(name, phase="Completed", reason="Completed")
    cluster.record("two", phase="Completed", reason="Completed", message="written once more")
    cluster.record("three", phase="Failed", reason="NotNow")
    cluster.record("four", phase="Failed", reason="CopyFailed")
    figures = measuring.figures()
    assert (figures.moved, figures.put_off, figures.failed, figures.unfinished) == (2, 1, 1, 1)
    assert figures.by_strategy == {"LoadBalancing": 2}
    assert figures.reasons == {"CopyFailed": 1}


def test_what_is_no_cost_counts_for_nothing() -> None:
    cluster = Still()
    for name, cost in (("a", "0.5"), ("b", "nan"), ("c", "inf"), ("d", "-3"), ("e", "dear")):
        metadata = {"name": name, "annotations": {NODE_COST: cost}}
        status = {
            "allocatable": {"cpu": "4", "memory": "8Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        cluster.store.put(NODES, {"metadata": metadata, "spec": {}, "status": status})
        pod = {"metadata": {"name": name, "namespace": "shop", "uid": name}}
        running = {"phase": "Running"}
        cluster.store.put(PODS, {**pod, "spec": {"nodeName": name}, "status": running})
    look = Measuring(cluster, cluster, threshold_percent=80.0).look()
    assert look.nodes == 5
    assert look.cost == 0.5
