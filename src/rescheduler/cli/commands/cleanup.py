"""`rescheduler cleanup`: everything of ours off the cluster."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import Timeout
from rescheduler.cli.output import say_line, tell
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # See what there is
  rescheduler cleanup --all --dry-run

  # Remove all traces, then the rest of the installation
  kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=0
  rescheduler cleanup --all
  kubectl delete -k manifests/rescheduler"""

_INTERRUPTED: Final = 130


def cleanup(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also remove the history from pods that were moved.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed; change nothing.")
    ] = False,
    timeout: Timeout = "10m",
    reach: Reach,
) -> None:
    """Remove everything of the rescheduler from the cluster, before it is uninstalled.

    First the API server is told to ask us no more about evictions, then migrations
    under way are ended or undone. Then go: records, temporary budgets, marks on
    pods, copies that were left behind, cordons of ours, and the lease. A node that
    was drained, or that is still labelled for maintenance, stays cordoned: kubectl
    uncordon NODE has it back. Refuses while a rescheduler leads. It needs the rights
    of an administrator, not those of rbac.yaml.

    Exit status: 0 when nothing is left, 1 when something is, 2 for wrong usage, 130
    when interrupted. A second run goes on where one was cut short.
    """
    seconds = time_limit("--timeout", timeout)
    configuration, connect = reach.cluster()
    cleaning = Cleaning(
        configuration, connect, SystemClock(), everything=everything, seconds=seconds
    )
    raise typer.Exit(asyncio.run(cleaning.to_its_end(dry_run=dry_run)))


@dataclass(frozen=True, slots=True)
class Cleaning:
    configuration: config.Configuration
    connect: "Connect"
    clock: Clock
    everything: bool = False
    seconds: float | None = None

    async def to_its_end(self, *, dry_run: bool = False) -> int:
        """The exit status. Raises NotClean."""
        from rescheduler.controller.cleanup import Cleanup

        cleaning = Cleanup(
            self.configuration,
            self.connect,
            self.clock,
            say_line,
            everything=self.everything,
            seconds=self.seconds,
        )
        try:
            await (cleaning.preview() if dry_run else cleaning.run())
        except asyncio.CancelledError:
            tell(["interrupted; rescheduler cleanup goes on where this one was cut short"])
            return _INTERRUPTED
        return 0
