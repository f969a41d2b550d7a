"""What metrics.k8s.io says of an embedded cluster, read by the product's own reader."""

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from typing import cast

import numpy as np
import pytest

from rescheduler.embedded.store import Store
from rescheduler.embedded.usage import OWN_BYTES, OWN_CORES, Loads, Metrics, Numbers
from rescheduler.kube import KubeApi, Object
from rescheduler.observe.usage.samples import Measured, identity
from rescheduler.observe.usage.sources.metrics_server import MetricsServer
from rescheduler.wire import NODES, PODS, Resource

NOW = datetime(2026, 1, 5, 10, 0, 1, 500_000, UTC)
GIBI = 2.0**30


class Each:
    """Every pod uses what its annotation says, in cores, and a GiB."""

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        assert at == NOW
        return float(pod["metadata"]["annotations"]["cores"]), GIBI


class AtOnce(Each):
    def of_many(self, pods: Sequence[Object], at: datetime) -> tuple[Numbers, Numbers]:
        told = np.array([self.of(pod, at) for pod in pods]).reshape(-1, 2)
        return told[:, 0], told[:, 1]


class OnlyMetrics:
    """Of a client no more than this is needed."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def pieces(self, resource: Resource) -> AsyncGenerator[bytes, None]:
        yield self._metrics.listing(resource)


def node(name: str, *, cores: str = "4", ready: bool = True) -> Object:
    status = "True" if ready else "Unknown"
    return {
        "metadata": {"name": name},
        "spec": {},
        "status": {
            "capacity": {"cpu": cores},
            "conditions": [{"type": "Ready", "status": status}],
        },
    }


def pod(name: str, on: str, *, cores: float = 0.5, phase: str = "Running") -> Object:
    metadata = {"namespace": "web", "name": name, "uid": f"uid-{name}"}
    return {
        "metadata": metadata | {"annotations": {"cores": str(cores)}},
        "spec": {"nodeName": on} if on else {},
        "status": {"phase": phase},
    }


async def told(store: Store, loads: Loads | None = None) -> tuple[Measured, Measured]:
    metrics = Metrics(store, lambda: NOW, loads or Each())
    return await read(metrics)


async def read(metrics: Metrics) -> tuple[Measured, Measured]:
    kube = cast("KubeApi", OnlyMetrics(metrics))
    sample = await MetricsServer(kube).read()
    assert not sample.findings
    return sample.nodes, sample.pods


def figures(measured: Measured, name: str) -> tuple[float, float] | None:
    [found] = [np.flatnonzero(measured.who == identity(name))]
    if not len(found):
        return None
    [row] = found
    assert measured.at[row] == NOW.timestamp()
    return float(measured.cpu[row]), float(measured.memory[row])


@pytest.mark.parametrize("loads", [Each(), AtOnce()])
async def test_a_node_uses_what_its_pods_use_and_a_little_itself(loads: Loads) -> None:
    store = Store()
    for name in ("full", "empty"):
        store.put(NODES, node(name))
    for number in range(3):
        store.put(PODS, pod(f"p-{number}", "full"))
    nodes, pods = await told(store, loads)
    assert figures(nodes, "full") == pytest.approx((1500 + 1000 * OWN_CORES, 3 * GIBI + OWN_BYTES))
    assert figures(nodes, "empty") == pytest.approx((1000 * OWN_CORES, OWN_BYTES))
    assert figures(pods, "web/p-1") == pytest.approx((500, GIBI))


async def test_cpu_is_shared_when_all_together_want_more_than_there_is() -> None:
    store = Store()
    store.put(NODES, node("small", cores="2"))
    store.put(PODS, pod("greedy", "small", cores=2.95))
    store.put(PODS, pod("modest", "small", cores=1.0))
    nodes, pods = await told(store)
    assert figures(nodes, "small") == pytest.approx((2000, 2 * GIBI + OWN_BYTES))
    assert figures(pods, "web/greedy") == pytest.approx((2950 / 2, GIBI))
    assert figures(pods, "web/modest") == pytest.approx((500, GIBI))


async def test_only_pods_that_run_on_a_node_that_answers_are_told() -> None:
    store = Store()
    store.put(NODES, node("there"))
    store.put(NODES, node("hangs", ready=False))
    store.put(PODS, pod("runs", "there"))
    store.put(PODS, pod("waits", "", phase="Pending"))
    store.put(PODS, pod("starts", "there", phase="Pending"))
    store.put(PODS, pod("ended", "there", phase="Succeeded"))
    store.put(PODS, pod("unheard", "hangs"))
    nodes, pods = await told(store)
    assert (len(nodes), len(pods)) == (1, 1)
    assert figures(pods, "web/runs") is not None


async def test_it_follows_what_changes() -> None:
    store = Store()
    store.put(NODES, node("one"))
    store.put(PODS, pod("goes", "one"))
    now = NOW
    metrics = Metrics(store, lambda: now, AtAnyTime())
    assert len((await read(metrics))[1]) == 1
    now = now.replace(second=31)
    store.remove(PODS, "web", "goes")
    store.put(PODS, pod("comes", "one"))
    store.put(NODES, node("other"))
    nodes, pods = await read(metrics)
    assert (len(nodes), len(pods)) == (2, 1)
    assert identity("web/comes") in pods.who
    now = now.replace(second=59)
    store.put(NODES, node("other", ready=False))
    assert len((await read(metrics))[0]) == 1
    store.remove(NODES, None, "one")
    now = now.replace(minute=1)
    assert metrics.listing(Resource("metrics.k8s.io/v1beta1", "nodes")).endswith(b'"items":[]}')


class AtAnyTime:
    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        del pod, at
        return 0.5, GIBI
