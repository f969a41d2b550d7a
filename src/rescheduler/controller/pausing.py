"""The one place where the controller knows whether it is paused: since when, by whom, and why.

Paused, nothing new begins: no pass acts, and no migration that waits gets its turn. What has begun
is brought to its end, also by one who comes to lead during the pause: nothing is left half done.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import LeaderElection
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Leadership
from rescheduler.model.pausing import Pause, annotations_of, pause_of
from rescheduler.wire import LEASES

_UNKNOWN: Final = "cannot see whether it is paused"


class StillPaused(ReschedulerError):
    """What a person asks for could not begin; the message says who paused it, and the way out."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(f"{pause}; nothing new begins until `rescheduler resume`")


Hear = Callable[[Pause | None], None]


class Pausing:
    def __init__(self) -> None:
        self.pause: Pause | None = None
        """None: it is not paused."""
        self.listeners: list[Hear] = []
        """Each is told of every beginning, change and end (None), for metrics and Events."""
        self._known = asyncio.Event()
        self._paused = asyncio.Event()
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._log = structlog.get_logger()

    @classmethod
    def never(cls) -> "Pausing":
        """Of one whom nobody can pause."""
        made = cls()
        made.hear({})
        return made

    @property
    def is_paused(self) -> bool:
        return self.pause is not None

    async def known(self) -> None:
        """Until it is known whether it is paused."""
        await self._known.wait()

    async def refuse_while_paused(self) -> None:
        """Raises StillPaused."""
        await self.known()
        if self.pause is not None:
            raise StillPaused(self.pause)

    async def paused(self) -> None:
        """Until it is paused."""
        await self._paused.wait()

    async def resumed(self) -> None:
        """Until it is not."""
        await self._resumed.wait()

    def hear(self, notes: Mapping[str, str]) -> None:
        """What stands on the lease."""
        self._known.set()
        before, self.pause = self.pause, pause_of(notes)
        if before == self.pause:
            return
        self._tell(before)
        for event, is_set in ((self._paused, self.is_paused), (self._resumed, not self.is_paused)):
            if is_set:
                event.set()
            else:
                event.clear()
        for listener in self.listeners:
            listener(self.pause)

    def _tell(self, before: Pause | None) -> None:
        if self.pause is None:
            self._log.warning("moves resumed", was=str(before))
            return
        since = self.pause.since.isoformat() if self.pause.since else "unknown"
        self._log.warning(
            "moves paused: nothing new begins, and what has begun is brought to its end",
            since=since,
            by=self.pause.by or "unknown",
            because=self.pause.reason or "no reason was given",
            way_out="rescheduler resume",
        )


@asynccontextmanager
async def following_pauses(
    kube: KubeApi,
    clock: Clock,
    settings: LeaderElection,
    leadership: Leadership,
    *,
    looks: bool = True,
) -> AsyncIterator[Pausing]:
    """Who is elected hears it with the lease; who needs no lease looks for one by himself, unless
    nobody is there to pause him.
    """
    pausing = Pausing()
    if settings.leader_elect or not looks:
        pausing.hear(leadership.notes.latest)
        following = asyncio.create_task(_hear(leadership, pausing))
    else:
        following = asyncio.create_task(_look(kube, clock, settings, pausing))
    try:
        yield pausing
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@asynccontextmanager
async def looking_for_pauses(
    kube: KubeApi, clock: Clock, settings: LeaderElection
) -> AsyncIterator[Pausing]:
    """For one who does not lead, and waits for who does."""
    pausing = Pausing()
    looking = asyncio.create_task(_look(kube, clock, settings, pausing))
    try:
        yield pausing
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _hear(leadership: Leadership, pausing: Pausing) -> None:
    while True:
        await leadership.notes.changed()
        pausing.hear(leadership.notes.latest)


async def _look(kube: KubeApi, clock: Clock, settings: LeaderElection, pausing: Pausing) -> None:
    problem = ""
    while True:
        try:
            pausing.hear(await look(kube, settings))
            problem = ""
        except errors.Forbidden as refused:
            # Who needs no lease may have no right to one.
            problem = _tell(
                problem, f"{refused}; see rbac.yaml. Until then it counts as not paused"
            )
            pausing.hear({})
        except errors.KubeError as trouble:
            problem = _tell(problem, str(trouble))
        await clock.sleep(settings.retry_period_seconds)


async def look(kube: KubeApi, settings: LeaderElection) -> Mapping[str, str]:
    """What stands on the lease; without one, nothing does."""
    try:
        lease = await kube.get(LEASES, settings.resource_namespace, settings.resource_name)
    except errors.NotFound:
        return {}
    return annotations_of(lease)


def _tell(before: str, problem: str) -> str:
    if problem != before:
        structlog.get_logger().warning(_UNKNOWN, problem=problem)
    return problem
