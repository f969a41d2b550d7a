"""A small cluster whose API server asks the product about evictions, for somebody to drain."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from rescheduler.config import Configuration, Guard
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.model import conditions
from rescheduler.model.objects import is_active
from rescheduler.simulation.dips import Dips
from rescheduler.simulation.rude_drains import drain
from rescheduler.simulation.running import Controller, running
from rescheduler.wire import DEPLOYMENTS, NODES, PODS, STATEFUL_SETS

GUARDING = replace(Configuration(), enabled_strategies=(), guard=Guard(enabled=True))


@dataclass
class Guarded:
    cluster: EmbeddedCluster
    controller: Controller
    dips: Dips

    async def drain(self, node: str, seconds: float = 900.0) -> bool:
        until = asyncio.get_running_loop().time() + seconds
        return await drain(self.cluster.api, node, until=until)

    def pods(self, app: str) -> list[dict[str, Any]]:
        found = self.cluster.store.all(PODS)
        return [each for each in found if each["metadata"]["labels"]["app"] == app]

    def nodes_of(self, app: str) -> list[str]:
        return [each["spec"]["nodeName"] for each in self.pods(app)]

    def serving(self, app: str) -> int:
        """Whoever controls them."""
        return sum(is_active(each) and conditions.is_well(each) for each in self.pods(app))

    def change(self, deployment: str, spec: dict[str, Any]) -> None:
        self.cluster.api.patch(DEPLOYMENTS, "default", deployment, {"spec": spec})


def add_node(cluster: EmbeddedCluster, name: str) -> None:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    made = cluster.api.create(NODES, None, {"metadata": {"name": name}})
    cluster.api.set_status(NODES, made, {"allocatable": room, "capacity": room})


def workload(name: str, **spec: object) -> dict[str, Any]:
    container = {"name": "app", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 3, "selector": selector, "template": template, **spec},
    }


@asynccontextmanager
async def filled(*others: str) -> AsyncIterator[EmbeddedCluster]:
    """Three pods of a Deployment and three of a StatefulSet, on the node `full`."""
    async with EmbeddedCluster(seed=1, start_seconds=(2.0, 3.0)) as cluster:
        add_node(cluster, "full")
        cluster.api.create(DEPLOYMENTS, "default", workload("web"))
        cluster.api.create(STATEFUL_SETS, "default", workload("db", serviceName="db"))
        await asyncio.sleep(60)
        for name in others:
            add_node(cluster, name)
        yield cluster


@asynccontextmanager
async def on_one_node(
    *others: str, configuration: Configuration = GUARDING
) -> AsyncIterator[Guarded]:
    async with filled(*others) as cluster:
        dips = Dips(cluster.store, cluster.clock.now)
        async with running(cluster, configuration) as controller:
            cluster.review_evictions(controller.guard)
            await asyncio.sleep(20)
            yield Guarded(cluster, controller, dips)
