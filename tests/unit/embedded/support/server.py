"""An API server with one namespace, and objects to put into it."""

import random
from datetime import UTC, datetime, timedelta

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.store import Change, Store
from rescheduler.kube import Object
from rescheduler.wire import (
    DEPLOYMENTS,
    NAMESPACES,
    POD_DISRUPTION_BUDGETS,
    POD_MIGRATIONS,
    PODS,
)

START = datetime(2026, 1, 5, 10, 0, 0, 250_000, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Server:
    def __init__(self, seed: int = 1) -> None:
        self.clock = Clock()
        self.store = Store()
        self.api = ApiServer(self.store, lambda: self.clock.now, random.Random(seed))  # noqa: S311
        self.api.create(NAMESPACES, None, {"metadata": {"name": "default"}})
        self.heard: list[Change] = []
        self.store.listen(None, self.heard.append)

    def pod(self, name: str = "web", **spec: object) -> Object:
        return self.api.create(PODS, "default", pod(name, **spec))

    def running(self, name: str = "web", *, ready: bool = True, **spec: object) -> Object:
        made = self.pod(name, **spec)
        self.api.bind("default", name, "n1")
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        status = {**made["status"], "phase": "Running", "conditions": [condition]}
        return self.api.set_status(PODS, made, status)

    def budget(self, name: str = "web", **status: object) -> Object:
        """One that its controller has counted."""
        selector = {"matchLabels": {"app": "web"}}
        body = {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}}
        made = self.api.create(POD_DISRUPTION_BUDGETS, "default", body)
        counted = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, **status}
        return self.api.set_status(POD_DISRUPTION_BUDGETS, made, counted)

    def migration(self, name: str = "m", **spec: object) -> Object:
        return self.api.create(POD_MIGRATIONS, "default", migration(name, **spec))

    def deployment(self, name: str = "web", **spec: object) -> Object:
        return self.api.create(DEPLOYMENTS, "default", deployment(name, **spec))


def pod(name: str = "web", **spec: object) -> Object:
    return {
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [container()], **spec},
    }


def container(name: str = "main", **more: object) -> Object:
    return {"name": name, "image": "nginx:1.27", **more}


def deployment(name: str = "web", **spec: object) -> Object:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()]}}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": template, **spec},
    }


def migration(name: str = "m", **spec: object) -> Object:
    wanted = {"pod": {"name": "web", "uid": "u1"}, "source": "n1", "target": "n2", **spec}
    return {"metadata": {"name": name}, "spec": wanted}
