"""Publishes what the dashboard is drawn from, when somebody looks; and remembers what was."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from rescheduler import plan as planning
from rescheduler.clock import Clock
from rescheduler.controller.dashboard.about import Abouts
from rescheduler.controller.dashboard.following import Followed, following
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.settings import Settings
from rescheduler.model import podmigration
from rescheduler.model.moves import Plan
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import reasons
from rescheduler.model.published import Now
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer
from rescheduler.plan.explaining import cluster_of
from rescheduler.serve.dashboard.documents.history import HistoryPoint
from rescheduler.serve.dashboard.view import About, Decided, Doubt, Told, View, Views
from rescheduler.wire import NAMESPACES, POD_MIGRATIONS, RESCHEDULE_PLANS

_MOST_POINTS: Final = 2000
"""Of the past; then every other of the older half is forgotten."""
_MOST_TIMELINES: Final = 5000
_IDLE_SECONDS: Final = 300.0
"""After which nobody looks any more."""
_LOOK_SECONDS: Final = 5.0
_LISTING_SECONDS: Final = 3.0
"""After the first look: then it is shown without what has not come by then."""


@dataclass(slots=True)
class _Watched:
    """While somebody looks."""

    records: Followed
    plans: Followed
    abouts: Abouts

    @property
    def followed(self) -> tuple[Followed, Followed]:
        return self.records, self.plans


class Showing:
    """One of those that are kept up by whoever observes. It does nothing while nobody looks."""

    needs_usage: Final = True
    stands_by: Final = True

    def __init__(self, clock: Clock, settings: Settings, latest: Callable[[], Now]) -> None:
        self._clock = clock
        self._settings = settings
        self._latest = latest
        self.views = Views()
        self.connect: Connect | None = None
        """By which records and plans are followed; None: none are shown."""
        self.always = False
        """It is shown whatever the configuration says, as by a demo, by an observer of its own."""
        self.told: Told | None = None
        self._serial = 0
        self._decided: Decided | None = None
        self._points: tuple[HistoryPoint, ...] = ()
        self._moved, self._failed = 0, 0
        self._steps: OrderedDict[str, tuple[tuple[str, datetime], ...]] = OrderedDict()
        self._watched: _Watched | None = None
        self._observer: Observer | None = None
        self._known_plans: Mapping[tuple[str, str], Object] = {}
        self._plans: Mapping[str, Object] = {}
        self._wanted = asyncio.Event()
        self._looked_at = float("-inf")
        self._first_looked_at = float("-inf")

    # ------------------------------------------------------------------ for whoever observes

    @property
    def is_on(self) -> bool:
        return self._settings.configuration.dashboard.enabled and not self.always

    @property
    def _remembers(self) -> bool:
        return self.always or self.is_on

    @property
    def needs(self) -> Collection[str]:
        return {
            *planning.needs(self._settings.configuration.enabled_strategies),
            NAMESPACES.plural,
        }

    async def keep_up(self, observer: Observer) -> None:
        self._observer = observer
        with self.views.made_by(partial(self._view, observer)):
            while True:
                await self._wanted.wait()
                try:
                    await self._watch()
                except Exception:
                    # Nobody else would say so, and begin again.
                    log = structlog.get_logger()
                    log.exception("records and plans not shown: trouble; they will be again")
                    await self._clock.sleep(_LOOK_SECONDS)
                else:
                    self._wanted.clear()

    async def _watch(self) -> None:
        """Until nobody has looked for a while."""
        if self.connect is None:
            await self._until_nobody_looks()
            return
        namespace = self._settings.configuration.leader_election.resource_namespace
        async with self.connect() as kube:
            watched = _Watched(
                Followed(kube, self._clock, POD_MIGRATIONS, self._hear),
                Followed(kube, self._clock, RESCHEDULE_PLANS, _nobody, namespace),
                Abouts(kube, self._clock, self._settings),
            )
            async with following(watched.records, watched.plans):
                self._watched = watched
                try:
                    await self._until_nobody_looks()
                finally:
                    self._watched = None

    async def _until_nobody_looks(self) -> None:
        # Virtual time may run, and nothing else than to be shown is a demo for.
        while self.always or self._clock.monotonic() - self._looked_at < _IDLE_SECONDS:
            if self._watched is not None:
                await self._watched.abouts.look()
            await self._clock.sleep(_LOOK_SECONDS)

    async def measure_anew(self) -> None:
        """The cluster is another one at once, as only a simulated one can be."""
        if self._observer is not None:
            await self._observer.measure_anew()

    # ------------------------------------------------------------------ what it hears

    def hears_of(self, latest: Callable[[], Now]) -> None:
        """From now on it is that one which tells how it stands."""
        self._latest = latest

    def passed(self, snapshot: Snapshot, decided: Plan, seconds: float) -> None:
        if not self._remembers:
            return
        now = self._clock.now()
        self._decided = Decided(plan=decided, at=now, seconds=seconds)
        last = self._latest().last_pass
        self._points = _thinned(
            (
                *self._points,
                HistoryPoint(
                    at=now,
                    imbalance={each.resource: round(each.before, 2) for each in decided.imbalances},
                    overloaded=last.overloaded.get("now", 0) if last else 0,
                    nodes=len(snapshot.nodes),
                    pods=len(snapshot.rows),
                    moved=self._moved,
                    failed=self._failed,
                ),
            )
        )

    def wrote(self, record: Object) -> None:
        """Whoever acts knows each step as it begins."""
        if self._remembers:
            self._hear(record)

    def ended(self, record: Object) -> None:
        if not podmigration.has_failed(record):
            self._moved += 1
        elif podmigration.reason_of(record) not in reasons.GAVE_WAY:
            self._failed += 1

    def _hear(self, record: Object) -> None:
        uid, step = str(record["metadata"].get("uid") or ""), podmigration.step_name(record)
        known = self._steps.get(uid, ())
        if not step or any(each == step for each, _ in known):
            return
        with suppress(ValueError):
            began = podmigration.step_began_at(record) or self._clock.now()
            self._steps[uid] = (*known, (step, began))
        while len(self._steps) > _MOST_TIMELINES:
            self._steps.popitem(last=False)

    # ------------------------------------------------------------------ what it shows

    def _view(self, observer: Observer) -> View:
        now = self._looked_at = self._clock.monotonic()
        if not self._wanted.is_set():
            self._first_looked_at = now
            self._wanted.set()
        self._serial += 1
        snapshot = observer.with_usage(observer.snapshot())
        watched, settings = self._watched, self._settings
        cluster = self._name_of(snapshot)
        records: Mapping[tuple[str, str], Object] = watched.records.all() if watched else {}
        plans = watched.plans.all() if watched else {}
        if plans is not self._known_plans:
            self._known_plans = plans
            self._plans = {name: each for (_, name), each in plans.items()}
        return View(
            serial=self._serial,
            at=self._clock.now(),
            snapshot=snapshot,
            now=self._latest(),
            configuration=settings.configuration,
            sources=settings.sources,
            needs_restart=settings.needs_restart,
            file_error=settings.refused.message if settings.refused else "",
            about=watched.abouts.about(cluster) if watched else About(cluster=cluster),
            decided=self._decided,
            records=records,
            plans=self._plans,
            is_listing=now - self._first_looked_at < _LISTING_SECONDS and not self._is_settled,
            doubts=self._doubts(now),
            steps=self._steps,
            points=self._points,
            told=self.told,
        )

    @property
    def _is_settled(self) -> bool:
        if self._watched is None:
            return self.connect is None
        return all(each.is_settled for each in self._watched.followed)

    def _doubts(self, now: float) -> list[Doubt]:
        followed = self._watched.followed if self._watched else ()
        return [
            Doubt(resource=each.what, reason=doubt, seconds=now - each.heard_at)
            for each in followed
            if (each.is_settled or each.problem) and (doubt := each.doubt())
        ]

    def _name_of(self, snapshot: Snapshot) -> str:
        return self._settings.configuration.dashboard.cluster_name or cluster_of(snapshot)


def _nobody(_: Object) -> None:
    """Who remembers how plans went: they tell it themselves."""


def _thinned(points: tuple[HistoryPoint, ...]) -> tuple[HistoryPoint, ...]:
    if len(points) <= _MOST_POINTS:
        return points
    half = len(points) // 2
    return (*points[:half:2], *points[half:])
