"""Follows one kind of object, and keeps the state of the cluster as it tells."""

import random
from collections.abc import AsyncGenerator, Callable

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, Pauses, Reflector, Relist, errors
from rescheduler.model.snapshot import Gap
from rescheduler.observe.state import ClusterState
from rescheduler.wire import POD_MIGRATIONS, Batch, Resource


class Follower(Reflector[Batch]):
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        state: ClusterState,
        resource: Resource,
        *,
        jitter: random.Random,
        fields: str = "",
    ) -> None:
        super().__init__(clock, resource.plural, Pauses(jitter=jitter), Relist.WHEN_EXPIRED)
        self.resource = resource
        self.heard: Callable[[], None] = lambda: None
        """Called whenever the state may be another one."""
        self._kube = kube
        self._state = state
        self._fields = fields

    def gap(self) -> Gap | None:
        source = self.resource.plural
        if isinstance(self.refusal, errors.Forbidden):
            reason = f"we have no permission to list and watch {source}: {self.refusal}"
            return Gap(source=source, reason=reason, forbidden=True)
        # Every server has all other kinds: somebody else may have answered in its place.
        if self.refusal is not None and self.resource == POD_MIGRATIONS:
            return None  # not installed: there are none, and that is all there is to know
        doubt = self.doubt()
        return Gap(source=source, reason=doubt) if doubt else None

    def _open(self, since: str) -> AsyncGenerator[Batch, None]:
        return self._kube.follow(self.resource, fields=self._fields, since=since)

    def _begin_listing(self) -> None:
        self._state.begin_listing(self.resource)

    def _take(self, news: Batch) -> None:
        for each in self._state.take(self.resource, news):
            self.log.warning("object cannot be read", name=each.name, problem=each.problem)

    def _hear(self, *, complete: bool) -> None:
        super()._hear(complete=complete)
        self.heard()

    def _tell_refusal(self, problem: errors.KubeError) -> None:
        if self.gap():
            super()._tell_refusal(problem)

    def _forget_all(self) -> None:
        self._state.forget(self.resource)
