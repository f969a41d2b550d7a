"""Writes down how far a migration has come: each time by comparing and setting, so that of two who
would carry out the same one only one goes on.
"""

from dataclasses import replace
from typing import Any

from rescheduler.kube import errors
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.migrate.worker.context import Context
from rescheduler.migrate.worker.namespaces import sees_or_waits
from rescheduler.model import names, objects
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase
from rescheduler.wire import POD_MIGRATIONS


class Gone(Exception):
    """The record was deleted."""


class Recorder:
    def __init__(self, context: Context, record: Object) -> None:
        self._context = context
        self._kube = context.kube
        self._clock = context.clock
        self._has_ended = False
        """We tried to write down that it is over."""
        self.record = record
        self.status = records.read_status(record)
        self.is_gone = False
        """Somebody deleted it: nothing is written down any more."""

    @property
    def known(self) -> Object:
        """The record as it is or, once somebody has deleted it, as it would be: what was done and
        written down is done, and decides what is to be done. Nobody is steered by it any more.
        """
        if not self.is_gone:
            return self.record
        metadata = self.record["metadata"]
        labels = {k: v for k, v in objects.labels(self.record).items() if k != names.STEERING}
        document = records.status_document(self.record, self.status, self._clock.now())
        return {**self.record, "metadata": {**metadata, "labels": labels}, "status": document}

    async def write(self, status: MigrationStatus) -> None:
        """Does nothing when the record says so already, or is not there any more."""
        # What is over stays as it was written: that may have been us, and the answer was lost.
        if self.status.phase.is_over or _essence(status) == _essence(self.status):
            return
        if not self.is_gone:
            await self._compare_and_set(status)
        self.status = status

    async def _compare_and_set(self, status: MigrationStatus) -> None:
        self._has_ended = status.phase.is_over
        try:
            await self._patch_status(status)
        except errors.Conflict:
            # Our own write, whose answer was lost, or a label of somebody's: nobody else writes
            # what we write, or `refresh` would have said so.
            await self.refresh()
            if _essence(status) != _essence(self.status):
                await self._patch_status(status)

    async def _patch_status(self, status: MigrationStatus) -> None:
        document = records.status_document(self.record, status, self._clock.now())
        await self._patch({"status": document}, "status")

    async def tell(self, message: str) -> None:
        """What is waited for, where that lasts and is not what the record says."""
        if self.is_gone or self.status.phase is Phase.PENDING or message == self.status.message:
            return
        if self.status.giving_up:
            return  # the record says why, and whoever goes on has it from there
        status = replace(self.status, message=message)
        await self._compare_and_set(status)
        self.status = status

    async def label(self, labels: dict[str, str | None]) -> None:
        if self.is_gone:
            return
        try:
            await self._patch({"metadata": {"labels": labels}}, "")
        except errors.Conflict:
            await self.refresh()
            raise

    async def _patch(self, change: dict[str, Any], subresource: str) -> None:
        metadata = self.record["metadata"]
        version = {"resourceVersion": metadata["resourceVersion"]}
        change = {**change, "metadata": {**change.get("metadata", {}), **version}}
        try:
            self.record = await self._kube.patch(
                POD_MIGRATIONS,
                metadata["namespace"],
                metadata["name"],
                uid=metadata["uid"],
                change=change,
                subresource=subresource,
            )
        except errors.NotFound:
            self.is_gone = True
            raise Gone from None
        self._context.learn(self.record)

    async def refresh(self) -> None:
        """Reads the record anew: another version may be our own write whose answer was lost, or
        somebody's label. Written by another leader, it is not ours any more.
        """
        metadata = self.record["metadata"]
        try:
            with sees_or_waits():
                found = await self._kube.get(
                    POD_MIGRATIONS, metadata["namespace"], metadata["name"]
                )
        except errors.NotFound:
            found = None
        if found is None or found["metadata"]["uid"] != metadata["uid"]:
            self.is_gone = True
            raise Gone
        now = records.read_status(found)
        # Until we have written, it is whose it was when we began. One of an earlier term may have
        # written late: its number is smaller, and it does so no more.
        mine = ("", self._context.holder, self.status.holder)
        is_ours = now.fence <= self._context.fence and (
            now.holder in mine or now.fence < self._context.fence
        )
        if not is_ours or (now.phase.is_over and not self._has_ended):
            raise errors.NotLeading(f"{now.holder or 'somebody else'} carries this migration out")
        self.record, self.status = found, now


def _essence(status: MigrationStatus) -> MigrationStatus:
    """What is waited for changes often, and where a copy is, is no surprise: both are told when
    there is something to write anyway.
    """
    return replace(status, message="", new_node="")
