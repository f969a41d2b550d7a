"""Moves become records, one each, however often they are asked for and whatever answer is lost."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

from rescheduler.clock import Clock
from rescheduler.config import Configuration, permits
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.record.handles import Handle, Handles
from rescheduler.migrate.record.store import Store
from rescheduler.model import podmigration
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.wire import POD_MIGRATIONS


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
        return podmigration.attempt_of(known[-1]) + (not podmigration.is_unfinished(known[-1]))

    async def _ask(self, move: Move, group: str, size: int) -> Handle:
        known = self._store.of_pod(move.uid)
        if known and podmigration.is_unfinished(known[-1]):
            return self._handles.issue(move, known[-1])
        pods = self._configuration.pods
        body = records.build(
            move,
            self._configuration.migration,
            attempt=self._attempt(move.uid),
            may_interrupt=move.forced or permits(pods.interruptions, asked=move.asked),
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
