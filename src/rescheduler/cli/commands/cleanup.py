"""`rescheduler cleanup`: everything of ours off the cluster."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rescheduler import config
from rescheduler.cli import settings
from rescheduler.cli.clusters import connecting
from rescheduler.cli.commanding import set_up_logs
from rescheduler.cli.options import Config, Context, Kubeconfig, Timeout
from rescheduler.cli.output import say_line, tell
from rescheduler.cli.render.layout import counted
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect, LeaderSession
    from rescheduler.kube import KubeApi
    from rescheduler.migrate.hygiene.cleaning import Finding

EXAMPLES: Final = """Examples:
  # See what there is
  rescheduler cleanup --all --dry-run

  # Remove all traces, then the rest of the installation
  kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=0
  rescheduler cleanup --all
  kubectl delete -k manifests/rescheduler"""

_INTERRUPTED: Final = 130
_CONFLICT_SECONDS: Final = 1.0
_LOOKS: Final = 3


class NotClean(ReschedulerError):
    """Something is left; the message says what, and what to do about it."""


def cleanup(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also remove the history from pods that were moved.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed; change nothing.")
    ] = False,
    timeout: Timeout = "10m",
    config_file: Config = None,
    kubeconfig: Kubeconfig = "",
    context: Context = None,
) -> None:
    """Remove everything of the rescheduler from the cluster, before it is uninstalled.

    Migrations under way are ended or undone first. Then go: records, temporary
    budgets, marks on pods, copies that were left behind, cordons of ours, and the
    lease. A node that was drained, or that is still labelled for maintenance, stays
    cordoned: kubectl uncordon NODE has it back. Refuses while a rescheduler leads.
    It needs the rights of an administrator, not those of rbac.yaml.

    Exit status: 0 when nothing is left, 1 when something is, 2 for wrong usage, 130
    when interrupted. A second run goes on where one was cut short.
    """
    seconds = time_limit("--timeout", timeout)
    set_up_logs(quiet=True)
    configuration = settings.load(config_file).configuration
    connect = connecting(kubeconfig or configuration.client_connection.kubeconfig, context)
    cleaning = Cleaning(
        configuration, connect, SystemClock(), everything=everything, seconds=seconds
    )
    raise typer.Exit(asyncio.run(cleaning.to_its_end(dry_run=dry_run)))


class Cleaning:
    def __init__(
        self,
        configuration: config.Configuration,
        connect: "Connect",
        clock: Clock,
        *,
        everything: bool = False,
        seconds: float | None = None,
    ) -> None:
        self._configuration = configuration
        self._connect = connect
        self._everything = everything
        self._seconds = seconds
        self._clock = clock
        self._removed = 0

    async def to_its_end(self, *, dry_run: bool = False) -> int:
        """The exit status. Raises NotClean."""
        try:
            await (self.preview() if dry_run else self.run())
        except asyncio.CancelledError:
            tell(["interrupted; rescheduler cleanup goes on where this one was cut short"])
            return _INTERRUPTED
        return 0

    async def preview(self) -> None:
        from rescheduler.migrate.hygiene import cleaning

        async with self._connect() as kube:
            found = cleaning.find(kube, self._configuration.scope, history=self._everything)
            async for finding in found:
                self._tell(finding, " (dry run)")
            if await self._lease(kube) is not None:
                self._tell_lease(" (dry run)")
        self._end("nothing of the rescheduler was found")

    async def run(self) -> None:
        from rescheduler.controller import leader_session

        async with self._connect() as kube:
            had_lease = await self._lease(kube) is not None
        try:
            async with leader_session.leader_session(
                self._connect, self._clock, self._configuration.leader_election
            ) as session:
                await session.run(self._clean(session))
        except leader_session.AnotherLeads as problem:
            raise NotClean(
                f"{problem}: stop it first, for example with\n"
                "kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=0"
            ) from None
        # Last, when it is ours no longer: nobody else was to begin while we cleaned.
        async with self._connect() as kube:
            await self._remove_lease(kube, is_news=had_lease)
        self._end("nothing of the rescheduler is left")

    async def _clean(self, session: "LeaderSession") -> None:
        await self._end_what_is_unfinished(session)
        # What was put in order may leave a history, which the next look finds.
        for left in reversed(range(_LOOKS)):
            if not await self._remove_all(session.kube, is_last=not left):
                return

    async def _remove_all(self, kube: "KubeApi", *, is_last: bool) -> bool:
        """Whether there was anything. What somebody changed meanwhile, as the kubelet does with a
        copy that starts, is for the next look; so is a copy whose budget has not heard yet that its
        original serves again.
        """
        from rescheduler.kube import errors
        from rescheduler.migrate.hygiene import cleaning

        before, left, has_changed = self._removed, [], False
        scope = self._configuration.scope
        async for finding in cleaning.find(kube, scope, history=self._everything):
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

    async def _end_what_is_unfinished(self, session: "LeaderSession") -> None:
        from rescheduler.controller.shutdown import to_an_end
        from rescheduler.migrate import migrating
        from rescheduler.migrate.hygiene import cleaning
        from rescheduler.model import podmigration
        from rescheduler.model.podmigration import Phase

        scope, term = self._configuration.scope, session.leadership.term
        known = await cleaning.migrations_of(session.kube, None)
        ours = [each for each in known if scope.covers(each["metadata"]["namespace"])]
        for finding in cleaning.never_begun(ours):
            await cleaning.remove(session.kube, finding, self._configuration.migration)
            self._tell(finding)
        begun = [
            each
            for each in ours
            if podmigration.is_unfinished(each) and podmigration.phase_of(each) is Phase.IN_PROGRESS
        ]
        if not begun:
            return
        say_line(f"ending {counted(len(begun), 'migration')} under way")
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
            if migrator.unfinished:
                raise NotClean(
                    f"{counted(migrator.unfinished, 'migration')} could not be ended: see "
                    "kubectl get podmigrations -A -o wide, and run it again"
                )

    # ------------------------------------------------------------------ the lease

    async def _lease(self, kube: "KubeApi") -> dict[str, Any] | None:
        from rescheduler.controller import leader_session
        from rescheduler.model.pausing import annotations_of, pause_of

        election = self._configuration.leader_election
        lease = await leader_session.find_lease(kube, election)
        # Without an election there is one only where somebody paused.
        is_ours = election.leader_elect or pause_of(annotations_of(lease)) is not None
        return lease if is_ours else None

    async def _remove_lease(self, kube: "KubeApi", *, is_news: bool) -> None:
        """News, unless we have made it ourselves a moment ago."""
        lease = await self._lease(kube)
        if lease is not None and await remove_lease(kube, lease) and is_news:
            self._tell_lease()

    def _tell_lease(self, mode: str = "") -> None:
        election = self._configuration.leader_election
        self._removed += 1
        say_line(
            f"lease.coordination.k8s.io/{election.resource_name} in namespace "
            f"{election.resource_namespace} deleted{mode}"
        )

    # ------------------------------------------------------------------ telling

    def _tell(self, finding: "Finding", mode: str = "") -> None:
        from rescheduler.migrate.hygiene import cleaning

        self._removed += 1
        say_line(f"{cleaning.name_of(finding)} {finding.done}{mode}")

    def _end(self, words: str) -> None:
        if not self._removed:
            say_line(words)


async def remove_lease(kube: "KubeApi", lease: dict[str, Any]) -> bool:
    """As it was seen, or a rescheduler that has just taken it would lose it. False: it is gone.

    Raises:
        NotClean: somebody has it, or takes it in this moment.
    """
    from rescheduler.kube import errors
    from rescheduler.wire import LEASES

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
