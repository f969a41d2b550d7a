"""Ends records for which the planner has found no target, before anything was done for them."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import structlog

from rescheduler.kube import errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.record.store import Store
from rescheduler.migrate.worker.context import Context
from rescheduler.model import podmigration
from rescheduler.model.moves import Denial
from rescheduler.model.objects import Object, has_ended
from rescheduler.model.podmigration import Phase, Step
from rescheduler.wire import POD_MIGRATIONS, PODS


class Denials:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._kube = context.kube
        self._store = store
        self._few_at_once = asyncio.Semaphore(context.settings.workers)
        self._log = structlog.get_logger()

    async def write(self, denials: Iterable[Denial]) -> list[tuple[Object, Outcome]]:
        """Those that have ended by it. The others are decided anew by whoever plans next: what the
        plan was made of may be older than what they ask for now.
        """
        ended = await asyncio.gather(*map(self._one, denials))
        return [each for each in ended if each is not None]

    async def _one(self, denial: Denial) -> tuple[Object, Outcome] | None:
        async with self._few_at_once:
            record = self._store.get((denial.namespace, denial.record))
            if record is None or not _is_meant(denial, record):
                return None
            try:
                if denial.is_gone and await self._is_there(record):
                    return None  # the planner had not heard of it yet
                return await self._end(record, denial)
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                # Of another version, for instance: somebody may have set a target.
                self._log.debug(
                    "PodMigration could not be ended, and is decided anew",
                    migration=denial.record,
                    problem=str(problem),
                )
                return None

    async def _is_there(self, record: Object) -> bool:
        name, namespace = podmigration.pod_name(record), record["metadata"]["namespace"]
        try:
            pod = await self._kube.get(PODS, namespace, name)
        except errors.NotFound:
            return False
        is_same = pod["metadata"]["uid"] == podmigration.pod_uid(record)
        return is_same and not has_ended(pod)

    async def _end(self, record: Object, denial: Denial) -> tuple[Object, Outcome]:
        metadata, now = record["metadata"], self._context.clock.now()
        outcome = Outcome(moved=False, reason=denial.reason, message=denial.message)
        status = replace(
            records.read_status(record),
            phase=Phase.FAILED,
            step=Step.DONE,
            reason=outcome.reason,
            message=outcome.message,
            ended_at=now,
            holder=self._context.holder,
            fence=self._context.fence,
        )
        changed = await self._kube.patch(
            POD_MIGRATIONS,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            change={
                "metadata": {"resourceVersion": metadata["resourceVersion"]},
                "status": records.status_document(record, status, now),
            },
            subresource="status",
        )
        self._context.learn(changed)
        if self._context.is_told(outcome.reason):
            self._log.info(
                "migration ended: it gets no target",
                migration=metadata["name"],
                pod=f"{metadata['namespace']}/{podmigration.pod_name(record)}",
                source=podmigration.source_of(record),
                outcome=outcome.reason,
                message=outcome.message,
            )
        return changed, outcome


def _is_meant(denial: Denial, record: Object) -> bool:
    is_same = record["metadata"]["uid"] == denial.record_uid
    return is_same and podmigration.waits_for_target(record)
