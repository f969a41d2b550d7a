"""Handles on moves that were asked for: how each of them ended, as soon as it has."""

import asyncio
from collections.abc import Container
from dataclasses import dataclass, field

from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.migrate.record.lines import Key
from rescheduler.migrate.record.store import Store, key_of
from rescheduler.model import podmigration
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason, reasons


@dataclass(frozen=True, slots=True)
class _Awaited:
    taken_over: asyncio.Event = field(default_factory=asyncio.Event)
    end: asyncio.Future[Outcome] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, outcome: Outcome) -> None:
        if not self.end.done():
            self.end.set_result(outcome)


@dataclass(frozen=True, slots=True)
class Handle:
    move: Move
    record: str
    _awaited: _Awaited

    async def taken_over(self) -> None:
        """Until the copy serves and the original is told to end: with some that never happens."""
        await self._awaited.taken_over.wait()

    async def ended(self) -> Outcome:
        return await asyncio.shield(self._awaited.end)


class Handles:
    def __init__(self, store: Store, running: Container[Key]) -> None:
        """What is `running` tells by itself how it ended."""
        self._store = store
        self._running = running
        self._awaited: dict[Key, _Awaited] = {}

    def __contains__(self, key: object) -> bool:
        """Whether somebody waits for its end."""
        return key in self._awaited

    def issue(self, move: Move, record: Object) -> Handle:
        key = key_of(record)
        if key not in self._awaited:
            self._awaited[key] = _Awaited()
        handle = Handle(move, record["metadata"]["name"], self._awaited[key])
        self._look_at(key)
        return handle

    def refuse(self, move: Move, record: str, why: str) -> Handle:
        """It could not even be asked for."""
        refused = _Awaited()
        refused.settle(Outcome(moved=False, reason=Reason.REFUSED, message=why))
        return Handle(move, record, refused)

    def settle(self, key: Key, outcome: Outcome) -> None:
        awaited = self._awaited.pop(key, None)
        if awaited is not None:
            awaited.settle(outcome)

    def look(self) -> None:
        """Whose originals only have to end; and which have ended without us: carried out by
        another, or deleted before they began.
        """
        for key in list(self._awaited):
            self._look_at(key)

    def _look_at(self, key: Key) -> None:
        record = self._store.get(key)
        if record is not None and podmigration.is_taken_over(record):
            self._awaited[key].taken_over.set()
        if key not in self._running and (outcome := self._outcome(key)):
            self.settle(key, outcome)

    def _outcome(self, key: Key) -> Outcome | None:
        record = self._store.get(key)
        if record is None:
            message = "its record was deleted"
            return Outcome(moved=False, reason=Reason.CANCELLED, message=message)
        status = records.read_status(record)
        if not status.phase.is_over:
            return None
        return Outcome(
            moved=status.phase is Phase.COMPLETED,
            reason=reasons.known(status.reason),
            message=status.message,
        )
