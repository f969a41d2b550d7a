"""The cluster as it is now: follows what is asked for, and gives snapshots of it at any time."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.kube import KubeApi, errors
from rescheduler.model.moves import Move
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe import sources
from rescheduler.observe.following import Follower
from rescheduler.observe.placing import placement_of
from rescheduler.observe.state import ClusterState
from rescheduler.observe.usage import Sampler, choose

_PATIENCE_SECONDS: Final = 20.0
"""How long a first listing may stand still, with a problem, before that problem is the answer."""

# Asking again does not help against these.
_FINAL: Final = (errors.Unauthorized, errors.Untrusted)


class Observer:
    def __init__(
        self, kube: KubeApi, clock: Clock, sampler: Sampler, tasks: asyncio.TaskGroup
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._sampler = sampler
        self._tasks = tasks
        self._state = ClusterState()
        self._followers: dict[str, Follower] = {}
        self._running = [tasks.create_task(sampler.run(), name="measure usage")]
        self._jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing

    def want(self, names: Iterable[str]) -> None:
        """Follows these resources (`pods`, `replicasets`, ...) from now on, if not yet done."""
        for name in names:
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
            self._followers[name] = follower
            self._running.append(self._tasks.create_task(follower.run(), name=f"follow {name}"))

    async def settled(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        """Until everything wanted has been listed, or is known not to be had. Raises the problem
        of a listing that has stood still for too long.
        """
        while waiting := [each for each in self._followers.values() if not each.settled]:
            for each in waiting:
                if each.problem is None:
                    continue
                silent = self._clock.monotonic() - each.heard_at
                if isinstance(each.problem, _FINAL) or silent >= patience_seconds:
                    raise each.problem
            await self._wait(waiting)

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

    def snapshot(self) -> Snapshot:
        """Costs next to nothing. Without usage, which `with_usage` adds."""
        return self._state.snapshot(self.gaps())

    def with_usage(self, snapshot: Snapshot) -> Snapshot:
        """What nodes and pods use, with the pods where they are in this snapshot."""
        return replace(snapshot, usage=self._sampler.usage(placement_of(snapshot)))

    async def measure(self) -> None:
        """One sample of usage, now; else there is one at every interval."""
        await self._sampler.sample()

    def assume(self, move: Move) -> bool:
        """A move is about to be made: until the cluster shows it, it counts as made."""
        return self._state.pods.assume(f"{move.namespace}/{move.pod}", move.uid, move.target)

    def forget(self, move: Move) -> None:
        """The move is over, one way or the other."""
        self._state.pods.forget(move.uid)

    def stop(self) -> None:
        for task in self._running:
            task.cancel()


@asynccontextmanager
async def observing(
    kube: KubeApi, clock: Clock, names: Iterable[str], usage: UsageSettings
) -> AsyncIterator[Observer]:
    """Follows these resources, and measures usage as set.

    Should a follower meet an error that nobody expected, the block is cancelled and the error
    comes out of it: to go on half blind would be worse than to start again.
    """
    try:
        async with choose(usage, kube) as choice, asyncio.TaskGroup() as tasks:
            log = structlog.get_logger()
            log.info("usage is measured by", source=choice.source.name, because=choice.reason)
            sampler = Sampler(choice.source, clock, usage)
            observer = Observer(kube, clock, sampler, tasks)
            observer.want(names)
            try:
                yield observer
            finally:
                observer.stop()
    except BaseExceptionGroup as group:
        # Of the block itself, or of the follower that ended it: the others were only cancelled.
        raise group.exceptions[0] from None
