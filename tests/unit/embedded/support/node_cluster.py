"""An API server on virtual time with a scheduler, kubelets and those who look after nodes."""

import asyncio
import random
from typing import Any, Protocol, Self

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers.node_lifecycle import NodeLifecycleController
from rescheduler.embedded.controllers.pod_gc import PodGarbageCollector
from rescheduler.embedded.controllers.taint_eviction import TaintEvictionController
from rescheduler.embedded.controllers.volumes import VolumeController
from rescheduler.embedded.kubelet import Kubelet
from rescheduler.embedded.scheduler import Scheduler
from rescheduler.embedded.store import Store
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.kube import Object
from rescheduler.model import conditions

NAMESPACE = "shop"
PREFIX = "simulation.rescheduler.io/"


class Works(Protocol):
    def start(self) -> None: ...

    def end(self) -> None: ...


class NodeCluster:
    def __init__(self, seed: int = 1, **of_kubelets: Any) -> None:  # noqa: ANN401
        chance = random.Random(seed)  # noqa: S311 - to be repeated
        self.store = Store()
        self.clock = VirtualClock()
        self.api = ApiServer(self.store, self.clock.now, chance)
        self.scheduler = Scheduler(self.api, chance)
        self._working: list[Works] = [
            self.scheduler,
            NodeLifecycleController(self.api, chance),
            TaintEvictionController(self.api, chance),
            PodGarbageCollector(self.api, chance),
            VolumeController(self.api, chance),
            Kubelet(self.api, chance, **of_kubelets),
        ]

    def __enter__(self) -> Self:
        self.api.create(wire.NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
        for each in self._working:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._working:
            each.end()

    # ------------------------------------------------------------------ nodes

    async def nodes(self, *names: str, zone: str = "", **room: str) -> None:
        """Ready when it returns."""
        for name in names:
            has = {"cpu": "4", "memory": "16Gi", "pods": "110", **room}
            own = {"kubernetes.io/hostname": name}
            zones = {"topology.kubernetes.io/zone": zone} if zone else {}
            body: Object = {
                "metadata": {"name": name, "labels": own | zones},
                "status": {"allocatable": has, "capacity": has},
            }
            made = self.api.create(wire.NODES, None, body)
            self.api.set_status(wire.NODES, made, {**made.get("status", {}), **body["status"]})
        await asyncio.sleep(2)

    def change_node(self, name: str, **change: Any) -> None:  # noqa: ANN401
        self.api.patch(wire.NODES, None, name, change)

    def node(self, name: str) -> Object:
        return self.api.get(wire.NODES, None, name)

    def taints(self, name: str) -> set[tuple[str, str]]:
        found = self.node(name)["spec"].get("taints") or ()
        return {(each["key"].rpartition("/")[2], each["effect"]) for each in found}

    # ------------------------------------------------------------------ pods

    def create(self, name: str, *, labels: dict[str, str] | None = None, **what: Any) -> None:  # noqa: ANN401
        """`what`: `cpu`, `image`, `does` (its behaviour), and fields of its specification."""
        self.api.create(wire.PODS, NAMESPACE, pod(name, labels=labels, **what))

    async def placed(self, name: str, **what: Any) -> str:  # noqa: ANN401
        """Where it is bound to, if anywhere."""
        self.create(name, **what)
        await asyncio.sleep(1)
        return self.place(name)

    def pod(self, name: str) -> Object:
        return self.api.get(wire.PODS, NAMESPACE, name)

    def find(self, name: str) -> Object | None:
        return self.store.find(wire.PODS, NAMESPACE, name)

    def place(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName") or "")

    def delete(self, name: str, *, grace: int | None = None) -> None:
        self.api.delete(wire.PODS, NAMESPACE, name, grace_seconds=grace)

    def is_ready(self, name: str) -> bool:
        return conditions.holds(self.pod(name), "Ready")

    def why_not(self, name: str) -> str:
        """The scheduler's words."""
        found = conditions.find(self.pod(name), "PodScheduled") or {}
        return str(found.get("message") or "")

    def waiting_for(self, name: str) -> str:
        [container] = self.pod(name)["status"]["containerStatuses"]
        return str((container["state"].get("waiting") or {}).get("reason") or "")


def pod(
    name: str,
    *,
    labels: dict[str, str] | None = None,
    cpu: str = "500m",
    memory: str = "256Mi",
    image: str = "app:1",
    does: dict[str, str] | None = None,
    **spec: Any,  # noqa: ANN401
) -> Object:
    container = {
        "name": "app",
        "image": image,
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    annotations = {PREFIX + key: value for key, value in (does or {}).items()}
    own = {"app": name} if labels is None else labels
    return {
        "metadata": {"name": name, "labels": own, "annotations": annotations},
        "spec": {"containers": [container], **spec},
    }
