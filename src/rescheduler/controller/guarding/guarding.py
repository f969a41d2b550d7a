"""Publishes by what evictions are judged, and hears of the verdicts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.controller.events import happenings, recording
from rescheduler.controller.events.recorder import Tells
from rescheduler.controller.guarding.moves_wanted import MovesWanted
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.looking_on import EVERY_SECONDS, again_and_again
from rescheduler.controller.settings import Settings
from rescheduler.errors import ReschedulerError
from rescheduler.guard import Eviction, GuardTable, Hold, Rules, Verdict
from rescheduler.guard.table import NEEDED, by_name, by_pod
from rescheduler.kube import KubeApi
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.observe import Observer
from rescheduler.serve import Board
from rescheduler.wire import SELF_SUBJECT_REVIEWS

_BLINDING: Final = frozenset({"nodes", "pods", podmigration.PLURAL})
"""Without these nobody is held for long."""
_AGAIN_SECONDS: Final = 5.0
_WHO_AM_I: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


class Guarding:
    needs: Final = NEEDED
    needs_usage: Final = False

    def __init__(
        self,
        board: Board,
        clock: Clock,
        settings: Settings,
        is_paused: Callable[[], bool],
        *,
        on_demand: bool = False,
    ) -> None:
        """On demand: tables are made when `renew` is called, by whoever is about to ask."""
        self._board = board
        self._clock = clock
        self._settings = settings
        self._is_paused = is_paused
        self._on_demand = on_demand
        self._observer: Observer | None = None
        self._ourselves: frozenset[str] | None = None
        self._only_looks = False
        self._known: Mapping[tuple[str, str], Object] = {}
        self._records: tuple[Mapping[str, Sequence[Object]], Mapping[str, Sequence[Object]]]
        self._records = {}, {}
        self._wanted = MovesWanted(clock, settings)
        self._tell: Callable[[Eviction, Verdict], None] = _nobody

    @property
    def is_on(self) -> bool:
        return self._settings.configuration.guard.enabled and not self._only_looks

    @property
    def stands_by(self) -> bool:
        return not self._on_demand

    def only_look(self) -> None:
        """Whoever moves nothing holds nobody."""
        self._only_looks = True

    # ------------------------------------------------------------------ publishing

    async def keep_up(self, observer: Observer) -> None:
        if self._on_demand:
            await self._wait_for_demand(observer)
        publish = partial(self._publish, observer)
        await again_and_again(self._clock, publish, "table of evictions")

    async def _wait_for_demand(self, observer: Observer) -> None:
        self._observer = observer
        try:
            await asyncio.Event().wait()
        finally:
            self._observer = None

    def renew(self) -> None:
        """Where tables are made on demand."""
        table, now = self._board.guard_table, self._clock.monotonic()
        is_new = table is not None and now - table.taken_at < EVERY_SECONDS
        if self._observer is not None and not is_new:
            self._publish(self._observer)

    def _publish(self, observer: Observer) -> None:
        # Who does not know himself might hold his own evictions.
        if self._ourselves is None or {gap.source for gap in observer.gaps()} & _BLINDING:
            return
        if self._board.guard_table is None:
            log = structlog.get_logger()
            log.info("evictions by others are held from now on", ourselves=[*self._ourselves])
        snapshot = observer.snapshot()
        known = snapshot.objects.get(podmigration.PLURAL, {})
        if known is not self._known:
            self._known, self._records = known, (by_pod(known), by_name(known))
        of_pods, of_names = self._records
        self._board.publish_guard_table(
            GuardTable(
                snapshot=snapshot,
                find=observer.row_of,
                records=of_pods,
                by_name=of_names,
                rules=Rules(configuration=self._settings.configuration, ourselves=self._ourselves),
                taken_at=self._clock.monotonic(),
                is_paused=self._is_paused(),
                not_asked=self._wanted.refused(),
            )
        )

    # ------------------------------------------------------------------ hearing

    def hears(self, eviction: Eviction, verdict: Verdict) -> bool:
        """From the thread that serves. False: the move that it wants will not be asked for."""
        self._tell(eviction, verdict)
        if isinstance(verdict, Hold) and verdict.wanted is not None:
            return self._wanted.put(verdict.wanted)
        return True

    # ------------------------------------------------------------------ acting

    @asynccontextmanager
    async def at_work(
        self, connect: Connect, ourselves: frozenset[str] | None = None
    ) -> AsyncIterator[None]:
        """Moves are asked for as long as the block lasts, by a connection of its own. `ourselves`:
        the users that we are; None: the API server is asked.
        """
        if not self.is_on:
            yield
            return
        self._ourselves = ourselves
        task = asyncio.create_task(self._work(connect), name="ask for moves of evicted pods")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self, connect: Connect) -> None:
        log = structlog.get_logger()
        while True:
            try:
                async with connect() as kube:
                    if self._ourselves is None:
                        self._ourselves = frozenset({await _who_we_are(kube)})
                    async with recording(kube, self._clock) as recorder:
                        with self._telling(recorder):
                            await self._wanted.write(kube)
            except ReschedulerError as problem:
                log.warning("evictions pass for now", problem=str(problem))
            except Exception:
                log.exception("evictions pass for now: internal error, please report")
            await self._clock.sleep(_AGAIN_SECONDS)

    @contextmanager
    def _telling(self, tells: Tells) -> Iterator[None]:
        """By Events on the pods."""
        loop = asyncio.get_running_loop()

        def tell(eviction: Eviction, verdict: Verdict) -> None:
            told = [*happenings.of_eviction(eviction, verdict)]
            # A loop that has just ended has nobody to tell.
            with suppress(RuntimeError):
                if told:
                    loop.call_soon_threadsafe(tells.tell, told)

        self._tell = tell
        try:
            yield
        finally:
            self._tell = _nobody


def _nobody(_eviction: Eviction, _verdict: Verdict) -> None:
    """Who could be told."""


async def _who_we_are(kube: KubeApi) -> str:
    """As the API server knows us. Raises KubeError."""
    found = await kube.create(SELF_SUBJECT_REVIEWS, "", dict(_WHO_AM_I))
    user = ((found.get("status") or {}).get("userInfo") or {}).get("username")
    if not user:
        raise ReschedulerError("the API server does not say who we are")
    return str(user)
