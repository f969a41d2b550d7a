"""A session as leader: a connection that writes only while we lead, and no longer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rescheduler.clock import Clock
from rescheduler.config import LeaderElection
from rescheduler.controller.pausing import Pausing, following_pauses
from rescheduler.controller.waiting import unless_stopped
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Candidate, Fenced, Leadership, leading
from rescheduler.wire import LEASES

Connect = Callable[[], AbstractAsyncContextManager[KubeApi]]

T = TypeVar("T")

_TELLING_SECONDS: Final = 5.0
"""How long it may take until we hear why the lease is lost, once a write was refused for it."""
_LOOK_AGAIN_SECONDS: Final = 0.5
_MARGIN_SECONDS: Final = 10.0


class AnotherLeads(ReschedulerError):
    """Somebody else acts on this cluster."""

    def __init__(self, holder: str, settings: LeaderElection) -> None:
        self.holder = holder
        super().__init__(f"{holder or 'another rescheduler'} leads (lease {lease_name(settings)})")


class LeadershipLost(ReschedulerError):
    """We acted, and must not any more. Whoever leads now goes on with what is unfinished."""


@dataclass(frozen=True, slots=True)
class LeaderSession:
    """The right to act."""

    kube: KubeApi
    leadership: Leadership
    pausing: Pausing
    """Who may act may be told not to begin anything."""

    async def run(self, body: Coroutine[Any, Any, T]) -> T:
        """Does it as long as we lead.

        Raises:
            LeadershipLost: it was cancelled, as we lead no longer.
        """
        acting = asyncio.ensure_future(body)
        losing = asyncio.ensure_future(self.leadership.lost())
        try:
            await asyncio.wait([acting, losing], return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                return acting.result()
            raise LeadershipLost(f"lost leadership: {losing.result()}")
        except errors.NotLeading as problem:
            raise LeadershipLost(f"lost leadership: {await _why(losing, problem)}") from problem
        finally:
            for task in (acting, losing):
                task.cancel()
            await asyncio.gather(acting, losing, return_exceptions=True)


async def _why(losing: "asyncio.Future[str]", problem: Exception) -> str:
    told, _ = await asyncio.wait([losing], timeout=_TELLING_SECONDS)
    return losing.result() if told else str(problem)


async def insist_on_an_answer(connect: Connect, settings: LeaderElection) -> None:
    """Where the lease cannot be read at all, nobody could tell who leads, and an election would go
    on for ever. Raises KubeError.
    """
    if settings.leader_elect:
        async with connect() as kube:
            await find_lease(kube, settings)


@asynccontextmanager
async def leader_session(
    connect: Connect, clock: Clock, settings: LeaderElection
) -> AsyncIterator[LeaderSession]:
    """Takes the lease if it is free, or its holder is dead: that is known when it is not renewed.

    Raises:
        AnotherLeads: as soon as its holder is seen to live.
    """
    async with connect() as kube, leading(settings, connect, clock) as candidate:
        acquired = asyncio.ensure_future(candidate.acquired())
        seeing = asyncio.ensure_future(_renewed_by(kube, clock, settings, candidate.identity))
        try:
            # So long it takes at most to follow a leader that is dead.
            patience = settings.lease_duration_seconds + _MARGIN_SECONDS
            await asyncio.wait(
                [acquired, seeing], timeout=patience, return_when=asyncio.FIRST_COMPLETED
            )
            if not acquired.done():
                raise AnotherLeads(seeing.result() if seeing.done() else "", settings)
            leadership = acquired.result()
        finally:
            for task in (acquired, seeing):
                task.cancel()
            await asyncio.gather(acquired, seeing, return_exceptions=True)
        async with following_pauses(kube, clock, settings, leadership) as pausing:
            yield LeaderSession(Fenced(kube, leadership), leadership, pausing)


@asynccontextmanager
async def standing_by(
    connect: Connect,
    clock: Clock,
    settings: LeaderElection,
    stop: asyncio.Event,
    *,
    looks_for_pauses: bool = True,
    hear: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> AsyncIterator[LeaderSession | None]:
    """Waits until it is our turn to lead; None: it was told to stop before. `hear` is told what
    stands on the lease meanwhile.
    """
    async with connect() as kube, leading(settings, connect, clock) as candidate:
        acquired = asyncio.ensure_future(candidate.acquired())
        async with _hearing(candidate, hear):
            is_our_turn = await unless_stopped(acquired, stop)
        if not is_our_turn:
            yield None
            return
        leadership = acquired.result()
        async with following_pauses(
            kube, clock, settings, leadership, looks=looks_for_pauses
        ) as pausing:
            yield LeaderSession(Fenced(kube, leadership), leadership, pausing)


@asynccontextmanager
async def _hearing(
    candidate: Candidate, hear: Callable[[Mapping[str, str]], None]
) -> AsyncIterator[None]:
    notes = candidate.notes

    async def listen() -> None:
        while True:
            await notes.changed()
            hear(notes.latest)

    listening = asyncio.create_task(listen())
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _renewed_by(kube: KubeApi, clock: Clock, settings: LeaderElection, ourselves: str) -> str:
    """Waits until another one renews the lease, and says who. The times in it are of other clocks,
    so they are compared for equality only.
    """
    first: tuple[str, str] | None = None
    while True:
        try:
            lease = await find_lease(kube, settings)
        except errors.KubeError:
            lease = None  # the election meets the same, and says so
        spec = (lease or {}).get("spec") or {}
        seen = (spec.get("holderIdentity") or "", spec.get("renewTime") or "")
        if seen[0] not in ("", ourselves):
            if first is not None and seen != first:
                return seen[0]
            first = seen
        await clock.sleep(min(settings.retry_period_seconds / 4, _LOOK_AGAIN_SECONDS))


async def until_free(kube: KubeApi, clock: Clock, settings: LeaderElection) -> None:
    """Waits until nobody holds the lease, or whoever does has not renewed it for as long as it
    lasts. As long as it cannot be read, its holder may live.
    """
    seen, since = ("", ""), clock.monotonic()
    while True:
        now = clock.monotonic()
        try:
            spec = (await find_lease(kube, settings) or {}).get("spec") or {}
        except errors.KubeError:
            since = now
        else:
            found = (spec.get("holderIdentity") or "", spec.get("renewTime") or "")
            if not found[0]:
                return
            if found != seen:
                seen, since = found, now
            elif now - since > settings.lease_duration_seconds:
                return
        await clock.sleep(min(settings.retry_period_seconds, _LOOK_AGAIN_SECONDS))


async def find_lease(kube: KubeApi, settings: LeaderElection) -> dict[str, Any] | None:
    try:
        return await kube.get(LEASES, settings.resource_namespace, settings.resource_name)
    except errors.NotFound:
        return None


def lease_name(settings: LeaderElection) -> str:
    return f"{settings.resource_namespace}/{settings.resource_name}"
