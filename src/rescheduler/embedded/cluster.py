"""The whole of it: an API server, and everybody who works on what it keeps."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Protocol, Self

from rescheduler.embedded import behaviours
from rescheduler.embedded.apiserver import ApiServer, Webhook, bootstrapping
from rescheduler.embedded.client import Around, EmbeddedClient
from rescheduler.embedded.controllers.daemon_set import DaemonSetController
from rescheduler.embedded.controllers.deployment import DeploymentController
from rescheduler.embedded.controllers.disruption import DisruptionController
from rescheduler.embedded.controllers.endpoint_slice import EndpointSliceController
from rescheduler.embedded.controllers.garbage import GarbageCollector
from rescheduler.embedded.controllers.job import JobController
from rescheduler.embedded.controllers.namespace import NamespaceController
from rescheduler.embedded.controllers.node_lifecycle import NodeLifecycleController
from rescheduler.embedded.controllers.pod_gc import PodGarbageCollector
from rescheduler.embedded.controllers.quota import QuotaController
from rescheduler.embedded.controllers.replica_set import ReplicaSetController
from rescheduler.embedded.controllers.stateful_set import StatefulSetController
from rescheduler.embedded.controllers.taint_eviction import TaintEvictionController
from rescheduler.embedded.controllers.volumes import VolumeController
from rescheduler.embedded.kubelet import Kubelet
from rescheduler.embedded.scheduler import Extender, Scheduler
from rescheduler.embedded.store import Store
from rescheduler.embedded.usage import Loads, Metrics
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.kube import KubeApi

OWN_USER: Final = "system:serviceaccount:kube-system:rescheduler-scheduler"
"""The product, where its manifests install it."""


class Works(Protocol):
    def start(self) -> None: ...

    def end(self) -> None: ...


_CONTROLLERS: tuple[Callable[[ApiServer, random.Random], Works], ...] = (
    NamespaceController,
    DeploymentController,
    ReplicaSetController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    DisruptionController,
    EndpointSliceController,
    QuotaController,
    VolumeController,
    TaintEvictionController,
    GarbageCollector,
    PodGarbageCollector,
    Scheduler,
)


class EmbeddedCluster:
    """Lives as long as its block: `async with EmbeddedCluster(seed=1) as cluster`. Empty at first.

    The same seed, and the same acts at the same times, give the same history.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        clock: VirtualClock | None = None,
        loads: Loads | None = None,
        prefix: str = behaviours.PREFIX,
        start_seconds: tuple[float, float] | None = None,
    ) -> None:
        """Without loads there is no metrics server. `prefix`: of the annotations that say how pods
        and nodes behave. `start_seconds`: how long pods take to become Ready, at least and at most,
        unless they say so themselves.
        """
        self.chance = random.Random(seed)  # noqa: S311 - repeatable
        self.clock = clock or VirtualClock()
        self.store = Store()
        self.api = ApiServer(self.store, self.clock.now, self._own_chance())
        if loads is not None:
            self.api.metrics = Metrics(self.store, self.clock.now, loads).listing
        # Each has luck of its own: what one does more often now does not change all others.
        self._working: list[Works] = [make(self.api, self._own_chance()) for make in _CONTROLLERS]
        self._working.append(NodeLifecycleController(self.api, self._own_chance(), prefix=prefix))
        self._working.append(
            Kubelet(self.api, self._own_chance(), prefix=prefix, start_seconds=start_seconds)
        )

    async def __aenter__(self) -> Self:
        bootstrapping.bootstrap(self.api)
        for each in self._working:
            each.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._working:
            each.end()

    def lose_controllers(self) -> None:
        """As if kube-controller-manager were dead: API server, scheduler and kubelets go on."""
        lost = [each for each in self._working if not isinstance(each, Scheduler | Kubelet)]
        self._working = [each for each in self._working if each not in lost]
        for each in lost:
            each.end()

    def extend_scheduler(self, extender: Extender | None) -> None:
        """From now on it is asked about every pod, as if kube-scheduler had been configured so."""
        for each in self._working:
            if isinstance(each, Scheduler):
                each.extender = extender

    def review_evictions(self, webhook: Webhook | None) -> None:
        """From now on it is asked about every eviction, as if it had been configured so."""
        self.api.eviction_webhook = webhook

    def client(
        self, *, name: str = "rescheduler", user: str = OWN_USER, around: Around | None = None
    ) -> EmbeddedClient:
        """`user`: whom the API server takes it for. `around` may disturb what it asks for."""
        return EmbeddedClient(self.api, self._own_chance(), name=name, user=user, around=around)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[KubeApi]:
        """A client, as whoever acts on a cluster wants it connected."""
        yield self.client()

    def _own_chance(self) -> random.Random:
        return random.Random(self.chance.getrandbits(64))  # noqa: S311 - repeatable
