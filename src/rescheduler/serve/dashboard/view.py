"""What the dashboard is drawn from: published by the controller, and only when somebody looks."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import structlog

from rescheduler.config import Configuration, Source
from rescheduler.model.moves import Plan
from rescheduler.model.objects import Object
from rescheduler.model.published import Now
from rescheduler.model.snapshot import Snapshot
from rescheduler.serve.dashboard.documents.history import HistoryPoint

_PATIENCE_SECONDS: Final = 10.0
"""For which an answer waits for the first view, or for one that is not old."""
_SHARE: Final = 0.05
"""Of the time of a processor that views may cost whoever publishes them."""

Figures = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What planning goes by, of one snapshot."""

    word: str
    """What the figures are of: `requests` or `usage`."""
    capacity: Figures
    """By node: cpu and memory for pods."""
    used: Figures
    of_pod: Figures
    """By row of pods."""
    known: npt.NDArray[np.bool_]
    """By node."""
    unknown: Mapping[int, str]
    """By node: why its load is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """By the last pass."""

    plan: Plan
    at: datetime
    seconds: float
    name: str = ""
    """Of its ReschedulePlan; empty: none was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What seldom changes."""

    cluster: str = ""
    kubernetes_version: str = ""
    leader: str = ""
    pause: str = ""
    """In words; empty: there is none."""
    paused_by: str = ""
    paused_reason: str = ""
    paused_since: datetime | None = None
    window: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    resource: str
    reason: str
    seconds: float
    """Since when nothing is heard of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """By a demo, beside what happens."""

    chapter: int = 0
    sentence: str = ""
    ending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that is known at one moment; replaced as a whole."""

    serial: int
    at: datetime
    """By the clock of the cluster."""
    snapshot: Snapshot
    now: Now
    configuration: Configuration
    sources: Mapping[str, Source] = field(default_factory=dict)
    needs_restart: Sequence[str] = ()
    file_error: str = ""
    about: About = About()
    decided: Decided | None = None
    records: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    """PodMigrations, whole, by namespace and name."""
    plans: Mapping[str, Object] = field(default_factory=dict)
    """ReschedulePlans by name."""
    is_listing: bool = False
    """Both are followed from the first look on, and not all of them has come yet."""
    doubts: Sequence[Doubt] = ()
    """About both: where there are any, what is known is not what there is."""
    steps: Mapping[str, Sequence[tuple[str, datetime]]] = field(default_factory=dict)
    """By UID of a PodMigration: steps as they were seen to begin."""
    points: Sequence[HistoryPoint] = ()
    told: Told | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What other stages answer. Each takes its time, beside the event loop."""

    loads: Callable[[Snapshot], Loads]
    explain: Callable[[View, int], dict[str, Any]]
    """About the pod of that row: the document of `rescheduler explain pod`."""
    curve: Callable[[View], dict[str, Any]]
    """The document of `rescheduler plan --curve`."""


class Views:
    """Between the thread that serves and the one that knows."""

    def __init__(self) -> None:
        self._maker: tuple[asyncio.AbstractEventLoop, Callable[[], View]] | None = None
        self._latest: View | None = None
        self._made_at = float("-inf")
        self._took = 0.0
        self._making: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ for whoever knows

    @contextmanager
    def made_by(self, make: Callable[[], View]) -> Iterator[None]:
        """It is called in the event loop of the caller, as often as somebody looks."""
        self._maker = (asyncio.get_running_loop(), make)
        try:
            yield
        finally:
            self._maker = None

    # ------------------------------------------------------------------ for whoever serves

    @property
    def latest(self) -> View | None:
        return self._latest

    async def fresh(self, seconds: float = 1.0) -> View | None:
        """Not older than that by our clock, unless a new one costs too much or is not to be had;
        None: nothing has ever been known.
        """
        if time.monotonic() - self._made_at >= max(seconds, self._took / _SHARE):
            if self._making is None or self._making.done():
                self._making = asyncio.ensure_future(self._make())
            await asyncio.shield(self._making)
        return self._latest

    async def _make(self) -> None:
        maker = self._maker
        if maker is None:
            return
        loop, make = maker
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ours = asyncio.get_running_loop()

        def answer() -> None:
            if not done.done():
                done.set_result(None)

        def in_its_loop() -> None:
            begun = time.perf_counter()
            try:
                view = make()
            except Exception as problem:  # noqa: BLE001 - the next one may be made
                structlog.get_logger().error(
                    "no view for the dashboard: internal error, please report", exc_info=problem
                )
            else:
                self._latest, self._took = view, time.perf_counter() - begun
                self._made_at = time.monotonic()
            if not ours.is_closed():
                ours.call_soon_threadsafe(answer)

        try:
            loop.call_soon_threadsafe(in_its_loop)
        except RuntimeError:
            return  # that loop has just ended
        try:
            await asyncio.wait_for(done, _PATIENCE_SECONDS)
        except TimeoutError:
            return
