"""Viewers who may see the same: what changes is found, written and compressed once for all."""

import asyncio
import gzip
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from rescheduler import __version__
from rescheduler.model.objects import Object
from rescheduler.serve.dashboard.access import Viewer
from rescheduler.serve.dashboard.answers import Asked, migrations, overview, plans
from rescheduler.serve.dashboard.book import Book
from rescheduler.serve.dashboard.documents.events import (
    Goodbye,
    Hello,
    MigrationChanges,
    PlanChanges,
    PlanNews,
)
from rescheduler.serve.dashboard.documents.overview import Overview
from rescheduler.serve.dashboard.frames import HEARTBEAT, Block, event
from rescheduler.serve.dashboard.refusing import UNAVAILABLE, Refused
from rescheduler.serve.dashboard.rights import Rights
from rescheduler.serve.dashboard.view import Questions, View, Views
from rescheduler.serve.dashboard.working import Worker

EVERY_SECONDS: Final = 1.0
_TOLD_SECONDS: Final = 5.0
"""After which how it stands is told again, although nothing but the time has changed."""
_MOST_BLOCKS: Final = 30
"""That may wait for one reader: who is further behind is hung up on."""
_MOST_BYTES: Final = 2**23
_EPOCH_BITS: Final = 40
_QUICK: Final = 3
"""Of zlib: the cluster is large, and somebody waits for it."""


class Reader:
    """One stream. Whoever writes it takes the blocks from here."""

    def __init__(self) -> None:
        self._blocks: asyncio.Queue[Block] = asyncio.Queue()
        self._bytes = 0
        self.is_behind = False
        self.is_gone = False

    @property
    def waiting(self) -> int:
        """Blocks."""
        return self._blocks.qsize()

    def leave(self) -> None:
        """Nobody is there any more: whoever waits for the next block is woken."""
        self.is_gone = True
        self._blocks.put_nowait(HEARTBEAT)

    def offer(self, block: Block) -> None:
        self._bytes += len(block.compressed)
        if self._blocks.qsize() >= _MOST_BLOCKS or self._bytes > _MOST_BYTES:
            self.is_behind = True
            # What waits is kept for nobody.
            while not self._blocks.empty():
                self._blocks.get_nowait()
            self._bytes = 0
        self._blocks.put_nowait(block)

    async def next(self) -> Block:
        block = await self._blocks.get()
        self._bytes = max(0, self._bytes - len(block.compressed))
        return block


class Audience:
    def __init__(self, rights: Rights, views: Views, questions: Questions, worker: Worker) -> None:
        self._rights = rights
        self._views = views
        self._questions = questions
        self._worker = worker
        # Of another replica, or before a restart: the same number is another state there.
        self._book = Book(rights, epoch=secrets.randbits(_EPOCH_BITS))
        self._readers: set[Reader] = set()
        self._turn = asyncio.Lock()
        self._ticking: asyncio.Task[None] | None = None
        self._told = _Told()
        self._document: tuple[str, bytes] = ("", b"")
        self.used_at = time.monotonic()

    @property
    def is_watched(self) -> bool:
        return bool(self._readers)

    def end(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()

    # ------------------------------------------------------------------ the whole

    async def cluster(self) -> bytes:
        """Compressed. Raises Refused."""
        self.used_at = time.monotonic()
        if not self.is_watched or self._book.serial < 0:
            await self._refresh()
        async with self._turn:
            return await self._worker.do(self._written)

    def _written(self) -> bytes:
        version = self._book.version
        if self._document[0] != version:
            body = msgspec.json.encode(self._book.document())
            self._document = (version, gzip.compress(body, _QUICK, mtime=0))
        return self._document[1]

    # ------------------------------------------------------------------ what changes

    @contextmanager
    def joined(self) -> Iterator[Reader]:
        reader = Reader()
        self._readers.add(reader)
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick(), name="tell viewers")
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            self.used_at = time.monotonic()

    async def hello(self) -> Block:
        """Raises Refused."""
        if self._book.serial < 0:
            await self._refresh()
        said = Hello(version=self._book.version, server_version=__version__)
        return Block.of(b"retry: 2000\n" + event("hello", said, self._book.version))

    async def _tick(self) -> None:
        """As long as somebody reads."""
        while self._readers:
            begun = time.monotonic()
            try:
                await self._refresh()
            except Refused:
                pass  # nothing is known yet, or too much is asked
            except Exception:
                log = structlog.get_logger()
                log.exception("viewers are not told: internal error, please report")
            took = time.monotonic() - begun
            await asyncio.sleep(max(EVERY_SECONDS - took, took, 0.1))

    async def _refresh(self) -> None:
        view = await self._views.fresh()
        if view is None:
            raise Refused(UNAVAILABLE, "nothing is known yet", way_out="ask again in a moment")
        async with self._turn:
            block = await self._worker.do(lambda: self._changes(view))
        if block is not None:
            for each in tuple(self._readers):
                each.offer(block)

    def _changes(self, view: View) -> Block | None:
        asked = Asked(view, Viewer(rights=self._rights), self._questions)
        is_first = self._book.serial < 0
        frames = []
        patch = self._book.update(view, asked.loads, is_told=not is_first)
        if patch is not None:
            frames.append(event("cluster", patch, self._book.version))
        frames += self._told.changes(asked)
        if is_first or not frames:
            return None
        return Block.of(b"".join(frames))


class _Told:
    """What viewers have heard, beside the cluster."""

    def __init__(self) -> None:
        self._overview: Overview | None = None
        self._overview_at = float("-inf")
        self._records: Mapping[Any, Object] = {}
        self._plans: Mapping[Any, Object] = {}
        self._decided: datetime | None = None
        self._point: datetime | None = None

    def changes(self, asked: Asked) -> list[bytes]:
        view = asked.view
        frames = [*self._about_overview(asked)]
        changed, gone = _differences(self._records, view.records)
        if seen := [each for each in changed if asked.rights.sees(each["metadata"]["namespace"])]:
            rows = [migrations.row(each, asked.words) for each in seen]
            frames.append(event("migrations", MigrationChanges(changed=rows, removed=[])))
        if removed := [f"{key[0]}/{key[1]}" for key in gone if asked.rights.sees(key[0])]:
            frames.append(event("migrations", MigrationChanges(changed=[], removed=removed)))
        changed, gone = _differences(self._plans, view.plans)
        if changed or gone:
            rows_of_plans = [plans.row(each, asked.words) for each in changed]
            news = PlanChanges(changed=rows_of_plans, removed=list(gone))
            frames.append(event("plans", news))
        self._records, self._plans = view.records, view.plans
        return [*frames, *self._about_passes(view)]

    def _about_overview(self, asked: Asked) -> Iterator[bytes]:
        found, now = overview.overview(asked), time.monotonic()
        found.viewer = None
        before = self._overview
        is_same = before is not None and msgspec.structs.replace(found, now=before.now) == before
        if not is_same or now - self._overview_at >= _TOLD_SECONDS:
            self._overview, self._overview_at = found, now
            yield event("overview", found)

    def _about_passes(self, view: View) -> Iterator[bytes]:
        decided = view.decided
        if decided is not None and decided.at != self._decided:
            self._decided = decided.at
            news = PlanNews(
                decided_at=decided.at,
                moves=len(decided.plan.moves),
                refusals=len(decided.plan.refusals),
            )
            yield event("plan", news)
        for point in view.points[-10:]:
            if self._point is None or point.at > self._point:
                self._point = point.at
                yield event("history", point)


def _differences(
    before: Mapping[Any, Object], now: Mapping[Any, Object]
) -> tuple[list[Object], list[Any]]:
    if before is now:
        return [], []
    changed = [each for key, each in now.items() if before.get(key) is not each]
    return changed, [key for key in before if key not in now]


def goodbye(reason: str) -> Block:
    return Block.of(event("goodbye", Goodbye(reason=reason)))
