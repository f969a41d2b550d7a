"""An API server on virtual time, some controllers, and in the place of all nodes a list of them:
pods are bound in turn, are Ready when they are told to be, and are gone soon after they must be.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.store import Change, Store, key_of
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import controller, is_active, is_terminating

NAMESPACE = "shop"
NEVER = float("inf")


class Controller(Protocol):
    def start(self) -> None: ...

    def end(self) -> None: ...


class ControllerCluster:
    def __init__(
        self, *kinds: Callable[[ApiServer, random.Random], Controller], seed: int = 7
    ) -> None:
        self.store = Store()
        self.clock = VirtualClock()
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.api = ApiServer(self.store, self.clock.now, self.chance)
        self.controllers = [kind(self.api, self.chance) for kind in kinds]
        self.start_seconds = 1.0
        """Until a new pod is Ready."""
        self.stop_seconds = 1.0
        """Until one that is told to end is gone."""
        self._nodes = 0

    def __enter__(self) -> Self:
        self.api.create(wire.NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
        self.store.listen(wire.PODS, self._hear)
        for each in self.controllers:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.controllers:
            each.end()

    # ------------------------------------------------------------------ nodes

    def _hear(self, change: Change) -> None:
        later = asyncio.get_running_loop().call_later
        pod = change.object
        if change.kind == "ADDED" and self.start_seconds < NEVER:
            later(self.start_seconds, self._start, pod)
        elif (
            change.kind == "MODIFIED"
            and is_terminating(pod)
            and change.before is not None
            and not is_terminating(change.before)
            and self.stop_seconds < NEVER
        ):
            later(self.stop_seconds, self.remove, pod)

    def _start(self, pod: Object) -> None:
        now = self.store.find(wire.PODS, *key_of(pod))
        is_it = now is not None and now["metadata"]["uid"] == pod["metadata"]["uid"]
        if now is not None and is_it and is_active(now):
            self.run(now)

    def run(self, pod: Object, *, ready: bool = True, node: str = "") -> Object:
        name = pod["metadata"]["name"]
        now = self.api.get(wire.PODS, NAMESPACE, name)
        if not now["spec"].get("nodeName"):
            self._nodes += 1
            self.api.bind(NAMESPACE, name, node or f"node-{self._nodes}")
        return self.tell(now, phase="Running", ready=ready)

    def tell(self, pod: Object, *, phase: str = "Running", ready: bool = True) -> Object:
        now = self.api.get(wire.PODS, *key_of(pod))
        known = conditions.find(now, "Ready")
        value = "True" if ready else "False"
        since = self.api.stamp()
        if known is not None and known["status"] == value:
            since = known["lastTransitionTime"]
        others = [
            each for each in (now["status"].get("conditions") or []) if each["type"] != "Ready"
        ]
        ready_now = {"type": "Ready", "status": value, "lastTransitionTime": since}
        status = {**now["status"], "phase": phase, "conditions": [*others, ready_now]}
        return self.api.set_status(wire.PODS, now, status)

    def remove(self, pod: Object) -> None:
        now = self.store.find(wire.PODS, *key_of(pod))
        if now is not None and now["metadata"]["uid"] == pod["metadata"]["uid"]:
            self.api.delete(wire.PODS, *key_of(pod), grace_seconds=0)

    # ------------------------------------------------------------------ looking

    def get(self, resource: wire.Resource, name: str) -> Object:
        return self.api.get(resource, NAMESPACE, name)

    def pods(self, owner: Object | None = None) -> list[Object]:
        """All, or those that it manages."""
        return [
            pod
            for pod in self.store.all(wire.PODS, NAMESPACE)
            if owner is None or (controller(pod) or {}).get("uid") == owner["metadata"]["uid"]
        ]

    def active(self, owner: Object | None = None) -> list[Object]:
        return [pod for pod in self.pods(owner) if is_active(pod)]

    def replica_sets(self) -> list[Object]:
        """Oldest first."""
        return list(self.store.all(wire.REPLICA_SETS, NAMESPACE))

    # ------------------------------------------------------------------ acting

    def create(self, resource: wire.Resource, body: Object) -> Object:
        return self.api.create(resource, NAMESPACE, body)

    def patch(self, resource: wire.Resource, name: str, change: Object) -> Object:
        return self.api.patch(resource, NAMESPACE, name, change)

    def label(self, pod: Object, **labels: str | None) -> Object:
        return self.patch(wire.PODS, pod["metadata"]["name"], {"metadata": {"labels": labels}})

    def annotate(self, pod: Object, annotations: dict[str, str]) -> Object:
        change = {"metadata": {"annotations": annotations}}
        return self.patch(wire.PODS, pod["metadata"]["name"], change)


@contextmanager
def watching(shop: ControllerCluster, resource: wire.Resource) -> Iterator[list[Change]]:
    """All changes of a kind, while it lasts."""
    heard: list[Change] = []
    deaf = shop.store.listen(resource, heard.append)
    yield heard
    deaf()


def names_of(items: Iterable[Object]) -> set[str]:
    return {item["metadata"]["name"] for item in items}


def template(image: str = "web:1", **labels: str) -> Object:
    return {
        "metadata": {"labels": {"app": "web", **labels}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def replica_set(name: str = "web", replicas: int = 3, **spec: object) -> Object:
    return {
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(),
            **spec,
        },
    }


def deployment(name: str = "web", replicas: int = 3, **spec: object) -> Object:
    return replica_set(name, replicas, **spec)


def bare_pod(name: str, **labels: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {"app": "web"} | labels},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
