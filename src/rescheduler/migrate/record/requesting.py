"""Moves become records, one each, however often they are asked for and whatever answer is lost; and
whoever asked has a handle, by which he hears how each ended.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from rescheduler.clock import Clock
from rescheduler.config import Configuration, permits
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.record.indexes import Key
from rescheduler.migrate.record.store import Store, key_of
from rescheduler.model import podmigration
from rescheduler.model.moves import Move, Way
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason, reasons
from rescheduler.wire import POD_MIGRATIONS

# ---------------------------------------------------------------------- handles


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


# ---------------------------------------------------------------------- records


class Requests:
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        configuration: Configuration,
        *,
        store: Store,
        handles: Handles,
        trouble: Callable[[], None],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._configuration = configuration
        self._store = store
        self._handles = handles
        self._trouble = trouble

    async def submit(self, moves: Sequence[Move]) -> list[Handle]:
        """One handle per move, in their order. A pod that is being moved already is not moved
        twice: its handle is for the migration under way.
        """
        sizes = Counter(move.group for move in moves)
        ids = {group: self._group_id(group, moves) for group in sizes if group}
        return list(
            await asyncio.gather(
                *(self._ask(move, ids.get(move.group, ""), sizes[move.group]) for move in moves)
            )
        )

    async def create(self, body: Object) -> Object:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        for pause in (0.2, 1.0, 3.0, None):
            try:
                return await self._kube.create(POD_MIGRATIONS, namespace, dict(body))
            except errors.AlreadyExists:
                # Ours, whose answer was lost, or of somebody who wants the same.
                return await self._kube.get(POD_MIGRATIONS, namespace, name)
            except (errors.Unavailable, errors.Throttled) as problem:
                if pause is None:
                    raise
                self._trouble()
                await self._clock.sleep(problem.retry_after_seconds or pause)
        raise AssertionError("unreachable")

    def _group_id(self, group: str, moves: Sequence[Move]) -> str:
        """The same for a repeated request, another one for each further attempt."""
        members = sorted(
            f"{move.uid}/{self._attempt(move.uid)}" for move in moves if move.group == group
        )
        return hashlib.sha256("/".join([group, *members]).encode()).hexdigest()[:16]

    def _attempt(self, uid: str) -> int:
        """The one under way, or the next."""
        known = self._store.of_pod(uid)
        if not known:
            return 1
        last = known[-1]
        is_next = not podmigration.is_unfinished(last) or podmigration.waits_for_target(last)
        return podmigration.attempt_of(last) + is_next

    def _under_way(self, move: Move) -> Object | None:
        """The record that moves its pod already, or else the first that asks for a target for it,
        and for such a move.
        """
        unfinished = [*filter(podmigration.is_unfinished, self._store.of_pod(move.uid))]
        for record in reversed(unfinished):
            if not podmigration.waits_for_target(record):
                return record
        asking = [each for each in unfinished if _suits(move, each)]
        first = sorted(asking, key=lambda each: (podmigration.created_at(each), key_of(each)))
        return first[0] if first else None

    async def _join(self, move: Move, record: Object) -> Handle:
        """A pod that is being moved already is not moved twice. Where its record leaves the target
        to us, it has one from now on; whoever has set one meanwhile was first.
        """
        if podmigration.waits_for_target(record):
            try:
                record = await self._with_target(record, move.target)
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                return self._handles.refuse(move, record["metadata"]["name"], str(problem))
            self._store.learn(record)
        return self._handles.issue(move, record)

    async def _with_target(self, record: Object, target: str) -> Object:
        """As it is afterwards. An answer that was lost, or a plan that is older than the record, is
        known by its version.
        """
        metadata = record["metadata"]
        namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
        for pause in (0.2, 1.0, 3.0, None):
            version = {"resourceVersion": record["metadata"]["resourceVersion"]}
            change = {"metadata": version, "spec": {"target": target}}
            try:
                return await self._kube.patch(
                    POD_MIGRATIONS, namespace, name, uid=uid, change=change
                )
            except errors.Conflict:
                record = await self._kube.get(POD_MIGRATIONS, namespace, name)
                if record["metadata"]["uid"] != uid:
                    raise errors.NotFound("its record was deleted") from None
                if not podmigration.waits_for_target(record):
                    return record
                if pause is None:
                    raise
            except (errors.Unavailable, errors.Throttled) as problem:
                if pause is None:
                    raise
                self._trouble()
                await self._clock.sleep(problem.retry_after_seconds or pause)
        raise AssertionError("unreachable")

    async def _ask(self, move: Move, group: str, size: int) -> Handle:
        if (under_way := self._under_way(move)) is not None:
            return await self._join(move, under_way)
        pods = self._configuration.pods
        body = records.build(
            move,
            self._configuration.migration,
            attempt=self._attempt(move.uid),
            may_recreate=move.forced or permits(pods.recreate, asked=move.asked),
            group=group,
            group_size=size if group else 0,
        )
        try:
            record = await self.create(body)
        except errors.NotLeading:
            raise
        except errors.KubeError as problem:
            return self._handles.refuse(move, body["metadata"]["name"], str(problem))
        self._store.learn(record)
        return self._handles.issue(move, record)


def _suits(move: Move, record: Object) -> bool:
    """It may have been planned before the record was there, or for what that does not ask for."""
    may_go_first = podmigration.may_recreate(record) or not move.is_ready
    return (
        move.source == podmigration.source_of(record)
        and (move.way is Way.SURGE or may_go_first)
        and (podmigration.is_forced(record) or not move.forced)
    )
