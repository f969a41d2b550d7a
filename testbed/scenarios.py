"""What a scenario may ask of a cluster: create, act, await, run, audit.

Scenarios (`tests/cluster/test_surge.py` and its like) are written against `Scene` and know no URL
and no process, so that they run on any cluster that offers these verbs. `testbed.world.World` does
on a real control plane; an embedded cluster has to offer just this.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from testbed.api import Object
from testbed.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run of the rescheduler ended."""

    code: int
    """0: it did what there was to do; 1: a move failed, or the cluster could not be reached."""
    lines: list[dict[str, Any]]
    """Its log, one object per line."""
    errors: str
    """What it printed that was no log line."""

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    @property
    def summary(self) -> str:
        return str(self.said("pass ended")[-1]["summary"])


class Running(Protocol):
    """A run that was started and may still be going on."""

    async def finish(self, within: float = ...) -> Run: ...


class Recording(Protocol):
    """What an auditor has seen so far."""

    async def audit(self) -> Audit: ...


class Scene(Protocol):
    """One scenario's own namespace and nodes; nobody else's pods come here."""

    @property
    def name(self) -> str:
        """Of the namespace."""
        ...

    # ------------------------------------------------------------------ create

    async def add_nodes(self, count: int, **size: str) -> list[str]:
        """Returns their names when they are Ready."""
        ...

    async def create(self, *manifests: Object) -> None: ...

    async def deploy(self, *manifests: Object, on: str) -> None:
        """Creates workloads whose pods all start on one node; returns when all are complete."""
        ...

    # ------------------------------------------------------------------ act, as users do

    async def scale(self, deployment: str, replicas: int) -> None: ...

    async def roll_out(self, deployment: str, image: str) -> None: ...

    async def pause(self, deployment: str) -> None: ...

    async def delete_workload(self, deployment: str) -> None: ...

    async def delete_pod(self, pod: str) -> None: ...

    async def annotate_pod(self, pod: str, annotations: Mapping[str, str]) -> None: ...

    async def evict_pod(self, pod: str) -> bool:
        """As `kubectl drain` asks; False when a budget refuses, or the pod is gone."""
        ...

    async def cordon(self, node: str) -> None: ...

    async def uncordon(self, node: str) -> None: ...

    # ------------------------------------------------------------------ act, as fate does

    async def make_not_ready(self, node: str) -> None: ...

    async def delete_node(self, node: str) -> None: ...

    async def hang(self, node: str) -> None:
        """Its kubelet does nothing more: pods neither start nor end there."""
        ...

    async def set_ready(self, pod: str, *, ready: bool) -> None:
        """As its kubelet would report a readiness probe."""
        ...

    async def afflict_copies(self, *, image: str = "", **behaviour: str) -> None:
        """From now on the copies of migrations behave so; all other pods are as they are."""
        ...

    # ------------------------------------------------------------------ await

    async def wait(self, what: str, condition: Callable[[], Awaitable[bool]]) -> None: ...

    async def wait_for_copy(self, app: str) -> Object:
        """The copy by which a pod of this workload is being moved, as soon as there is one."""
        ...

    async def find_pod(self, pod: str) -> Object | None: ...

    async def pods(self, app: str) -> list[Object]: ...

    async def nodes_of(self, app: str) -> list[str]:
        """Where the workload's Ready pods are, sorted."""
        ...

    async def is_complete(self, workload: str, kind: str = "Deployment") -> bool:
        """All replicas are Ready, none is left over, and the workload knows it."""
        ...

    # ------------------------------------------------------------------ run

    async def run(self, **settings: Any) -> Run:  # noqa: ANN401
        """One pass of the rescheduler, with this configuration and this scenario's scope."""
        ...

    async def start(self, **settings: Any) -> Running:  # noqa: ANN401
        """The same, for scenarios in which something happens meanwhile."""
        ...

    # ------------------------------------------------------------------ audit

    def auditor(self) -> AbstractAsyncContextManager[Recording]: ...

    async def audit(self, auditor: Recording) -> Audit: ...
