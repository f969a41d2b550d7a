"""Tickets for moves that were asked for: how each of them ended, as soon as it has."""

import asyncio
from collections.abc import Container
from dataclasses import dataclass

from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.stages import Phase
from rescheduler.migrate.store import Key, Store, key_of
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object


@dataclass(frozen=True, slots=True)
class Ticket:
    move: Move
    record: str
    _end: asyncio.Future[Outcome]

    async def ended(self) -> Outcome:
        return await asyncio.shield(self._end)


class Tickets:
    def __init__(self, store: Store, running: Container[Key]) -> None:
        """What is `running` tells by itself how it ended."""
        self._store = store
        self._running = running
        self._ends: dict[Key, asyncio.Future[Outcome]] = {}

    def __contains__(self, key: Key) -> bool:
        """Whether somebody waits for its end."""
        return key in self._ends

    def issue(self, move: Move, record: Object) -> Ticket:
        key = key_of(record)
        if key not in self._ends:
            self._ends[key] = asyncio.get_running_loop().create_future()
        ticket = Ticket(move, record["metadata"]["name"], self._ends[key])
        self._look_at(key)
        return ticket

    def refuse(self, move: Move, record: str, why: str) -> Ticket:
        """It could not even be asked for."""
        end: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        end.set_result(Outcome(moved=False, reason=Reason.REFUSED, message=why))
        return Ticket(move, record, end)

    def settle(self, key: Key, outcome: Outcome) -> None:
        end = self._ends.pop(key, None)
        if end is not None and not end.done():
            end.set_result(outcome)

    def look(self) -> None:
        """Which have ended without us: carried out by another, or deleted before they began."""
        for key in list(self._ends):
            self._look_at(key)

    def _look_at(self, key: Key) -> None:
        if key not in self._running and (outcome := self._outcome(key)):
            self.settle(key, outcome)

    def _outcome(self, key: Key) -> Outcome | None:
        record = self._store.get(key)
        if record is None:
            message = "its record was deleted"
            return Outcome(moved=False, reason=Reason.CANCELLED, message=message)
        standing = records.standing_of(record)
        if not standing.phase.is_over:
            return None
        return Outcome(
            moved=standing.phase is Phase.COMPLETED,
            reason=records.reason_of(standing.reason),
            message=standing.message,
        )
