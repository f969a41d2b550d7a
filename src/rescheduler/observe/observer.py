"""The cluster as it is now: follows what is asked for, and gives snapshots of it at any time."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.kube import KubeApi, errors
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Move
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe import sources
from rescheduler.observe.following import Follower
from rescheduler.observe.state import ClusterState
from rescheduler.observe.usage import Placement, Sampler, choose, unknown
from rescheduler.observe.usage.placement import placement_of

_PATIENCE_SECONDS: Final = 20.0
"""How long a first listing may stand still, with a problem, before that problem is the answer."""

_ESSENTIAL: Final = ("nodes", "pods")
"""Without these there is nothing to be told of a cluster."""

# Asking again does not help against these.
_FINAL: Final = (errors.Unauthorized, errors.Untrusted)


class Observer:
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        usage: UsageSettings,
        tasks: asyncio.TaskGroup,
        jitter: random.Random,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._usage = usage
        self._tasks = tasks
        self._state = ClusterState()
        self._followers: dict[str, Follower] = {}
        self._sampler: Sampler | None = None
        self._has_sampler = asyncio.Event()
        self._nodes_seen = 0
        self._nodes_changed = asyncio.Event()
        self._running = [tasks.create_task(self._sample(), name="measure usage")]
        self._jitter = jitter

    def want(self, names: Iterable[str]) -> None:
        """Follows these resources (`pods`, `replicasets`, ...) from now on, if not yet done."""
        for name in sorted(names):
            if name in self._followers:
                continue
            resource = sources.BY_NAME[name]
            follower = Follower(
                self._kube,
                self._clock,
                self._state,
                resource,
                jitter=self._jitter,
                fields=sources.fields_of(resource),
            )
            follower.heard = self._hear
            self._followers[name] = follower
            self._running.append(self._tasks.create_task(follower.run(), name=f"follow {name}"))

    async def settled(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        """Until everything wanted has been listed, or is known not to be had. A listing that has
        stood still for too long stays a gap; of nodes and pods, its problem is raised.
        """
        while True:
            for each in self._followers.values():
                each.forget_changes()
            waiting = [
                each
                for each in self._followers.values()
                if not each.is_settled and not self._is_given_up(each, patience_seconds)
            ]
            if not waiting:
                return
            await self._wait(waiting)

    def _is_given_up(self, follower: Follower, patience_seconds: float) -> bool:
        problem = follower.problem
        if problem is None:
            return False
        is_late = self._clock.monotonic() - follower.heard_at >= patience_seconds
        name = follower.resource.plural
        if isinstance(problem, _FINAL) or (is_late and name in _ESSENTIAL):
            raise type(problem)(f"{name}: {problem}", status=problem.status) from problem
        return is_late

    async def _wait(self, followers: list[Follower]) -> None:
        tasks = [asyncio.create_task(each.changed()) for each in followers]
        tasks.append(asyncio.create_task(self._clock.sleep(1.0)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def gaps(self) -> tuple[Gap, ...]:
        """What is not, or not freshly, known."""
        found = (follower.gap() for _, follower in sorted(self._followers.items()))
        return tuple(gap for gap in found if gap is not None)

    def lags(self) -> dict[str, float]:
        """By resource: for how many seconds nothing was heard of it."""
        now = self._clock.monotonic()
        return {name: now - each.heard_at for name, each in self._followers.items()}

    def nodes(self) -> tuple[Node, ...]:
        """In no order. Costs less than a snapshot, which the next change has to copy."""
        return tuple(self._state.nodes.present())

    async def nodes_changed(self) -> None:
        """Until one of them is another than it was when this ended the last time."""
        await self._nodes_changed.wait()
        self._nodes_changed.clear()

    def _hear(self) -> None:
        # Most of what is heard of nodes is their heartbeat.
        if self._nodes_seen != self._state.nodes.revision:
            self._nodes_seen = self._state.nodes.revision
            self._nodes_changed.set()

    def snapshot(self) -> Snapshot:
        """Costs next to nothing. Without usage, which `with_usage` adds."""
        heard = {
            name: follower.heard_last.timestamp()
            for name, follower in self._followers.items()
            if follower.heard_last is not None
        }
        now = self._clock.now().timestamp()
        return self._state.snapshot(self.gaps(), taken_at=now, heard_at=heard)

    def row_of(self, full_name: str) -> int | None:
        """Of a pod, as of now: in an older snapshot another one may be there. From any thread."""
        return self._state.pods.row_of(full_name)

    def with_usage(self, snapshot: Snapshot) -> Snapshot:
        """What nodes and pods use, with the pods where they are in this snapshot."""
        placement = placement_of(snapshot)
        if self._sampler is None:
            why = "it is not decided yet who measures it"
            return snapshot.with_usage(unknown(placement, self._usage.source, why))
        return snapshot.with_usage(self._sampler.usage(placement))

    async def measure(self) -> None:
        """Until there is a sample of usage of this moment; else there is one at every interval."""
        while self._sampler is None:
            await self._has_sampler.wait()
        await self._sampler.sample()

    async def measure_anew(self) -> None:
        """The same, and by nothing that was measured before; nothing, until there is who measures.
        For whoever has made another cluster of this one, and did not wait until averages follow.
        """
        if self._sampler is not None:
            await self._sampler.sample_anew()

    @property
    def samples(self) -> int:
        """Of usage, that were taken so far."""
        return self._sampler.samples if self._sampler is not None else 0

    async def _sample(self) -> None:
        # To choose takes as long as who is asked takes to answer: what is followed does not wait.
        async with choose(self._usage, self._kube) as choice:
            self._sampler = Sampler(choice, self._clock, self._usage, self._placement)
            self._has_sampler.set()
            await self._sampler.run()

    def _placement(self) -> Placement:
        return placement_of(self.snapshot())

    def assume(self, move: Move) -> bool:
        """A move is about to be made: until the cluster shows it, it counts as made."""
        return self._state.pods.assume(f"{move.namespace}/{move.pod}", move.uid, move.target)

    def forget(self, move: Move) -> None:
        """The move is over, one way or the other."""
        self._state.pods.forget(f"{move.namespace}/{move.pod}", move.uid)

    def stop(self) -> None:
        for task in self._running:
            task.cancel()


@asynccontextmanager
async def observing(
    kube: KubeApi,
    clock: Clock,
    names: Iterable[str],
    usage: UsageSettings,
    *,
    jitter: random.Random | None = None,
) -> AsyncIterator[Observer]:
    """Follows these resources, and measures usage as set. `jitter` spreads retries.

    Should one of its tasks end by an error that nobody expected, the block is cancelled and the
    error comes out of it: to go on half blind would be worse than to start again.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            chance = jitter or random.Random()  # noqa: S311 - guards nothing
            observer = Observer(kube, clock, usage, tasks, chance)
            observer.want(names)
            try:
                yield observer
            finally:
                observer.stop()
    except BaseExceptionGroup as group:
        # Of the block itself, or of the follower that ended it: the others were only cancelled.
        raise group.exceptions[0] from None
