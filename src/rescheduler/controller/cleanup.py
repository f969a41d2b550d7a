"""Takes everything of ours off a cluster. We lead for as long as that takes: what is unfinished is
ended first, and nobody begins anything meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.config.guard import WEBHOOK
from rescheduler.controller.guarding import find_webhook
from rescheduler.controller.leader_session import (
    AnotherLeads,
    Connect,
    LeaderSession,
    find_lease,
    leader_session,
)
from rescheduler.controller.shutdown import to_an_end
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate import migrating
from rescheduler.migrate.hygiene import cleaning
from rescheduler.migrate.hygiene.cleaning import Finding
from rescheduler.model import podmigration
from rescheduler.model.pausing import annotations_of, pause_of
from rescheduler.model.podmigration import Phase
from rescheduler.wire import LEASES, VALIDATING_WEBHOOKS

_CONFLICT_SECONDS: Final = 1.0
_LOOKS: Final = 3
_DRY_RUN: Final = " (dry run)"


class NotClean(ReschedulerError):
    """Something is left; the message says what, and what to do about it."""


class Cleanup:
    def __init__(
        self,
        configuration: Configuration,
        connect: Connect,
        clock: Clock,
        say: Callable[[str], None],
        *,
        everything: bool = False,
        seconds: float | None = None,
    ) -> None:
        """`say` is told of each thing that is removed. `everything`: of the history, too. After so
        many `seconds` what is unfinished is not waited for any more.
        """
        self._configuration = configuration
        self._connect = connect
        self._clock = clock
        self._say = say
        self._everything = everything
        self._seconds = seconds
        self._removed = 0

    async def preview(self) -> None:
        """Only says what it would remove."""
        async with self._connect() as kube:
            if await find_webhook(kube, self._configuration) is not None:
                self._tell_webhook(_DRY_RUN)
            async for finding in self._find(kube):
                self._tell(finding, _DRY_RUN)
            if await self._lease(kube) is not None:
                self._tell_lease(_DRY_RUN)
        self._end("nothing of the rescheduler was found")

    async def run(self) -> None:
        """Safe to repeat: it goes on where one was cut short.

        Raises:
            NotClean: something is left, or somebody leads.
        """
        async with self._connect() as kube:
            had_lease = await self._lease(kube) is not None
        election = self._configuration.leader_election
        try:
            async with leader_session(self._connect, self._clock, election) as session:
                await session.run(self._clean(session))
        except AnotherLeads as problem:
            raise NotClean(
                f"{problem}: stop it first, for example with\n"
                "kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=0"
            ) from None
        # Last, when it is ours no longer: nobody else was to begin while we cleaned.
        async with self._connect() as kube:
            await self._remove_lease(kube, is_news=had_lease)
        self._end("nothing of the rescheduler is left")

    async def _clean(self, session: LeaderSession) -> None:
        # First of all: nobody is to ask for a move any more.
        await self._remove_webhook(session.kube)
        await self._end_what_is_unfinished(session)
        # What was put in order may leave a history, which the next look finds.
        for left in reversed(range(_LOOKS)):
            if not await self._remove_all(session.kube, is_last=not left):
                return

    async def _remove_all(self, kube: KubeApi, *, is_last: bool) -> bool:
        """Whether there was anything. What somebody changed meanwhile, as the kubelet does with a
        copy that starts, is for the next look; so is a copy whose budget has not heard yet that its
        original serves again.
        """
        before, left, has_changed = self._removed, [], False
        async for finding in self._find(kube):
            try:
                await cleaning.remove(kube, finding, self._configuration.migration)
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                if isinstance(problem, errors.Conflict | errors.BudgetRefused) and not is_last:
                    has_changed = True
                    continue
                left.append(f"{cleaning.name_of(finding)}: {problem}")
            else:
                self._tell(finding)
        if left:
            raise NotClean("\n".join(["could not be removed; run it again:", *left]))
        if has_changed:
            await self._clock.sleep(_CONFLICT_SECONDS)
        return has_changed or self._removed > before

    async def _remove_webhook(self, kube: KubeApi) -> None:
        found = await find_webhook(kube, self._configuration)
        if found is None:
            return
        metadata = found["metadata"]
        with suppress(errors.NotFound):
            await kube.delete(VALIDATING_WEBHOOKS, "", metadata["name"], uid=metadata["uid"])
            self._tell_webhook()

    # ------------------------------------------------------------------ migrations

    async def _end_what_is_unfinished(self, session: LeaderSession) -> None:
        scope = self._configuration.scope
        known = await cleaning.migrations_of(session.kube, None)
        ours = [each for each in known if scope.covers(each["metadata"]["namespace"])]
        for finding in cleaning.never_begun(ours):
            await cleaning.remove(session.kube, finding, self._configuration.migration)
            self._tell(finding)
        begun = [
            each
            for each in filter(podmigration.is_unfinished, ours)
            if podmigration.phase_of(each) is Phase.IN_PROGRESS
        ]
        if not begun:
            return
        self._say(f"ending {_migrations(len(begun))} under way")
        if left := await self._unfinished_after_all(session):
            raise NotClean(
                f"{_migrations(left)} could not be ended: see kubectl get podmigrations -A -o "
                "wide, and run it again"
            )

    async def _unfinished_after_all(self, session: LeaderSession) -> int:
        """How many could not be ended in time."""
        term = session.leadership.term
        async with migrating(
            session.kube, self._clock, self._configuration, holder=term.holder, fence=term.number
        ) as migrator:
            await migrator.synced()
            try:
                async with asyncio.timeout(self._seconds):
                    await to_an_end(
                        migrator.idle(),
                        migrator,
                        may_write=session.leadership.may_write,
                        stop=lambda: None,
                    )
            except TimeoutError:
                pass
            return migrator.unfinished

    # ------------------------------------------------------------------ the lease

    async def _lease(self, kube: KubeApi) -> dict[str, Any] | None:
        election = self._configuration.leader_election
        lease = await find_lease(kube, election)
        # Without an election there is one only where somebody paused.
        is_ours = election.leader_elect or pause_of(annotations_of(lease)) is not None
        return lease if is_ours else None

    async def _remove_lease(self, kube: KubeApi, *, is_news: bool) -> None:
        """News, unless we have made it ourselves a moment ago."""
        lease = await self._lease(kube)
        if lease is not None and await remove_lease(kube, lease) and is_news:
            self._tell_lease()

    # ------------------------------------------------------------------ telling

    async def _find(self, kube: KubeApi) -> AsyncIterator[Finding]:
        # First, so that nobody goes on with one of them.
        election = self._configuration.leader_election
        for plan in await cleaning.plans_of(kube, election.resource_namespace):
            yield plan
        async for finding in cleaning.find(
            kube, self._configuration.scope, history=self._everything
        ):
            yield finding

    def _tell(self, finding: Finding, mode: str = "") -> None:
        self._removed += 1
        self._say(f"{cleaning.name_of(finding)} {finding.done}{mode}")

    def _tell_webhook(self, mode: str = "") -> None:
        self._removed += 1
        kind = "validatingwebhookconfiguration.admissionregistration.k8s.io"
        self._say(f"{kind}/{WEBHOOK} deleted{mode}")

    def _tell_lease(self, mode: str = "") -> None:
        election = self._configuration.leader_election
        self._removed += 1
        self._say(
            f"lease.coordination.k8s.io/{election.resource_name} in namespace "
            f"{election.resource_namespace} deleted{mode}"
        )

    def _end(self, words: str) -> None:
        if not self._removed:
            self._say(words)


async def remove_lease(kube: KubeApi, lease: dict[str, Any]) -> bool:
    """As it was seen, or a rescheduler that has just taken it would lose it. False: it is gone.

    Raises:
        NotClean: somebody has it, or takes it in this moment.
    """
    metadata = lease["metadata"]
    if holder := (lease.get("spec") or {}).get("holderIdentity"):
        raise NotClean(f"the lease is left, as {holder} has taken it: stop it, and run this again")
    try:
        await kube.delete(
            LEASES,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )
    except errors.NotFound:
        return False
    except errors.KubeError as problem:
        raise NotClean(f"the lease could not be removed: {problem}") from None
    return True


def _migrations(number: int) -> str:
    return f"{number} migration{'' if number == 1 else 's'}"
